package feed

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Trimmer is a [Backend] that can delete its first messages. Append and Trim are called by one
// goroutine at a time.
type Trimmer interface {
	Backend

	// Trim deletes the messages below a sequence, which is at most the number of messages.
	Trim(ctx context.Context, d kv.Durability, before uint64) error
}

// Trim deletes the messages below a sequence, for ever. All others keep their sequences, and the
// next message gets the one it would have got. What was deleted is NotFound, and Scan passes over
// it; [Snapshot.First] tells where the feed begins.
//
// The space of a message is free for others, and that of a block once all its messages are below:
// of those that share a block with later ones the bytes stay on the disk until then. Free space
// stays in the store's file until that is compacted.
//
// It works in several transactions of class d. Once the first is committed the messages are gone;
// if a later one fails Trim returns its error, and another Trim frees the rest. In Margaret's
// format, which has no other first message than 0, it is Unsupported: [margaret.Log.Null] erases
// messages one by one.
//
// [margaret.Log.Null]: https://pkg.go.dev/github.com/assaydb/assay/stores/eventlog/margaret#Log.Null
func (f *Feed) Trim(ctx context.Context, d kv.Durability, before uint64) error {
	b, ok := f.backend.(Trimmer)
	if !ok {
		return &kv.Error{Op: "trim", Kind: kv.Unsupported, Err: errors.New("the format of this feed begins with message 0"),
			Hint: "erase messages one by one, if it can, or keep the feed in a key-value store: feed.Open"}
	}
	return f.inTurn(ctx, "trim", func() error { return b.Trim(ctx, d, before) })
}

// trimStep is how many messages one transaction of Trim deletes at most.
const trimStep = 8192

// Trim implements Trimmer.
func (k *keeper) Trim(ctx context.Context, d kv.Durability, before uint64) error {
	for {
		left, err := k.trimSome(ctx, d, before)
		if err != errJoined && (err != nil || !left) {
			return err
		}
	}
}

// trimSome trims in one transaction, and reports whether there is more to do.
func (k *keeper) trimSome(ctx context.Context, d kv.Durability, before uint64) (left bool, err error) {
	var p trimming
	if !k.shared {
		if k.isCurrent() != nil {
			k.known, k.asOf = false, k.epoch.Load()
		}
		err = k.view(ctx, func(r *rows) (err error) { p, err = k.planTrim(r, before); return err })
	}
	if err == nil {
		err = k.update(ctx, d, func(r *rows, w *writer) (err error) {
			if r != nil {
				if p, err = k.planTrim(r, before); err != nil {
					return err
				}
			}
			return p.run(w)
		})
	}
	if err == errTrimmed {
		return false, nil
	}
	if err != nil {
		k.known = false
		return false, err
	}
	k.tail, k.known, k.stored = p.after, true, true
	if !k.shared {
		k.see(k.tail)
	}
	return p.to < before, nil
}

// errTrimmed rolls a transaction back that has nothing to do.
var errTrimmed = errors.New("it is trimmed")

// trimming is what one transaction of Trim does.
type trimming struct {
	meta             *Meta // to be stored, if this is the first
	before, from, to uint64
	blocks           uint64 // those that begin below are no longer needed
	after            tail
}

func (k *keeper) planTrim(r *rows, before uint64) (p trimming, err error) {
	t, _, err := k.current(r)
	if err != nil {
		return p, err
	}
	if before > t.end {
		return p, &kv.Error{Op: "trim", Kind: kv.Invalid, Err: fmt.Errorf("before message %d of %d", before, t.end),
			Hint: "give the number of messages, at most"}
	}
	trimmed, freed, err := r.trimmed()
	if err != nil {
		return p, err
	}
	p.before, p.from = max(before, trimmed), freed
	p.to = min(p.before, freed+trimStep)
	if p.from == p.to {
		return p, errTrimmed
	}
	if trimmed == 0 {
		if p.meta, err = r.meta(); err != nil {
			return p, err
		}
		p.meta.Format = formatTrimmed
	}
	if p.blocks, err = unneeded(r, p.to); err != nil {
		return p, err
	}
	p.after = t
	p.after.trimmed = p.before
	if p.before > t.first {
		if k.codec != nil {
			p.after.messages = t.messages[p.before-t.first:]
		}
		p.after.first = p.before
	}
	return p, nil
}

// unneeded returns below which sequence blocks begin that have no message at to or above it.
func unneeded(r *rows, to uint64) (uint64, error) {
	first, end, err := blockAt(r, to-1)
	if end > to {
		return first, err
	}
	return end, err
}

func (p *trimming) run(w *writer) error {
	if p.meta != nil {
		if err := w.putMeta(p.meta); err != nil {
			return err
		}
	}
	if err := w.putTrimmed(p.before, p.to); err != nil {
		return err
	}
	return w.free(p.from, p.to, p.blocks)
}

func trimmed(seq, first uint64) error {
	return &kv.Error{Op: "get", Kind: kv.NotFound, Err: fmt.Errorf("message %d was trimmed: the feed begins with %d",
		seq, first)}
}
