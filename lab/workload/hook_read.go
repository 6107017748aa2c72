package workload

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// hookReader reads keys of a hookStore and checks them. One goroutine uses it at a time. What a
// read works with is kept in it, and the functions given to View are made once, so that reading
// allocates nothing of its own.
type hookReader struct {
	store     *hookStore
	key       int // the number of the key
	from, end []byte
	value     []byte

	getView, scanView func(*kv.Snapshot) error
}

func newHookReader(s *hookStore) *hookReader {
	r := &hookReader{store: s}
	r.getView, r.scanView = r.getIn, r.scanIn
	return r
}

// get reads key number i.
func (r *hookReader) get(ctx context.Context, db *kv.DB, i int) error {
	r.key = i
	r.from = appendHookKey(r.from[:0], i)
	return db.View(ctx, r.getView)
}

func (r *hookReader) getIn(s *kv.Snapshot) (err error) {
	if r.value, err = s.Append(r.value[:0], r.from); err != nil {
		return fmt.Errorf("key %d: %w", r.key, err)
	}
	return r.store.values.check(r.value, uint64(r.key), r.store.versions[r.key])
}

// scan reads the group of key number i.
func (r *hookReader) scan(ctx context.Context, db *kv.DB, i int) error {
	r.key = i
	g := uint64(i / groupSize)
	r.from, r.end = kv.AppendUint64(r.from[:0], g), kv.AppendUint64(r.end[:0], g+1)
	return db.View(ctx, r.scanView)
}

func (r *hookReader) scanIn(s *kv.Snapshot) error {
	next, end := r.store.bounds(r.key / groupSize)
	for k, v := range s.Scan(kv.Range{Start: r.from, End: r.end}) {
		if next == end {
			return fmt.Errorf("scan: key %x after the last", k)
		}
		if _, err := r.store.checkPair(k, v, next); err != nil {
			return err
		}
		next++
	}
	if err := s.Err(); err != nil {
		return err
	}
	if next < end {
		return fmt.Errorf("scan: key %d is missing", next)
	}
	return nil
}
