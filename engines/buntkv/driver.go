// Package buntkv is the engine "bunt": BuntDB, a B-tree in memory, and a file that every commit is
// appended to. All data must fit in memory; opening reads the whole file.
//
// # Durability
//
// BuntDB writes a commit before it acknowledges it: Flushed. It promises no more, and not even all of
// that: its file has nothing around a transaction, so that it takes what a kill has left of one for
// the whole, and refuses what a power loss has left. Its syncs ignore errors, its compaction renames a
// file before it is synced. That is the plain form, ?Frames=false.
//
// What the driver adds, unless Frames is false, is a frame in every transaction (see frame). Whatever
// stands behind the last whole one when the store is opened is cut off. So transactions are whole or
// absent after a kill and after a power loss, at every class, and Synced is on offer: the driver syncs,
// and takes no more commits once a sync has failed. Flushed commits are synced each second, as BuntDB
// does, or as SyncPolicy says. What is damaged, though it was synced, is Corrupt; Check finds all of
// that, opening finds some.
//
// In both forms the driver compacts in BuntDB's place.
//
// # The file
//
// It is BuntDB's. To a program that opens it with BuntDB itself, frames are one pair under the empty
// key, which changes with every commit. What it appends is taken over at the next opening here, if it
// was not the first to open the file after a crash: what has no frame is then cut off, and the plain
// form refuses such a file. Opening and reading change nothing, but for the end of a torn file. Beside it stands PATH.lock, for BuntDB takes
// no lock on its file, and during a compaction PATH.compacting.
//
// Expiry dates that another program has set count when the file is read; then pairs stay.
//
// # Waiting
//
// BuntDB knows one reader-writer lock. While a View or Snapshot is open nothing is written, and while
// an Update runs nothing is read. Views may contain others. Who must wait does so until its context
// ends, and at most as long as kv waits for locks: then it is Busy. A commit takes as long as the disk
// does. The background goroutine of BuntDB ends up to a second after Close; it touches no file then.
package buntkv

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens BuntDB files. The zero Driver is ready.
type Driver struct{ config *buntdb.Config }

// Info describes BuntDB.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "bunt",
		Summary: "B-tree in memory, append-only file on disk; reads are fast, all data must fit in memory",
		Modules: []string{"github.com/tidwall/buntdb"},
		Options: table.Options(defaults),
		Caps:    defaults.caps(),
	}
}

// Open opens or creates the file at c.Path. A file that another process has open is Busy, one that
// does not begin as BuntDB's files do is Corrupt and left as it is: BuntDB would empty it.
func (d Driver) Open(_ context.Context, c driver.Config) (_ driver.Store, err error) {
	o, err := read(c.Params, d.config)
	if err != nil {
		return nil, err
	}
	s := &store{options: o, caps: o.caps(), log: c.Logger, stop: func() {}}
	if err := s.claim(c); err != nil {
		return nil, err
	}
	load := s.loadPlain
	switch {
	case c.Mode == driver.ReadOnly:
		load = s.loadReadOnly
	case o.Frames:
		load = s.loadFramed
	}
	if err := load(); err != nil {
		return nil, errors.Join(err, s.file.Close(), s.lock.Unlock())
	}
	if c.Mode != driver.ReadOnly {
		var ctx context.Context
		ctx, s.stop = context.WithCancel(context.Background())
		s.done.Go(func() { s.background(ctx) })
	}
	if o.Frames {
		return checked{s}, nil
	}
	return s, nil
}

// claim finds or makes the file, locks it and opens it. Who only reads makes no lock: where there is
// none, nobody has ever opened the file for writing.
func (s *store) claim(c driver.Config) (err error) {
	flags := os.O_RDWR | os.O_CREATE
	if c.Mode == driver.ReadOnly {
		flags = os.O_RDONLY
	} else if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
		return err
	}
	empty, err := recognise(c.Path, flags)
	if err != nil {
		return err
	}
	if s.path, err = filepath.EvalSymlinks(c.Path); err != nil {
		return err
	}
	s.lock = flock.New(s.path+".lock", flock.SetFlag(flags))
	try := s.lock.TryLock
	if c.Mode == driver.ReadOnly {
		try = s.lock.TryRLock
	}
	locked, err := try()
	if c.Mode == driver.ReadOnly && errors.Is(err, fs.ErrNotExist) {
		locked, err = true, nil
	}
	switch {
	case err != nil:
		return err
	case !locked:
		return &driver.Error{Kind: driver.Busy, Err: errors.New("the file is locked")}
	}
	if c.Mode != driver.ReadOnly {
		if err = os.Remove(s.path + compacting); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if empty {
			err = errors.Join(err, driver.SyncDir(filepath.Dir(s.path)))
		}
	}
	if err == nil {
		s.file, err = os.OpenFile(s.path, flags, 0)
	}
	if err != nil {
		return errors.Join(err, s.lock.Unlock())
	}
	return nil
}

// firstCommands are all that BuntDB writes at the start of a file, up to the first thing that varies.
var firstCommands = []string{
	"*3\r\n$3\r\nset\r\n$", "*5\r\n$3\r\nset\r\n$", "*2\r\n$3\r\ndel\r\n$", "*1\r\n$7\r\nflushdb\r\n"}

// recognise opens the file and returns an error if it is nothing that BuntDB has written, or begun to.
func recognise(path string, flags int) (empty bool, err error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return false, notAFile(err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, notAFile(err)
	}
	// BuntDB skips zero bytes between commands; a power loss can leave some.
	text := strings.ToLower(strings.TrimLeft(string(head[:n]), "\x00"))
	for _, c := range firstCommands {
		if strings.HasPrefix(text, c) || strings.HasPrefix(c, text) {
			return n == 0, nil
		}
	}
	return false, corrupt("the file does not begin as one of BuntDB's does")
}

func notAFile(err error) error {
	if errors.Is(err, syscall.EISDIR) {
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	}
	return err
}
