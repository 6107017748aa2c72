package postgreskv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// What the option views says.
const (
	committedViews = "committed" // a View shows the last committed state
	serialViews    = "serial"    // and that is in the order that explains what transactions have read
)

// beginView begins a snapshot. PostgreSQL: with DEFERRABLE its first statement waits until all
// transactions have ended that were under way; if, in the order of all, one of them comes before a
// commit that is seen, another state is taken. So what is read needs no check afterwards.
//
// That wait has no end of its own, but kv's has one: the statement ends after two seconds, and kv
// tries again while it has time.
var beginView = map[string]string{
	committedViews: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1",
	serialViews: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SET LOCAL statement_timeout = '2s'; " +
		"SELECT 1; SET LOCAL statement_timeout TO DEFAULT",
}

// capsOf returns what a store can do with options.
func capsOf(o options) driver.Caps {
	caps := caps
	if o.views == serialViews {
		caps.WritersBlockReaders = driver.Sometimes
	}
	return caps
}

// getInOrder is Get of a snapshot that beginView has begun.
func (s *store) getInOrder(ctx context.Context, dst, key []byte) ([]byte, error) {
	r, err := s.Snapshot(ctx)
	if err != nil {
		return dst, err
	}
	v, err := r.Get(dst, key)
	if cerr := r.Close(); cerr != nil {
		return dst, cerr
	}
	return v, err
}

// waited returns err, or Busy if it is that transactions under way have not ended in time.
func (s *store) waited(ctx context.Context, err error) error {
	if s.o.views != serialViews || sqlState(err) != queryCanceled || ctx.Err() != nil {
		return err
	}
	return &driver.Error{Kind: driver.Busy, Err: err}
}
