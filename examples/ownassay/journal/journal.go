// Package journal is a storage engine in one file: a sorted map in memory and a journal of its
// commits. It is the example of an engine that somebody writes for themselves, small and whole: it
// passes the tests of kv/drivertest, and "assay prove" holds it to its promises.
//
// Importing it registers the engine "journal".
//
// A commit is a frame at the end of the file, and a frame that is not whole ends it: a crash
// interrupted that commit. Opening reads the whole file and writes it anew, one frame with all
// pairs, synced and renamed into place. So what a failed sync left in the system's cache is never
// taken for something on the disk, and stale values go.
package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv" // the sorted map
)

func init() { driver.Register(Driver{}) }

// Driver opens journals. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

// caps claims PowerAtomic and Intact for every class: checksums are chained, so that what stands
// behind a frame that power loss took is not read either.
var caps = driver.Caps{
	PureGo: true, Persistent: true, TxnLimit: true,
	Modes: []driver.Mode{driver.Exclusive},
	Promises: [3]driver.Promise{
		driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
		driver.Flushed:  {Supported: true, Class: driver.Flushed, Intact: true, KillAtomic: true, PowerAtomic: true},
		driver.Buffered: {Supported: true, Class: driver.Flushed, Intact: true, KillAtomic: true, PowerAtomic: true},
	},
}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{Name: "journal", Summary: "sorted map in memory and one file of commits",
		Modules: []string{"github.com/tidwall/btree"}, Caps: caps}
}

// Open opens the journal at c.Path.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
		return nil, err
	}
	lock := flock.New(c.Path + ".lock") // beside the journal, which is replaced
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = driver.Busy
	}
	var s *store
	if err == nil {
		s, err = open(ctx, c.Path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}

func open(ctx context.Context, path string) (*store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, driver.Config{})
	if err != nil {
		return nil, err
	}
	s := &store{Store: inner}
	content, err := os.ReadFile(path)
	if err == nil {
		err = replay(content, func(ops []driver.Op) error { return driver.Apply(ctx, inner, ops, driver.Buffered) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, s.anew(path)
}

// store is the map, of which reads know nothing else, and the file behind it.
type store struct {
	driver.Store
	file *os.File // at its end
	sum  uint32   // checksum of the last frame
	lock *flock.Flock
}

var _ driver.Store = (*store)(nil)

// anew writes what the map holds to a new file and puts it in the place of the old one.
func (s *store) anew(path string) (err error) {
	ops, err := s.pairs()
	if err != nil {
		return err
	}
	fresh := path + ".new"
	s.file, err = os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = s.file.WriteString(magic); err == nil {
		err = s.write(ops, driver.Synced)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err == nil {
		err = driver.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(err, s.file.Close())
	}
	return nil
}

// pairs returns what the map holds as one batch.
func (s *store) pairs() (ops []driver.Op, err error) {
	r, err := s.Store.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	for {
		k, v, err := c.Next()
		if k == nil || err != nil {
			return ops, errors.Join(err, c.Close(), r.Close())
		}
		ops = append(ops, driver.Op{Key: k, Value: v}) // the map's own, which never change
	}
}

// write appends a frame. An error leaves the commit in doubt: part of the frame may be there.
func (s *store) write(ops []driver.Op, d driver.Durability) error {
	frame := encode(ops, s.sum)
	if _, err := s.file.Write(frame); err != nil {
		return err
	}
	if d == driver.Synced {
		if err := s.file.Sync(); err != nil {
			return err
		}
	}
	s.sum = sumOf(frame)
	return nil
}

func (s *store) Caps() driver.Caps { return caps }

// commit is write, for a transaction that is not too large.
func (s *store) commit(ops []driver.Op, d driver.Durability) error {
	if size(ops) > maxFrame {
		return driver.TooLarge
	}
	return s.write(ops, d)
}

func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.commit(ops, d); err != nil {
		return err
	}
	return driver.Apply(ctx, s.Store, ops, d)
}

func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return &txn{Txn: t, store: s, class: d}, err
}

func (s *store) Close() error {
	return errors.Join(s.file.Sync(), s.file.Close(), s.Store.Close(), s.lock.Close())
}

// txn is a transaction on the map that keeps what it writes.
type txn struct {
	driver.Txn
	store *store
	class driver.Durability
	ops   []driver.Op
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Put(key, value []byte) error {
	kept := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	t.ops = append(t.ops, driver.Op{Key: kept[:len(key)], Value: kept[len(key):]})
	return t.Txn.Put(key, value)
}

func (t *txn) Delete(key []byte) error {
	t.ops = append(t.ops, driver.Op{Key: append([]byte(nil), key...), Delete: true})
	return t.Txn.Delete(key)
}

func (t *txn) Commit() error {
	if len(t.ops) > 0 {
		if err := t.store.commit(t.ops, t.class); err != nil {
			return err
		}
	}
	return t.Txn.Commit()
}
