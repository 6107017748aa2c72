package eventlog

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// truncateStep is how many events one transaction removes.
const truncateStep = 1000

var truncatedKey = []byte{metaPrefix, 't'}

// Truncate implements Backend. The last entry of a stream in the index stays, for it says what its
// version is.
func (b *kvBackend) Truncate(ctx context.Context, d kv.Durability, before uint64) error {
	for from := uint64(0); from < before; { // what is removed may be in the way: it is passed once
		var next uint64
		err := b.db.Update(ctx, d, func(tx *kv.Tx) (err error) {
			next, err = truncateSome(tx, from, before)
			return err
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// truncateSome removes the first events from a position on, and returns from where on there may be
// more below before.
func truncateSome(tx *kv.Tx, from, before uint64) (next uint64, err error) {
	events := kv.Range{Start: appendEventKey(nil, from), End: appendEventKey(nil, before)}
	var c decoder
	versions := map[string]uint64{} // the highest that goes
	n := 0
	next = before
	for key, value := range tx.Scan(events) {
		if n == truncateStep {
			next, _ = kv.LastUint64(key)
			break
		}
		n++
		var e Event
		if _, err := c.decode(&e, value); err != nil {
			return 0, corrupt(err)
		}
		if e.Version > 0 {
			versions[e.Stream] = e.Version
		}
	}
	if err := tx.Err(); err != nil || n == 0 {
		return next, err
	}
	for stream, version := range versions {
		last, err := streamVersion(tx.Snapshot, stream, noLimit)
		if err != nil {
			return 0, err
		}
		gone := kv.Range{Start: appendStreamKey(nil, stream, 0),
			End: appendStreamKey(nil, stream, min(version+1, last))}
		if err := tx.DeleteRange(gone); err != nil {
			return 0, err
		}
	}
	if mark := kv.AppendUint64(nil, before); before > truncatedBelow(tx.Snapshot) {
		if err := tx.Put(truncatedKey, mark); err != nil {
			return 0, err
		}
	}
	events.End = appendEventKey(nil, next)
	return next, tx.DeleteRange(events)
}

// truncatedBelow returns the position below which events may be gone.
func truncatedBelow(s *kv.Snapshot) uint64 {
	value, err := s.Get(truncatedKey)
	if err != nil {
		return 0
	}
	position, _ := kv.LastUint64(value)
	return position
}
