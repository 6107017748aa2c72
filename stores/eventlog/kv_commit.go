package eventlog

import (
	"context"
	"errors"
	"time"

	"github.com/assaydb/assay/kv"
)

// cachedVersions is how many streams' versions are kept in memory.
const cachedVersions = 1 << 16

// Commit implements Backend.
func (b *kvBackend) Commit(ctx context.Context, d kv.Durability, group []*Pending) error {
	if !b.inMemory {
		return b.commitShared(ctx, d, group)
	}
	return b.end(ctx, d, b.begin().group(ctx, group))
}

// append is Commit of one append, which keeps nothing of events and needs no copy of them.
func (b *kvBackend) append(ctx context.Context, d kv.Durability, stream string, expected Expected, events []Draft) (done Appended, err error) {
	if ctx.Err() != nil {
		return Appended{}, canceled(ctx)
	}
	plan := b.begin()
	version, err := plan.version(ctx, stream)
	if err == nil {
		if err = expected.Check(stream, plan.last, version); err != nil || len(events) == 0 {
			return Appended{}, err
		}
		done, err = plan.append(stream, version, events)
	}
	if err = b.end(ctx, d, err); err == nil {
		return done, nil
	}
	if errors.Is(err, kv.Canceled) && ctx.Err() != nil {
		err = canceled(ctx)
	}
	return Appended{}, err
}

// begin begins a plan over b.batch; end commits it, unless err tells that it failed.
func (b *kvBackend) begin() *plan {
	b.batch.Reset()
	b.plan.last, b.plan.assigned = b.visible.Load(), b.assigned
	return &b.plan
}

func (b *kvBackend) end(ctx context.Context, d kv.Durability, err error) error {
	if err == nil && b.batch.Len() > 0 {
		err = b.commitBatch(ctx, d, b.plan.assigned)
	}
	if err != nil {
		clear(b.versions) // they count what did not happen
		return err
	}
	b.assigned = b.plan.assigned
	b.visible.Store(b.plan.last)
	b.trim()
	return nil
}

// commitBatch commits b.batch, which gives out the positions up to assigned.
func (b *kvBackend) commitBatch(ctx context.Context, d kv.Durability, assigned uint64) error {
	if b.mustReserve(d) && assigned > b.meta.Reserved {
		if err := b.storeMeta(ctx, assigned+b.block); err != nil {
			return err
		}
		b.block = NextBlock(b.block)
	}
	if !b.stored {
		b.batch.Put(metaKey, b.meta.encode())
	}
	err := b.db.Write(ctx, d, &b.batch)
	if err == nil {
		b.stored = true
		return nil
	}
	switch kv.KindOf(err) {
	case kv.Canceled, kv.TooLarge, kv.Invalid, kv.Unsupported, kv.NotWritable, kv.Closed:
	default:
		// Whether something of it comes back after a crash is unknown, so its positions are not used again.
		b.assigned = assigned
	}
	return err
}

// mustReserve reports whether appends of class d need their positions reserved. An unknown class is refused later.
func (b *kvBackend) mustReserve(d kv.Durability) bool { return int(d) < len(b.weak) && b.weak[d] }

// trim lets go of memory that an unusual append took.
func (b *kvBackend) trim() {
	if len(b.versions) > cachedVersions {
		clear(b.versions)
	}
	if b.batch.Size() > 2*groupBytes {
		b.batch = kv.Batch{}
	}
}

// plan lays a group of appends out as writes.
type plan struct {
	b         *kvBackend
	last      uint64 // the position of the last event, those of the plan included
	assigned  uint64
	versionOf func(ctx context.Context, stream string) (uint64, error) // as stored
	tx        *kv.Tx                                                   // takes the writes; nil: b.batch does
	value     []byte                                                   // memory for the next value of tx
}

// buffer returns memory for the value that is put next.
func (p *plan) buffer() []byte {
	if p.tx == nil {
		return p.b.batch.AvailableBuffer()
	}
	return p.value[:0]
}

func (p *plan) put(key, value []byte) error {
	if p.tx == nil {
		p.b.batch.Put(key, value)
		return nil
	}
	if cap(value) > cap(p.value) {
		p.value = value
	}
	return p.tx.Put(key, value)
}

func (p *plan) group(ctx context.Context, group []*Pending) error {
	for _, a := range group {
		a.Appended, a.Err = Appended{}, nil
		version, err := p.version(ctx, a.Stream)
		if err != nil {
			return err
		}
		if a.Err = a.Expected.Check(a.Stream, p.last, version); a.Err != nil || len(a.Drafts) == 0 {
			continue
		}
		if a.Appended, err = p.append(a.Stream, version, a.Drafts); err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of a stream with the appends of the plan so far.
func (p *plan) version(ctx context.Context, stream string) (uint64, error) {
	if !p.b.streams || stream == "" {
		return 0, nil
	}
	if v, ok := p.b.versions[stream]; ok {
		return v, nil
	}
	v, err := p.versionOf(ctx, stream)
	if err == nil {
		p.b.versions[stream] = v
	}
	return v, err
}

// append appends events to a stream that has a version. It checks what may not have been checked before.
func (p *plan) append(stream string, version uint64, events []Draft) (Appended, error) {
	b := p.b
	indexed := b.streams && stream != ""
	var now time.Time
	for i := range events {
		p.assigned++
		if indexed {
			version++
			b.key = appendStreamKey(b.key[:0], stream, version)
			if err := p.put(b.key, kv.AppendUint64(p.buffer(), p.assigned)); err != nil {
				return Appended{}, err
			}
		}
		draft := &events[i]
		t := draft.Time
		if t.IsZero() {
			t = at(&now)
		}
		value, err := b.encoder.append(p.buffer(), p.assigned, version, stream, draft, t)
		if err != nil {
			return Appended{}, err
		}
		b.key = appendEventKey(b.key[:0], p.assigned)
		if err := p.put(b.key, value); err != nil {
			return Appended{}, err
		}
	}
	if indexed {
		b.versions[stream] = version
	}
	p.last = p.assigned
	return Appended{First: p.assigned - uint64(len(events)) + 1, Last: p.assigned, Version: version}, nil
}
