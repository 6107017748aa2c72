package pairs

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/assaydb/assay/kv/driver"
)

// form is what keeps a store.
type form interface {
	// begin fixes a state to read, or begins a transaction that writes.
	begin(ctx context.Context, write bool) (state, error)
	check(ctx context.Context) error
	// others reports whether there is anything, where the store has no pairs.
	others(ctx context.Context) (bool, error)
	close() error
}

// state is a state of a store, or a transaction.
type state interface {
	// dump gives emit the pairs in order.
	dump(emit func(k, v []byte) error) error
	restore(k, v []byte) error
	commit() error
	// close ends the state, without what was not committed.
	close() error
}

// store is an open store.
type store struct {
	kind *kind
	form form
	caps driver.Caps
}

// Caps tells that every commit is synced.
func (s *store) Caps() driver.Caps { return s.caps }

// Close closes what keeps the store.
func (s *store) Close() error { return s.form.close() }

// Check has what keeps the store check itself, and reads the store, which checks that.
func (s *store) Check(ctx context.Context) error {
	err := s.form.check(ctx)
	if err == nil {
		err = driver.EachPair(ctx, s, func(_, _ []byte) error { return nil })
	}
	return err
}

// Snapshot fixes a state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) { return s.begin(ctx, false) }

// Begin begins a transaction.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	return s.begin(ctx, true)
}

func (s *store) begin(ctx context.Context, write bool) (*txn, error) {
	at, err := s.form.begin(ctx, write)
	if err != nil {
		return nil, err
	}
	return &txn{s: s, state: at}, nil
}

// txn is a state, or a transaction.
type txn struct {
	s     *store
	state state
}

var _ driver.Txn = (*txn)(nil)

// errStop ends a dump.
var errStop = errors.New("no more is wanted")

// Get reads up to the key.
func (t *txn) Get(dst, key []byte) ([]byte, error) {
	found := false
	err := t.state.dump(func(k, v []byte) error {
		switch order := bytes.Compare(k, key); {
		case order < 0:
			return nil
		case order == 0:
			dst, found = append(dst, v...), true
		}
		return errStop
	})
	switch {
	case err != nil && err != errStop:
		return dst, err
	case !found:
		return dst, driver.NotFound
	}
	return dst, nil
}

// Cursor returns a cursor over the range, which must ascend.
func (t *txn) Cursor(r driver.Range) (driver.Cursor, error) {
	if r.Reverse {
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("the pairs of a " + t.s.kind.name + " in reverse"),
			Hint: "read them in ascending order"}
	}
	c := new(cursor)
	c.next, c.stop = iter.Pull2(func(yield func(k, v []byte) bool) {
		err := t.state.dump(func(k, v []byte) error {
			if bytes.Compare(k, r.Start) < 0 {
				return nil
			}
			if r.End != nil && bytes.Compare(k, r.End) >= 0 || !yield(k, v) {
				return errStop
			}
			return nil
		})
		if err != errStop {
			c.err = err
		}
	})
	return c, nil
}

// cursor is a dump that is pulled.
type cursor struct {
	next func() (k, v []byte, ok bool)
	stop func()
	err  error
}

// Next returns the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	k, v, _ := c.next()
	return k, v, c.err
}

// Close ends the dump.
func (c *cursor) Close() error {
	c.stop()
	return nil
}

// Put restores an item.
func (t *txn) Put(key, value []byte) error { return t.state.restore(key, value) }

// Delete refuses: what an item stood for may be in others, too.
func (t *txn) Delete([]byte) error {
	return &driver.Error{Kind: driver.Unsupported, Err: errors.New("items of a " + t.s.kind.name + " are not removed"),
		Hint: "move the store again, to another path; or open it with its own package"}
}

// Commit commits.
func (t *txn) Commit() error { return t.state.commit() }

// Close ends the state.
func (t *txn) Close() error { return t.state.close() }
