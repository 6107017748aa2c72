package workload

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// ycsbRunner runs one mix. Do is called by one goroutine.
type ycsbRunner struct {
	kvStore
	null    bool // the engine keeps nothing: reads find nothing, which measures the harness alone
	records int  // to load
	values  values
	plan    plan
	at      int // the next step of the slice, where not the caller counts

	// Memory that Do uses again, so that it allocates nothing.
	step       *step // the running one
	whole      bool  // all that it scans is checked
	batch      kv.Batch
	value, buf []byte // written, read
	onScan     func(*kv.Snapshot) error
	onModify   func(*kv.Tx) error
}

var (
	_ Runner = (*ycsbRunner)(nil)
	_ Weaker = (*ycsbRunner)(nil)
)

// Setup loads the records.
func (r *ycsbRunner) Setup(ctx context.Context) error {
	return r.create(ctx, func(db *kv.DB) error {
		return r.fill(ctx, db, r.records, func(_ int, b *kv.Batch) { r.put(b, r.plan.model.add()) })
	})
}

// Prepare puts back what the last slice deleted, and draws the steps of the next.
func (r *ycsbRunner) Prepare(n int) error {
	if r.plan.mix.deletes {
		missing := r.plan.refill(n)
		err := r.fill(context.Background(), r.db, len(missing), func(i int, b *kv.Batch) { r.put(b, missing[i]) })
		if err != nil {
			return err
		}
	}
	r.plan.draw(n)
	return nil
}

// put adds a record to b in the version of the model.
func (r *ycsbRunner) put(b *kv.Batch, n record) {
	key := r.plan.model.key(n)
	r.value = r.values.append(r.value[:0], uint64(n), uint64(r.plan.model.versions[n]))
	b.Put(key[:], r.value)
}

// Commit is that of Weaker.
func (r *ycsbRunner) Commit(d kv.Durability) (before kv.Durability) {
	before, r.env.Durability = r.env.Durability, d
	return before
}

// wholeEvery is how many operations go by until one is checked to its last item. The others are
// checked at their ends: what checking takes would count as the engine's, the same for all, and
// bring their ratios closer to 1.
const wholeEvery = 16

// Do does step i in a transaction of its own, and checks what it read.
func (r *ycsbRunner) Do(ctx context.Context, _, i int) error {
	s := &r.plan.steps[i]
	r.step, r.whole = s, i%wholeEvery == 0
	switch s.action {
	case actRead:
		v, err := r.db.Append(ctx, r.buf[:0], s.key[:])
		r.buf = v[:0]
		return r.check(s.record, s.version, v, err)
	case actScan:
		return r.db.View(ctx, r.onScan)
	case actModify:
		return r.db.Update(ctx, r.env.Durability, r.onModify)
	}
	r.batch.Reset()
	if s.action == actDelete {
		r.batch.Delete(s.key[:])
	} else {
		r.value = r.values.append(r.value[:0], uint64(s.record), uint64(s.written()))
		r.batch.Put(s.key[:], r.value)
	}
	return r.db.Write(ctx, r.env.Durability, &r.batch)
}

func (r *ycsbRunner) read(s *kv.Snapshot) error {
	v, err := s.Append(r.buf[:0], r.step.key[:])
	r.buf = v[:0]
	return r.check(r.step.record, r.step.version, v, err)
}

func (r *ycsbRunner) modify(tx *kv.Tx) error {
	if err := r.read(tx.Snapshot); err != nil {
		return err
	}
	r.value = r.values.append(r.value[:0], uint64(r.step.record), uint64(r.step.written()))
	return tx.Put(r.step.key[:], r.value)
}

// scan compares the first pair of the scan, or every one, with the next one in the model.
func (r *ycsbRunner) scan(s *kv.Snapshot) error {
	st, m := r.step, &r.plan.model
	at, left := int(st.first), st.count
	for k, v := range s.Scan(kv.Range{Start: st.key[:]}) {
		if !r.whole && left < st.count {
			if left--; left == 0 {
				return nil
			}
			continue
		}
		at = m.next(at, st.live)
		if at == len(m.sorted) {
			return fmt.Errorf("scan: key %x, which was never put", k)
		}
		if !m.holds(at, k) {
			return fmt.Errorf("scan: key %x, want that of key %d", k, m.sorted[at].record)
		}
		n := m.sorted[at].record
		if err := r.scanned(v, n); err != nil {
			return err
		}
		at++
		if left--; left == 0 {
			return nil
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	if at = m.next(at, st.live); r.whole && at < len(m.sorted) && !r.null {
		return fmt.Errorf("scan: ended before key %d, with %d to come", m.sorted[at].record, left)
	}
	return nil
}

// scanned checks the value of a record in a scan. The model has the versions of every moment of the
// slice, unless its mix updates, too: then the version is one of those that the record has in the
// slice.
func (r *ycsbRunner) scanned(value []byte, n record) error {
	m := &r.plan.model
	if m.before == nil {
		return r.values.check(value, uint64(n), uint64(m.versions[n]))
	}
	got, err := r.values.version(value, uint64(n))
	if err != nil {
		return err
	}
	first := uint32(1) // of a record that the slice inserts
	if int(n) < len(m.before) {
		first = m.before[n]
	}
	if got < uint64(first) || got > uint64(m.versions[n]) {
		return fmt.Errorf("scan: key %d: version %d, want one from %d to %d", n, got, first, m.versions[n])
	}
	return nil
}

// next returns the first position from at on that holds one of the first live records.
func (m *model) next(at int, live record) int {
	for at < len(m.sorted) && m.sorted[at].record >= live {
		at++
	}
	return at
}

// holds reports whether k is the key of the record at position at.
func (m *model) holds(at int, k []byte) bool {
	first, second := m.sorted[at].first, m.base|uint64(m.sorted[at].record)
	if m.order == ascending {
		second = scatter(first)
	}
	return len(k) == keySize && binary.BigEndian.Uint64(k) == first && binary.BigEndian.Uint64(k[8:]) == second
}

// check compares what was read of a record with the version that it must have, of which gone is
// one.
func (r *ycsbRunner) check(n record, version uint32, value []byte, err error) error {
	switch {
	case err != nil && err != error(kv.NotFound):
		return err
	case r.null || err != nil && version&gone != 0:
		return nil
	case err != nil:
		return fmt.Errorf("key %d: %w, want version %d", n, err, version)
	case version&gone != 0:
		return fmt.Errorf("key %d: found, though deleted", n)
	}
	return r.values.check(value, uint64(n), uint64(version))
}

// mostVerified is how many steps of a slice Verify looks at again. Only slices of commits that are
// never synced are longer; of those it takes steps at even distances, and the last.
const mostVerified = 10_000

// Verify reads the records that the slice wrote or deleted, and compares them with the model.
func (r *ycsbRunner) Verify(ctx context.Context) error {
	steps, m := r.plan.steps, &r.plan.model
	stride := max(1, (len(steps)+mostVerified-1)/mostVerified)
	return r.db.View(ctx, func(snap *kv.Snapshot) error {
		for i := len(steps) - 1; i >= 0; i -= stride {
			s := &steps[i]
			if s.action == actRead || s.action == actScan {
				continue
			}
			v, err := snap.Append(r.buf[:0], s.key[:])
			r.buf = v[:0]
			if err := r.check(s.record, m.versions[s.record], v, err); err != nil {
				return fmt.Errorf("after the slice: %w", err)
			}
		}
		return nil
	})
}
