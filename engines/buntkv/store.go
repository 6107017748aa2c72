package buntkv

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/gofrs/flock"
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open store.
type store struct {
	gate    gate   // with the database
	path    string // of the file itself, not of a link to it; "" if the database is the program's
	options *options
	caps    driver.Caps
	lock    *flock.Flock
	logger  *slog.Logger
	log     *log // nil in the plain form, and where nothing is written

	failed driver.Failure
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// openPlain refuses a file that was not closed by a store with frames: to go on behind a frame would
// be taken for something torn.
func (s *store) openPlain() (err error) {
	defer recovered(&err)
	if s.gate.db, err = buntdb.Open(s.path); err != nil {
		return classify(err)
	}
	if err := s.gate.db.SetConfig(s.options.config()); err != nil {
		return err
	}
	return s.gate.db.View(refuseUnclosed)
}

func (s *store) Caps() driver.Caps { return s.caps }

func (s *store) Settings() []driver.Setting { return table.Settings(s.options) }

// Files includes the lock, which stays when the store is closed: to remove it would let two in.
func (s *store) Files() ([]string, error) {
	if s.path == "" {
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
	if err := s.failed.Err(); err != nil {
		return nil, err
	}
	if err := s.gate.write(ctx, false); err != nil {
		return nil, err
	}
	t := &txn{store: s, durability: d}
	err := t.begin(ctx)
	if err != nil {
		s.gate.endWrite(nil)
		return nil, err
	}
	return t, nil
}

// Compact lets nobody in. The plain form is BuntDB's own Shrink.
func (s *store) Compact(ctx context.Context) error {
	if s.path == "" {
		return nil
	}
	if err := s.gate.write(ctx, true); err != nil {
		return err
	}
	defer s.gate.endWrite(nil)
	if s.log != nil {
		return s.compact(ctx)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if err := s.gate.db.Shrink(); err != nil {
		return err
	}
	return os.Chmod(s.path, info.Mode().Perm()) // BuntDB makes a new file
}

// fail keeps err as the answer to later calls, unless it has left nothing behind, and returns it.
func (s *store) fail(err error) error {
	if driver.IsInDoubt(err) {
		s.failed.Stop(err)
	}
	return err
}

// Close closes the file, but for one that the program has opened itself.
func (s *store) Close() (err error) {
	if s.path == "" {
		return nil
	}
	s.stop()
	s.done.Wait()
	if s.log != nil {
		err = s.closeFramed()
	}
	return errors.Join(err, s.gate.close(), s.lock.Unlock())
}
