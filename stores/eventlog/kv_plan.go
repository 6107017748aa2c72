package eventlog

import (
	"context"
	"time"

	"github.com/assaydb/assay/kv"
)

// plan lays appends out as writes of a batch, or of a transaction.
type plan struct {
	b        *kvBackend
	last     uint64 // the position of the last event, those of the plan included
	assigned uint64 // the last position given out or given up
	reserve  uint64 // so many positions are to be reserved above assigned
	repeated bool   // an append was done before: it is told so as durably as it asks
	versions map[string]uint64
	ids      map[string]known // those of the plan
	counter  counter          // as of ids, which is not nil then
	oldest   []byte           // the keys of ids before it are deleted
	batch    *kv.Batch        // takes the writes; nil: tx does
	tx       *kv.Tx
	parts    []*Pending
	key      []byte // memory for the next key, and for the next value of tx
	value    []byte
}

// buffer returns memory for the value that is put next.
func (p *plan) buffer() []byte {
	if p.batch != nil {
		return p.batch.AvailableBuffer()
	}
	return p.value[:0]
}

func (p *plan) put(key, value []byte) error {
	if p.batch != nil {
		p.batch.Put(key, value)
		return nil
	}
	if cap(value) > cap(p.value) {
		p.value = value
	}
	return p.tx.Put(key, value)
}

func (p *plan) delete(key []byte) error {
	if p.batch != nil {
		p.batch.Delete(key)
		return nil
	}
	return p.tx.Delete(key)
}

// view has fn read what is stored.
func (p *plan) view(ctx context.Context, fn func(s *kv.Snapshot) error) error {
	if p.tx != nil {
		return fn(p.tx.Snapshot)
	}
	return p.b.db.View(ctx, fn)
}

// group plans what is asked for, and sets the outcome of each.
func (p *plan) group(ctx context.Context, group []*Pending) error {
	for _, a := range group {
		p.parts = a.Parts(p.parts)
		p.reserve = max(p.reserve, a.Reserve)
		err := p.append(ctx, p.parts)
		if err != nil && kv.KindOf(err) != kv.Conflict {
			return err
		}
		if a.Err = err; err != nil {
			a.fail(err)
		}
	}
	return nil
}

// append plans one append, of which every part has its own stream. A Conflict plans nothing of it.
func (p *plan) append(ctx context.Context, parts []*Pending) error {
	for _, a := range parts {
		a.Appended = Appended{}
	}
	if again, err := p.again(ctx, parts); again || err != nil {
		p.repeated = p.repeated || again
		return err
	}
	for _, a := range parts {
		version, err := p.version(ctx, a.Stream)
		if err == nil {
			err = a.Expected.Check(a.Stream, p.last, version)
		}
		if err != nil {
			return err
		}
	}
	before := len(p.ids)
	for _, a := range parts {
		if len(a.Drafts) == 0 {
			continue
		}
		version, err := p.version(ctx, a.Stream)
		if err == nil {
			a.Appended, err = p.lay(ctx, a.Stream, version, a.Drafts)
		}
		if err != nil {
			return err
		}
	}
	if n := len(p.ids) - before; n > 0 {
		return p.count(ctx, n)
	}
	return nil
}

// one is append of one part.
func (p *plan) one(ctx context.Context, stream string, expected Expected, drafts []Draft) (Appended, error) {
	for i := range drafts {
		if drafts[i].ID != "" {
			a := Pending{Stream: stream, Expected: expected, Drafts: drafts}
			err := p.append(ctx, []*Pending{&a})
			return a.Appended, err
		}
	}
	version, err := p.version(ctx, stream)
	if err == nil && expected.kind != anything {
		err = expected.Check(stream, p.last, version)
	}
	if err != nil || len(drafts) == 0 {
		return Appended{}, err
	}
	return p.lay(ctx, stream, version, drafts)
}

// version returns the version of a stream with the appends of the plan so far.
func (p *plan) version(ctx context.Context, stream string) (version uint64, err error) {
	if !p.b.streams || stream == "" {
		return 0, nil
	}
	if v, ok := p.versions[stream]; ok {
		return v, nil
	}
	err = p.view(ctx, func(s *kv.Snapshot) (err error) {
		version, err = streamVersion(s, stream, noLimit)
		return err
	})
	if err == nil {
		p.versions[stream] = version
	}
	return version, err
}

// lay plans the events of a stream that has a version. It checks what may not have been checked
// before.
func (p *plan) lay(ctx context.Context, stream string, version uint64, drafts []Draft) (Appended, error) {
	indexed := p.b.streams && stream != ""
	var now time.Time
	before := ""
	for i := range drafts {
		d := &drafts[i]
		t := d.Time
		if t.IsZero() {
			t = at(&now)
		}
		if err := checkDraft(d, t, before); err != nil {
			return Appended{}, err
		}
		before = d.Type
		p.assigned++
		if indexed {
			version++
			p.key = appendStreamKey(p.key[:0], stream, version)
			if err := p.put(p.key, kv.AppendUint64(p.buffer(), p.assigned)); err != nil {
				return Appended{}, err
			}
		}
		p.key = appendEventKey(p.key[:0], p.assigned)
		if err := p.put(p.key, appendEnvelope(p.buffer(), version, stream, d, t)); err != nil {
			return Appended{}, err
		}
		if d.ID != "" {
			if err := p.remember(stream, version, d); err != nil {
				return Appended{}, err
			}
		}
	}
	if indexed {
		p.versions[stream] = version
	}
	p.last = p.assigned
	return Appended{First: p.assigned - uint64(len(drafts)) + 1, Last: p.assigned, Version: version}, nil
}
