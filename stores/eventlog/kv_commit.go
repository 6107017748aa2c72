package eventlog

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// cachedVersions is how many streams' versions are kept in memory.
const cachedVersions = 1 << 16

// Commit implements Backend.
func (b *kvBackend) Commit(ctx context.Context, d kv.Durability, group []*Pending) error {
	if !b.inMemory {
		return b.commitShared(ctx, d, group)
	}
	b.batch.Reset()
	plan := &b.plan
	plan.last, plan.assigned, plan.bytes = b.visible.Load(), b.assigned, 0
	err := plan.group(ctx, group)
	if err == nil && b.batch.Len() > 0 {
		err = b.commitBatch(ctx, d, plan.assigned)
	}
	if err != nil {
		clear(b.versions) // they count what did not happen
		return err
	}
	b.assigned = plan.assigned
	b.visible.Store(plan.last)
	b.trim(plan.bytes)
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
func (b *kvBackend) trim(bytes int) {
	if len(b.versions) > cachedVersions {
		clear(b.versions)
	}
	if bytes > 2*groupBytes {
		b.batch = kv.Batch{}
	}
}

// plan lays a group of appends out as writes.
type plan struct {
	b         *kvBackend
	last      uint64 // the position of the last event, those of the plan included
	assigned  uint64
	bytes     int                                                      // in the values written
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
		if err := p.append(a, version); err != nil {
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

func (p *plan) append(a *Pending, version uint64) error {
	b := p.b
	indexed := b.streams && a.Stream != ""
	for i := range a.Drafts {
		p.assigned++
		if indexed {
			version++
			b.key = appendStreamKey(b.key[:0], a.Stream, version)
			if err := p.put(b.key, kv.AppendUint64(p.buffer(), p.assigned)); err != nil {
				return err
			}
		}
		b.key = appendEventKey(b.key[:0], p.assigned)
		value := b.encoder.append(p.buffer(), p.assigned, version, a.Stream, &a.Drafts[i])
		p.bytes += len(value)
		if err := p.put(b.key, value); err != nil {
			return err
		}
	}
	if indexed {
		b.versions[a.Stream] = version
	}
	p.last = p.assigned
	a.Appended = Appended{First: p.assigned - uint64(len(a.Drafts)) + 1, Last: p.assigned, Version: version}
	return nil
}
