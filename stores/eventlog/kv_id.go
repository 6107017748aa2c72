package eventlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/assaydb/assay/kv"
)

// known is an event whose id is remembered.
type known struct {
	position, version uint64
	sum               uint32 // of what it is, so that another event is not taken for it
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the checksum that is remembered with the ID of a draft. It is for backends.
func (d *Draft) Sum(stream string) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(stream))
	sum = crc32.Update(sum, castagnoli, []byte(d.Type))
	return crc32.Update(sum, castagnoli, d.Data)
}

// Again tells whether an append, of these parts, was done before, and then sets where its events
// are. Find looks an id up: where its event is, the version of its stream, and its Sum; at position
// 0 if it is not remembered. It is for backends.
func Again(parts []*Pending, find func(id string) (position, version uint64, sum uint32, err error)) (again bool,
	err error) {
	defer func() {
		for _, a := range parts {
			if err != nil {
				a.Appended = Appended{}
			}
		}
	}()
	events, found := 0, 0
	for _, a := range parts {
		events += len(a.Drafts)
		for i := range a.Drafts {
			d := &a.Drafts[i]
			if d.ID == "" {
				continue
			}
			position, version, sum, err := find(d.ID)
			if err != nil {
				return false, err
			}
			if position == 0 {
				continue
			}
			if i == 0 {
				a.Appended.First = position
			}
			if found++; sum != d.Sum(a.Stream) || position != a.Appended.First+uint64(i) {
				return false, otherAppend(d.ID)
			}
			a.Appended.Last, a.Appended.Version = position, version
		}
	}
	if found > 0 && found < events {
		return false, otherAppend(parts[0].firstID())
	}
	return found > 0, nil
}

func (p *Pending) firstID() string {
	for i := range p.Drafts {
		if p.Drafts[i].ID != "" {
			return p.Drafts[i].ID
		}
	}
	return ""
}

func otherAppend(id string) error {
	return &kv.Error{Op: "append", Kind: kv.Conflict, Err: fmt.Errorf("id %q is that of another append", id),
		Hint: "try an append again as it was, and give every event an id of its own"}
}

// checkIDs refuses an append of two events with one id before others wait with it: what a backend
// finds out is the error of the whole group.
func (p *Pending) checkIDs() error {
	if len(p.Drafts) < 2 && p.More == nil {
		return nil
	}
	var seen map[string]bool
	for n := -1; n < len(p.More); n++ {
		part := p
		if n >= 0 {
			part = p.More[n]
		}
		for i := range part.Drafts {
			id := part.Drafts[i].ID
			if id == "" {
				continue
			}
			if seen[id] {
				return TwiceTheID(id)
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[id] = true
		}
	}
	return nil
}

// TwiceTheID is the error of an append of two events with one id. It is for backends.
func TwiceTheID(id string) error {
	return invalid("append", fmt.Errorf("two events with the id %q", id), "give every event an id of its own")
}

// again reports whether an append was done before, and then sets where its events are.
func (p *plan) again(ctx context.Context, parts []*Pending) (again bool, err error) {
	for _, a := range parts {
		if a.firstID() == "" {
			continue
		}
		err = p.view(ctx, func(s *kv.Snapshot) (err error) {
			again, err = Again(parts, func(id string) (position, version uint64, sum uint32, err error) {
				k, err := p.find(s, id)
				return k.position, k.version, k.sum, err
			})
			return err
		})
		return again, err
	}
	return false, nil
}

// counter says where the next id goes: into the generation that is being filled, of which it is the
// count-th. Those of it and of the one before are looked up.
type counter struct{ generation, count uint64 }

var counterKey = []byte{idPrefix}

func appendIDKey(key []byte, generation uint64, id string) []byte {
	return append(kv.AppendUint64(append(key, idPrefix), generation), id...)
}

func readCounter(s *kv.Snapshot) (c counter, err error) {
	value, err := s.Get(counterKey)
	switch {
	case errors.Is(err, kv.NotFound):
		return c, nil
	case err == nil && len(value) != 16:
		err = corrupt(fmt.Errorf("counter of ids: %d bytes instead of 16", len(value)))
	case err == nil:
		c = counter{binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])}
	}
	return c, err
}

// find looks an id up among those of the plan, then among those that are remembered.
func (p *plan) find(s *kv.Snapshot, id string) (k known, err error) {
	if p.ids == nil {
		if p.counter, err = readCounter(s); err != nil {
			return k, err
		}
		p.ids = map[string]known{}
	}
	if k, ok := p.ids[id]; ok {
		return k, nil
	}
	for g := p.counter.generation; ; g-- {
		p.key = appendIDKey(p.key[:0], g, id)
		value, err := s.Get(p.key)
		switch {
		case err == nil:
			return parseKnown(p.key, value)
		case !errors.Is(err, kv.NotFound):
			return k, err
		case g == 0 || g < p.counter.generation:
			return k, nil
		}
	}
}

// remember plans the id of the event that was planned last.
func (p *plan) remember(stream string, version uint64, d *Draft) error {
	if _, ok := p.ids[d.ID]; ok {
		return TwiceTheID(d.ID)
	}
	k := known{p.assigned, version, d.Sum(stream)}
	p.ids[d.ID] = k
	p.key = appendIDKey(p.key[:0], p.counter.generation, d.ID)
	value := appendKnown(p.buffer(), k)
	if p.counter.count++; p.counter.count == Remembered {
		p.counter = counter{generation: p.counter.generation + 1}
	}
	return p.put(p.key, value)
}

func appendKnown(b []byte, k known) []byte {
	return binary.BigEndian.AppendUint32(kv.AppendUint64(kv.AppendUint64(b, k.position), k.version), k.sum)
}

func parseKnown(key, value []byte) (k known, err error) {
	if len(value) != 20 {
		return k, corrupt(fmt.Errorf("key %q: %d bytes instead of 20", key, len(value)))
	}
	return known{binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]),
		binary.BigEndian.Uint32(value[16:])}, nil
}

// count plans where the next id goes after n more, and forgets twice as many that are too old.
func (p *plan) count(ctx context.Context, n int) error {
	value := kv.AppendUint64(kv.AppendUint64(p.buffer(), p.counter.generation), p.counter.count)
	if err := p.put(counterKey, value); err != nil {
		return err
	}
	oldest := max(p.counter.generation, 1) - 1
	if p.b.forgotten.Load() >= oldest {
		return nil
	}
	r := kv.Range{Start: appendIDKey(nil, 0, ""), End: appendIDKey(nil, oldest, ""), KeysOnly: true}
	if bytes.Compare(p.oldest, r.Start) > 0 {
		r.Start = p.oldest
	}
	var old [][]byte
	err := p.view(ctx, func(s *kv.Snapshot) error {
		for key := range s.Keys(r) {
			if old = append(old, bytes.Clone(key)); len(old) == 2*n {
				break
			}
		}
		return s.Err()
	})
	for _, key := range old {
		if err == nil {
			err = p.delete(key)
		}
		p.oldest = kv.After(key)
	}
	if err == nil && len(old) < 2*n {
		p.b.forgotten.Store(oldest)
	}
	return err
}
