// Package mosskv is the engine "moss": sorted segments in memory that are appended to a file in a
// folder, and merged.
//
// A commit is a segment on a stack in memory. Two goroutines of moss merge the stack and write it
// out, the data, a sync, a footer that names all segments, a sync. Whatever is in a file before its
// last whole footer is the store.
//
// Durability: Buffered is moss as its users know it: a commit returns at once and is written when
// moss gets to it, each time a prefix of the commits. Synced waits until nothing is left to write,
// which covers earlier commits of any class. Flushed delivers Synced. Closing writes out what is
// left.
//
// # What is ours
//
// What moss lacks and this package adds, beside a lock (LOCK in the folder):
//
//   - ours_start.go: a collection whose first state is not lost, which ends at the first write or
//     sync that failed, where moss would try again without a pause; and waiting for it to write
//   - ours_files.go: new files are durable, and no sync succeeds after a write that failed
//   - ours_repair.go: files without a commit and torn footers, on which moss refuses the folder
//   - ours_reverse.go: reverse order: a cursor reads its whole range first, which takes as much memory
//
// moss has no transactions either: kv/overlay keeps their writes until the commit.
//
// moss has no checksums and does not check what it reads: a damaged file may end the process.
package mosskv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/couchbase/moss"
	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens moss stores. The zero value is ready to use.
type Driver struct{}

var _ driver.Driver = Driver{}

var synced = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}

var caps = driver.Caps{
	PureGo:     true,
	Persistent: true,
	Folder:     true,
	Modes:      []driver.Mode{driver.Exclusive},
	Promises: [3]driver.Promise{
		driver.Synced:   synced,
		driver.Flushed:  synced,
		driver.Buffered: {Supported: true, Class: driver.Buffered, Intact: true, KillAtomic: true, PowerAtomic: true},
	},
	MaxKey:   1<<24 - 1,
	MaxValue: 1<<28 - 1,
}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "moss",
		Summary: "sorted segments in memory, appended to a file in the background (Couchbase's moss)",
		Modules: []string{"github.com/couchbase/moss"},
		Options: table.Options(defaults()),
		Caps:    caps,
	}
}

// Open opens the store in the folder c.Path.
func (Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	o := defaults()
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	return open(c, o)
}

func open(c driver.Config, o moss.StoreOptions) (*store, error) {
	if info, err := os.Stat(c.Path); err == nil && !info.IsDir() {
		return nil, &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("%s is a file", c.Path), Hint: "name a folder"}
	}
	if err := driver.MakeDirs(c.Path); err != nil {
		return nil, err
	}
	s := &store{
		lock: flock.New(filepath.Join(c.Path, "LOCK")), options: o,
		cause: make(chan error, 1), progress: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	locked, err := s.lock.TryLock()
	if err == nil && !locked {
		err = driver.Busy
	}
	if err == nil {
		err = s.open(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}
