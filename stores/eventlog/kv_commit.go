package eventlog

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// cachedVersions is how many streams' versions are kept in memory.
const cachedVersions = 1 << 16

// errJoined stops a plan that does not know of what a transaction appended since.
var errJoined = errors.New("a transaction appended meanwhile")

// Commit implements Backend.
func (b *kvBackend) Commit(ctx context.Context, d kv.Durability, group []*Pending) error {
	if !b.inMemory {
		return b.commitShared(ctx, d, group)
	}
	for {
		err := b.begin().group(ctx, group)
		if err = b.end(ctx, d, err); err != errJoined {
			return err
		}
	}
}

// append is Commit of one append, which keeps nothing of events and needs no copy of them.
func (b *kvBackend) append(ctx context.Context, d kv.Durability, stream string, expected Expected,
	events []Draft) (Appended, error) {
	for {
		if ctx.Err() != nil {
			return Appended{}, canceled(ctx)
		}
		done, err := b.begin().one(ctx, stream, expected, events)
		if err != nil && kv.KindOf(err) == kv.Conflict {
			return Appended{}, err // nothing of it is planned
		}
		switch err = b.end(ctx, d, err); {
		case err == nil:
			return done, nil
		case err == errJoined:
			continue
		case errors.Is(err, kv.Canceled) && ctx.Err() != nil:
			err = canceled(ctx)
		}
		return Appended{}, err
	}
}

// begin begins a plan over b.batch; end commits it, unless err tells that it failed.
func (b *kvBackend) begin() *plan {
	b.batch.Reset()
	if b.epoch.Load() != b.seen {
		b.learn()
	}
	b.plan.last, b.plan.assigned, b.plan.reserve = b.visible.Load(), b.assigned, 0
	b.plan.ids, b.plan.repeated = nil, false
	return &b.plan
}

func (b *kvBackend) end(ctx context.Context, d kv.Durability, err error) error {
	p := &b.plan
	if err == nil {
		err = b.commitBatch(ctx, d, p.assigned)
	}
	if err != nil {
		clear(p.versions) // they count what did not happen
		p.oldest = nil
		return err
	}
	b.assigned = p.assigned
	raise(&b.visible, p.last)
	b.trim()
	return nil
}

// commitBatch commits b.batch, which gives out the positions up to assigned.
func (b *kvBackend) commitBatch(ctx context.Context, d kv.Durability, assigned uint64) error {
	if up := assigned + b.plan.reserve; b.mustReserve(d) && up > b.meta.Reserved && up > b.assigned {
		if err := b.storeMeta(ctx, up+b.block); err != nil {
			return err
		}
		b.block = NextBlock(b.block)
	}
	nothing := b.batch.Len() == 0
	if nothing && !b.plan.repeated {
		return nil
	}
	if nothing {
		b.meta = b.meta.again()
	}
	if nothing || !b.stored {
		b.batch.Put(metaKey, b.meta.encode())
	}
	b.batch.OnTurn(b.isCurrent)
	err := b.db.Write(ctx, d, &b.batch)
	if err == nil {
		b.stored = true
		return nil
	}
	switch kv.KindOf(err) {
	case kv.Canceled, kv.TooLarge, kv.Invalid, kv.Unsupported, kv.NotWritable, kv.Closed:
	default:
		if err != errJoined {
			// Whether something of it comes back after a crash is unknown, so its positions are not
			// used again.
			b.assigned = assigned
			raise(&b.floor, assigned)
		}
	}
	return err
}

// mustReserve reports whether appends of class d need their positions reserved. An unknown class is
// refused later.
func (b *kvBackend) mustReserve(d kv.Durability) bool { return int(d) < len(b.weak) && b.weak[d] }

// trim lets go of memory that an unusual append took.
func (b *kvBackend) trim() {
	if len(b.plan.versions) > cachedVersions {
		clear(b.plan.versions)
	}
	if b.batch.Size() > 2*groupBytes {
		b.batch = kv.Batch{}
	}
}

// raise makes n the value of a, unless that is higher.
func raise(a *atomic.Uint64, n uint64) {
	for before := a.Load(); before < n && !a.CompareAndSwap(before, n); before = a.Load() {
	}
}
