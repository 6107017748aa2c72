package buntkv

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

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
	onSync  driver.OnSync
	log     *log // nil in the plain form, and where nothing is written
	failed  driver.Failure
	own     txn // of Begin
}

func (s *store) Caps() driver.Caps { return s.caps }

func (s *store) Settings() []driver.Setting { return table.Settings(s.options) }

// Snapshot lets nobody write until it is closed.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := &reader{gate: &s.gate}
	return r, r.Renew(ctx)
}

// Get is a reader's, for as long as it takes.
func (s *store) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	tx, err := s.gate.read(ctx)
	if err != nil {
		return dst, err
	}
	dst, err = (&reader{tx: tx}).Get(dst, key)
	return dst, cmp.Or(s.gate.endRead(), err)
}

// Begin lets nobody else in until the transaction ends.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.failed.Err(); err != nil {
		return nil, err
	}
	if err := s.gate.write(ctx, false); err != nil {
		return nil, err
	}
	var tx *buntdb.Tx
	buf, err := s.beginFramed(ctx)
	if err == nil {
		tx, err = s.gate.db.Begin(readWrite)
	}
	if err != nil {
		s.gate.endWrite(nil)
		return nil, err
	}
	t := &s.own
	t.tx, t.gate, t.store, t.durability, t.buf, t.ended = tx, &s.gate, s, d, buf, false
	return t, nil
}

// Compact lets nobody in.
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
	return s.shrink()
}

// Close closes the file, but for one that the program has opened itself.
func (s *store) Close() (err error) {
	if s.path == "" {
		return nil
	}
	if s.log != nil {
		err = s.closeFramed()
	}
	return errors.Join(err, s.gate.close(), s.lock.Unlock())
}
