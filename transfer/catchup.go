package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// catchUp brings to the new store, which is there, what was changed in the old one since it was
// moved.
func (m *move) catchUp(ctx context.Context, source *kv.DB, path string) (done Migration, r *record, err error) {
	known, err := readRecord(m.place.to)
	if err != nil {
		return done, nil, err
	}
	if known != nil && known.From != m.place.relative(path) {
		known = nil // it was made of another store
	}
	done.Outcome = Stayed
	if done.Summary, err = summarise(ctx, source, m.o.Options, 0); err != nil {
		return done, nil, err
	}
	r = &record{From: m.place.relative(path), Summary: done.Summary}
	if known != nil && known.Summary == r.Summary && known.Next == nil {
		return done, known, nil
	}
	dest, err := OpenExisting(ctx, m.to, Change)
	if err != nil {
		return done, nil, err
	}
	defer func() { err = errors.Join(err, dest.Close()) }()
	changed := false
	err = dest.Update(ctx, dest.Caps().Strongest(), func(tx *kv.Tx) (err error) {
		changed, err = m.follow(ctx, source, tx, known, r)
		return err
	})
	if err != nil {
		return done, nil, err
	}
	if changed {
		done.Outcome = Caught
	}
	return done, r, r.write(m.place)
}

// follow changes tx, of the new store, to hold what source does, which is what next says, if it
// still holds what it was made with. Before that can be committed the record says what was there
// and what comes, so that after a kill neither is taken for a change by somebody else.
func (m *move) follow(ctx context.Context, source *kv.DB, tx *kv.Tx, known, next *record) (changed bool, err error) {
	it := tx.Iter(kv.Range{})
	defer func() { _ = it.Close() }() // what goes wrong in it is told by Err
	var b kv.Batch
	var first []byte
	differing := 0
	now, held := newDigest(), newDigest()
	err = m.o.merge(ctx, source, it, now, held, func(d Difference, v []byte) {
		if differing++; differing == 1 {
			first = bytes.Clone(d.Key)
		}
		if d.A == nil {
			b.Delete(d.Key)
		} else {
			b.Put(d.Key, v)
		}
	})
	if err = errors.Join(err, it.Close()); err != nil || differing == 0 {
		return false, err
	}
	if known == nil || !known.made(held.summary()) {
		return false, &kv.Error{Kind: kv.Conflict,
			Hint: "compare them by assay verify, put right what the new one lacks, then move the old one away",
			Err: fmt.Errorf("old and new store differ, and the new one was changed, too: %d keys, the first is %s",
				differing, excerpt(first))}
	}
	coming := record{From: next.From, Summary: held.summary(), Next: &next.Summary}
	return true, errors.Join(b.Run(tx), coming.write(m.place))
}
