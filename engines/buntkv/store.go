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
	"sync/atomic"
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
	log     *slog.Logger

	marking sync.Mutex // guards file, marked and buffer
	file    *os.File   // the data file, opened again for syncs whose errors count
	marked  int64      // the end of the last mark, or where the store began to mark
	kind    markKind   // of the last mark
	buffer  []byte
	written bool // since it was opened; kv lets one writer at a time touch it

	failed   driver.Failure
	stuck    atomic.Bool // BuntDB panicked and holds its lock for ever
	swapping atomic.Bool // a compaction may replace the file

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
	s := &store{path: path, options: o, lock: flock.New(path + ".lock"), log: c.Logger, stop: make(chan struct{}),
		buffer: make([]byte, 4<<10)}
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
	if s.file, err = os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.file.Close())
		}
	}()
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	whole, err := s.prepare(info.Size())
	if err != nil {
		return err
	}
	if s.db, err = openDB(s.path); err != nil {
		return err
	}
	// The driver syncs and shrinks: BuntDB would ignore the errors of the one, and neither sync the other nor end it with Close.
	policy := s.options.flushed
	if policy == buntdb.Always {
		policy = buntdb.Never
	}
	err = classify(s.db.SetConfig(buntdb.Config{SyncPolicy: policy, AutoShrinkDisabled: true}))
	if err == nil && s.options.marks {
		err = s.startMarks(whole)
	}
	if err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// prepare mends a file that a crash has left, of the given size, and reports whether it was closed.
func (s *store) prepare(size int64) (whole bool, err error) {
	if !s.options.marks {
		return false, nil
	}
	if size, err = trim(s.file, size); err != nil {
		return false, err
	}
	if whole, err = endsClosed(s.file, size); err != nil || whole {
		return whole, err
	}
	return false, s.mend(s.file)
}

func openDB(path string) (db *buntdb.DB, err error) {
	defer recovered(&err)
	db, err = buntdb.Open(path)
	return db, classifyLoad(err)
}

// startMarks finds where the marks of this opening begin. A file that was not closed gets one, durably: the first commit needs
// one to be cut back to.
func (s *store) startMarks(whole bool) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	s.marked, s.kind = info.Size(), closed
	if whole {
		return nil
	}
	if err := s.mark(committed); err != nil {
		return err
	}
	return errors.Join(s.file.Sync(), driver.SyncDir(filepath.Dir(s.path)))
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
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	if s.stuck.Load() {
		return nil, s.failed.Err()
	}
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
	if err := s.failed.Err(); err != nil {
		return nil, err
	}
	synced := s.options.policy(d) == buntdb.Always
	if synced && !s.options.marks {
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("a store without marks does not sync commits"), Hint: "leave Marks=false out"}
	}
	if err := s.announce(synced); err != nil {
		return nil, s.fail(err)
	}
	tx, err := s.db.Begin(readWrite)
	if err != nil {
		return nil, classify(err)
	}
	t := txns.Get().(*txn)
	t.tx, t.store, t.synced, t.ended = tx, s, synced, false
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

// Close marks, syncs and closes the file. A compaction that runs gives up.
func (s *store) Close() error {
	close(s.stop)
	var err error
	if s.written && s.options.marks && s.failed.Err() == nil {
		err = s.markClosed()
	}
	if !s.stuck.Load() {
		err = errors.Join(err, classify(s.db.Close()))
	}
	s.stopped.Wait()
	s.marking.Lock()
	defer s.marking.Unlock()
	return errors.Join(err, s.file.Close(), s.lock.Unlock())
}

// markClosed ends the file with two marks, so that damage to the last one alone is still told from a torn commit.
func (s *store) markClosed() (err error) {
	defer recovered(&err)
	s.marking.Lock()
	defer s.marking.Unlock()
	if s.swapping.Load() {
		if _, err := s.follow(); err != nil {
			return err
		}
	}
	return errors.Join(s.mark(closed), s.mark(closed))
}
