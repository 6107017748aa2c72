package buntkv

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open store.
type store struct {
	path    string
	options *options
	lock    *flock.Flock
	db      *buntdb.DB
	config  buntdb.Config // in force; kv lets one writer at a time touch it
	log     *slog.Logger

	shrinking sync.Mutex // held by the one compaction that runs
	stop      chan struct{}
	stopped   sync.WaitGroup
}

var _ driver.Store = (*store)(nil)

// openStore locks, then loads the file.
func openStore(c driver.Config, o *options) (_ *store, err error) {
	// BuntDB: the path ":memory:" is no file. An absolute path never is that.
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, err
	}
	if err := recognise(path); err != nil {
		return nil, err
	}
	if err := driver.MakeDirs(filepath.Dir(path)); err != nil {
		return nil, err
	}
	s := &store{path: path, options: o, lock: flock.New(path + ".lock"), log: c.Logger, stop: make(chan struct{})}
	switch locked, err := s.lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, &driver.Error{Kind: driver.Busy, Err: errors.New("the file is locked")}
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	if !o.shrinkDisabled {
		s.stopped.Go(s.autoShrink)
	}
	return s, nil
}

// load opens the database, creating the file before BuntDB would create it for all to read.
func (s *store) load() (err error) {
	defer recovered(&err)
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if info.Size() == 0 {
		if err := driver.SyncDir(filepath.Dir(s.path)); err != nil {
			return err
		}
	}
	if s.db, err = buntdb.Open(s.path); err != nil {
		return classifyLoad(err)
	}
	// The driver shrinks, not BuntDB: its shrinking would neither be synced nor end with Close.
	s.config = buntdb.Config{SyncPolicy: s.options.flushed, AutoShrinkDisabled: true}
	return classify(s.db.SetConfig(s.config))
}

// firstCommands are all that BuntDB writes at the start of a file, up to the first thing that varies.
var firstCommands = []string{"*3\r\n$3\r\nset\r\n$", "*5\r\n$3\r\nset\r\n$", "*2\r\n$3\r\ndel\r\n$", "*1\r\n$7\r\nflushdb\r\n"}

// recognise returns an error if there is something at path that BuntDB has not written, or not begun to write.
func recognise(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return err
	}
	// BuntDB skips zero bytes between commands; a power loss can leave some.
	text := strings.ToLower(strings.TrimLeft(string(head[:n]), "\x00"))
	for _, c := range firstCommands {
		if strings.HasPrefix(text, c) || strings.HasPrefix(c, text) {
			return nil
		}
	}
	return corrupt("the file does not begin as one of BuntDB's does")
}

func (s *store) Caps() driver.Caps { return s.options.caps() }

func (s *store) Settings() []driver.Setting { return s.options.settings() }

// Files includes the lock file, which stays when the store is closed: to remove it would let two processes in.
func (s *store) Files() ([]string, error) { return []string{s.path, s.lock.Path()}, nil }

// Readers and transactions of all stores.
var (
	readers = sync.Pool{New: func() any { return new(reader) }}
	txns    = sync.Pool{New: func() any { return new(txn) }}
)

// Snapshot takes the read lock, which is what fixes the state.
func (s *store) Snapshot() (driver.Reader, error) {
	tx, err := s.db.Begin(readOnly)
	if err != nil {
		return nil, classify(err)
	}
	r := readers.Get().(*reader)
	r.tx = tx
	return r, nil
}

// Begin waits until every View has ended.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.begin(d)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (s *store) begin(d driver.Durability) (*txn, error) {
	if policy := s.options.policy(d); policy != s.config.SyncPolicy {
		s.config.SyncPolicy = policy
		if err := s.db.SetConfig(s.config); err != nil {
			return nil, classify(err)
		}
	}
	tx, err := s.db.Begin(readWrite)
	if err != nil {
		return nil, classify(err)
	}
	t := txns.Get().(*txn)
	t.tx, t.ended = tx, false
	return t, nil
}

// Apply commits ops.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	t, err := s.begin(d)
	if err != nil {
		return err
	}
	if err = t.apply(ops); err == nil {
		err = t.Commit()
	}
	return errors.Join(err, t.Close())
}

// Close syncs and closes the file. A compaction that runs gives up.
func (s *store) Close() error {
	close(s.stop)
	err := classify(s.db.Close())
	s.stopped.Wait()
	return errors.Join(err, s.lock.Unlock())
}
