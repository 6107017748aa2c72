package buntkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	caps    driver.Caps
	lock    *flock.Flock
	log     *slog.Logger
	frames  *frames // nil in the plain form, and where nothing is written

	mu    sync.Mutex  // held while file is synced or replaced
	file  *os.File    // the data file, opened again for syncs whose errors count; nil if h is the program's
	dirty atomic.Bool // something was written since the last sync

	failed driver.Failure
	base   int64 // see autoShrink
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// load opens the database.
func (s *store) load() (err error) {
	defer recovered(&err)
	if s.gate.db, err = buntdb.Open(s.path); err != nil {
		return classify(err)
	}
	return s.gate.db.SetConfig(s.options.config())
}

// loadPlain refuses a file that was not closed by a store with frames: to go on behind a frame
// would be taken for something torn.
func (s *store) loadPlain() error {
	if err := s.load(); err != nil {
		return err
	}
	return s.gate.db.View(func(tx *buntdb.Tx) error {
		v, err := tx.Get(frameKey)
		if g, ok := decode([]byte(v)); err == nil && ok && g.kind != closed {
			return &driver.Error{Kind: driver.Invalid, Err: errors.New("a store with frames was not closed"),
				Hint: "open it once without Frames=false"}
		}
		return nil
	})
}

// loadReadOnly reads what is whole of the file into memory.
func (s *store) loadReadOnly() (err error) {
	defer recovered(&err)
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	if len(b) == 0 { // it may be a store that never held anything, or one that lost all of it
		return &driver.Error{Kind: driver.NoStore, Err: fmt.Errorf("%s is empty", s.path), Hint: "open it once without mode=ro"}
	}
	p, err := survey(b)
	if err != nil {
		return err
	}
	if torn, err := p.isTorn(b); torn || err != nil {
		if b = b[:p.end]; err != nil {
			return err
		}
	}
	if s.gate.db, err = buntdb.Open(":memory:"); err != nil {
		return err
	}
	// BuntDB cuts off a last command that is not whole.
	if err := s.gate.db.Load(bytes.NewReader(b)); err != nil && err != io.ErrUnexpectedEOF {
		return classify(err)
	}
	return s.gate.db.SetConfig(s.options.config())
}

func (s *store) Caps() driver.Caps { return s.caps }

func (s *store) Settings() []driver.Setting { return table.Settings(s.options) }

// Files includes the lock, which stays when the store is closed: to remove it would let two in.
func (s *store) Files() ([]string, error) {
	if s.file == nil {
		return nil, nil
	}
	return []string{s.path, s.lock.Path()}, nil
}

// Snapshot lets nobody write until it is closed.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	tx, err := s.gate.read(ctx)
	if err != nil {
		return nil, err
	}
	return newReader(tx, &s.gate), nil
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
	if s.frames != nil {
		err = s.fail(s.frames.begin())
	}
	var tx *buntdb.Tx
	if err == nil {
		tx, err = s.gate.db.Begin(readWrite)
	}
	if err != nil {
		s.gate.endWrite(nil)
		return nil, err
	}
	return &txn{reader: newReader(tx, &s.gate), store: s, synced: s.file != nil && s.options.syncs(d)}, nil
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

// sync makes durable what was committed. BuntDB would ignore the error. What a failed sync was to
// keep may be lost whatever later ones say, so nothing is committed any more.
func (s *store) sync() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed.Err(); err != nil { // a sync in the background, which was to keep this commit too
		return &driver.Error{Kind: driver.InDoubt, Err: err}
	}
	if !s.dirty.Swap(false) {
		return nil
	}
	var size int64
	if s.frames != nil {
		s.frames.writing.Lock() // a sync in the background runs beside commits
		size, err = s.frames.size.Load(), s.frames.verify()
		s.frames.writing.Unlock()
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

// background syncs each second, if that is the policy, and shrinks the file when it is time.
func (s *store) background(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if s.options.SyncPolicy == buntdb.EverySecond && s.failed.Err() == nil {
			err = s.sync()
		}
		if err == nil && !s.options.AutoShrinkDisabled && s.failed.Err() == nil {
			err = s.autoShrink(ctx)
		}
		if err != nil && ctx.Err() == nil && driver.KindOf(err) != driver.Busy {
			s.log.Error("bunt: in the background", "path", s.path, "error", err)
		}
	}
}

// Close closes the file, which BuntDB syncs, but for one that the program has opened itself.
func (s *store) Close() (err error) {
	if s.file == nil {
		return nil
	}
	s.stop()
	s.done.Wait()
	whole := s.frames != nil && s.failed.Err() == nil
	if whole {
		err = s.sync()
	}
	if s.gate.broken == nil {
		err = errors.Join(err, s.gate.db.Close())
	}
	if whole && err == nil {
		err = s.frames.close()
	}
	return errors.Join(err, s.file.Close(), s.lock.Unlock())
}
