package buntkv

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open store.
type store struct {
	gate    gate
	path    string // of the file itself, not of a link to it
	options *options
	lock    *flock.Flock
	log     *slog.Logger
	frames  *frames // nil in the plain form, and where nothing is written

	mu    sync.Mutex  // held while file is synced or replaced
	file  *os.File    // the data file, opened again for syncs whose errors count
	dirty atomic.Bool // something was written since the last sync

	failed driver.Failure
	base   int64 // see autoShrink
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// load opens the database on the file that is open. What frames a crash has left open it closes first.
func (s *store) load() error {
	if err := s.open(); err != nil || !s.leftOpen() {
		return err
	}
	if err := s.gate.db.Close(); err != nil {
		return classify(err)
	}
	if err := s.loadFramed(); err != nil {
		return err
	}
	f := s.frames
	s.frames = nil
	return errors.Join(f.close(s.file), s.gate.db.Close(), s.open())
}

// loadReadOnly reads what is whole of the file into memory.
func (s *store) loadReadOnly() (err error) {
	defer recovered(&err)
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	p, err := mend(s.file, info.Size(), false, s.log)
	if err != nil {
		return err
	}
	if s.gate.db, err = buntdb.Open(":memory:"); err != nil {
		return classify(err)
	}
	err = classifyLoad(s.gate.db.Load(io.NewSectionReader(s.file, 0, p.end)))
	return errors.Join(err, classify(s.gate.db.SetConfig(s.options.config())))
}

// open opens the database.
func (s *store) open() (err error) {
	defer recovered(&err)
	if s.gate.db, err = buntdb.Open(s.path); err != nil {
		return classifyLoad(err)
	}
	return classify(s.gate.db.SetConfig(s.options.config()))
}

func (s *store) Caps() driver.Caps { return s.options.caps() }

func (s *store) Settings() []driver.Setting { return table.Settings(s.options) }

// Snapshot lets nobody write until it is closed.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	tx, err := s.gate.read(ctx)
	if err != nil {
		return nil, err
	}
	r := readers.Get().(*reader)
	r.tx, r.gate = tx, &s.gate
	return r, nil
}

// Begin lets nobody else in until the transaction ends.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.begin(ctx, d)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (s *store) begin(ctx context.Context, d driver.Durability) (t *txn, err error) {
	if err := s.failed.Err(); err != nil {
		return nil, err
	}
	if err := s.gate.write(ctx, false); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.gate.endWrite()
		}
	}()
	if s.frames != nil {
		if err := s.frames.begin(); err != nil {
			return nil, s.fail(err)
		}
	}
	tx, err := s.gate.db.Begin(readWrite)
	if err != nil {
		return nil, classify(err)
	}
	t = txns.Get().(*txn)
	t.tx, t.gate, t.store, t.ended, t.synced = tx, &s.gate, s, false, s.file != nil && s.options.syncs(d)
	switch {
	case s.frames == nil:
		t.tally = nil
	case t.tally == nil:
		t.tally = &tally{keys: map[string]part{}}
	}
	return t, nil
}

// Apply commits ops.
func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	t, err := s.begin(ctx, d)
	if err != nil {
		return err
	}
	for i := range ops {
		if op := &ops[i]; op.Delete {
			err = t.Delete(op.Key)
		} else {
			err = t.Put(op.Key, op.Value)
		}
		if err != nil {
			return errors.Join(err, t.Close())
		}
	}
	return errors.Join(t.Commit(), t.Close())
}

// sync makes durable what was committed. BuntDB would ignore the error. What a failed sync was to keep
// may be lost whatever later ones say, so nothing is committed any more.
func (s *store) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed.Err(); err != nil { // a sync in the background, which was to keep this commit too
		return &driver.Error{Kind: driver.InDoubt, Err: err}
	}
	if !s.dirty.Swap(false) {
		return nil
	}
	var size int64
	var err error
	if s.frames != nil {
		size = s.frames.size.Load()
		err = s.frames.verify()
	}
	if err = errors.Join(err, s.file.Sync()); err != nil {
		return s.fail(err)
	}
	if s.frames != nil {
		s.frames.synced.Store(size)
	}
	return nil
}

// fail keeps err as the answer to later calls, unless it has left nothing behind, and returns it.
func (s *store) fail(err error) error {
	if driver.IsInDoubt(err) {
		s.failed.Stop(err)
	}
	return err
}

// background syncs each second, if that is the policy, and shrinks the file when it is time, until ctx
// ends.
func (s *store) background(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.options.SyncPolicy == buntdb.EverySecond && s.failed.Err() == nil {
			if err := s.sync(); err != nil {
				s.log.Error("bunt: sync", "path", s.path, "error", err)
			}
		}
		if !s.options.AutoShrinkDisabled {
			s.autoShrink(ctx)
		}
	}
}

// Close closes the file, which BuntDB syncs. A compaction that runs gives up.
func (s *store) Close() error {
	s.stop()
	s.done.Wait()
	var err error
	if s.frames != nil && s.failed.Err() == nil {
		err = s.sync()
	}
	if s.gate.broken == nil {
		err = errors.Join(err, classify(s.gate.db.Close()))
		if s.frames != nil && err == nil && s.failed.Err() == nil {
			err = s.frames.close(s.file)
		}
	}
	return errors.Join(err, s.file.Close(), s.lock.Unlock())
}

// Files includes the lock, which stays when the store is closed: to remove it would let two in.
func (s *store) Files() ([]string, error) { return []string{s.path, s.lock.Path()}, nil }

// Backup copies the file as it is. A writer waits meanwhile.
func (s *store) Backup(ctx context.Context, path string) (err error) {
	if _, err := s.gate.read(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.gate.endRead()) }()
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	from := io.NewSectionReader(within{ctx, s.file}, 0, info.Size())
	if _, err := io.Copy(to, from); err != nil || s.frames == nil {
		return err
	}
	return s.frames.close(to)
}

// within is a file that is read until its context ends.
type within struct {
	ctx  context.Context
	file *os.File
}

func (w within) ReadAt(p []byte, at int64) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.file.ReadAt(p, at)
}
