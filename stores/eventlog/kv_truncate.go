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
	for more := true; more; {
		err := b.db.Update(ctx, d, func(tx *kv.Tx) (err error) {
			more, err = truncateSome(tx, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// truncateSome removes the first events, and reports whether there may be more below before.
func truncateSome(tx *kv.Tx, before uint64) (more bool, err error) {
	events := kv.Range{Start: appendEventKey(nil, 0), End: appendEventKey(nil, before)}
	var c decoder
	versions := map[string]uint64{} // the highest that goes
	n := 0
	for key, value := range tx.Scan(events) {
		if n == truncateStep {
			more, events.End = true, append([]byte(nil), key...)
			break
		}
		n++
		var e Event
		if _, err := c.decode(&e, value); err != nil {
			return false, corrupt(err)
		}
		if e.Version > 0 {
			versions[e.Stream] = e.Version
		}
	}
	if err := tx.Err(); err != nil || n == 0 {
		return false, err
	}
	for stream, version := range versions {
		last, err := streamVersion(tx.Snapshot, stream, noLimit)
		if err != nil {
			return false, err
		}
		gone := kv.Range{Start: appendStreamKey(nil, stream, 0),
			End: appendStreamKey(nil, stream, min(version+1, last))}
		if err := tx.DeleteRange(gone); err != nil {
			return false, err
		}
	}
	if mark := kv.AppendUint64(nil, before); before > truncatedBelow(tx.Snapshot) {
		if err := tx.Put(truncatedKey, mark); err != nil {
			return false, err
		}
	}
	return more, tx.DeleteRange(events)
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
