package eventlog

import (
	"errors"
	"fmt"
	"math"

	"github.com/assaydb/assay/kv"
)

// ItemKind says what a Item is. Dump gives items in the order of their kinds.
type ItemKind uint8

// The kinds of items.
const (
	// Streams, and Position: all up to it are used, lost or skipped; there is none before the first
	// event
	HeadItem     ItemKind = iota
	BookmarkItem          // the subscription Name has come to Position
	EventItem             // Event; by position
	IDItem                // the id Name is remembered: Position and Version of its event, and Sum; by id
	LeaseItem             // Holder has the subscription Name until Until, in ms since 1970
	ParkedItem            // the subscription Name parked the event at Position; Cause is why
	EndedItem             // all events of the stream Name are removed; Version was the last
)

// Item is one of the things that a log holds, whatever keeps it: what is moved between a key-value
// store and SQL tables. Package stores/pairs makes pairs of them.
type Item struct {
	Kind              ItemKind
	Name              string
	Position, Version uint64
	Streams           bool
	Event             Event
	Sum               uint32
	Holder, Cause     string
	Until             int64
}

// Dump gives fn all items of the log in s, each until fn returns. The log need not be open. Parts
// that contradict each other, as an event that the index of streams does not have, are Corrupt.
func Dump(s *kv.Snapshot, fn func(*Item) error) error {
	d := dump{s: s, fn: fn}
	for _, step := range []func() error{d.head, d.bookmarks, d.events, d.ids, d.leases, d.parked, d.ended} {
		if err := step(); err != nil {
			return err
		}
	}
	return s.Err()
}

// dump is one Dump.
type dump struct {
	s       *kv.Snapshot
	fn      func(*Item) error
	streams bool
	indexed int // events that have a version
}

func (d *dump) head() error {
	m, err := storedMeta(d.s)
	if err != nil {
		return err
	}
	last, err := lastEvent(d.s)
	if err != nil {
		return err
	}
	acknowledged, err := highestBookmark(d.s)
	if err != nil {
		return err
	}
	if last > 0 && m.Format == 0 {
		return corrupt(errors.New("there are events and no meta"))
	}
	d.streams = m.Streams
	if used := max(last, m.Floor, m.Reserved, acknowledged); used > 0 {
		return d.fn(&Item{Kind: HeadItem, Streams: m.Streams, Position: used})
	}
	return nil
}

func (d *dump) bookmarks() error {
	for key, value := range d.s.Scan(kv.Prefix([]byte{bookmarkPrefix})) {
		position, err := number(key, value)
		if err == nil {
			err = d.fn(&Item{Kind: BookmarkItem, Name: string(key[1:]), Position: position})
		}
		if err != nil {
			return err
		}
	}
	return d.s.Err()
}

func (d *dump) events() error {
	var key []byte
	for k, value := range d.s.Scan(allEvents) {
		position, _ := kv.LastUint64(k)
		var c decoder
		if err := c.add(position, value); err != nil {
			return err
		}
		e := &c.events[0]
		if d.streams && e.Version > 0 {
			d.indexed++
			key = appendStreamKey(key[:0], e.Stream, e.Version)
			index, err := d.s.Get(key)
			if at, _ := kv.LastUint64(index); err != nil || at != position {
				return corrupt(fmt.Errorf("event %d is not version %d of stream %q in the index: %w", position,
					e.Version, e.Stream, err))
			}
		}
		if err := d.fn(&Item{Kind: EventItem, Event: *e}); err != nil {
			return err
		}
	}
	return d.s.Err()
}

// ids merges the two generations that are looked up.
func (d *dump) ids() (err error) {
	c, err := readCounter(d.s)
	if err != nil {
		return err
	}
	generation := func(g uint64) *kv.Iterator { return d.s.Iter(kv.Prefix(appendIDKey(nil, g, ""))) }
	before, now := generation(max(c.generation, 1)-1), generation(c.generation)
	defer func() { err = errors.Join(err, before.Close(), now.Close()) }()
	const head = 9 // bytes before the id
	moreBefore, moreNow := c.generation > 0 && before.Next(), now.Next()
	for moreBefore || moreNow {
		it, more := now, &moreNow
		if moreBefore && (!moreNow || string(before.Key()[head:]) < string(now.Key()[head:])) {
			it, more = before, &moreBefore
		}
		k, err := parseKnown(it.Key(), it.Value())
		if err == nil {
			err = d.fn(&Item{Kind: IDItem, Name: string(it.Key()[head:]), Position: k.position, Version: k.version,
				Sum: k.sum})
		}
		if err != nil {
			return err
		}
		*more = it.Next()
	}
	return errors.Join(before.Err(), now.Err())
}

func (d *dump) leases() error {
	for key := range d.s.Keys(kv.Prefix([]byte{leasePrefix})) {
		name := string(key[1:])
		until, holder, err := readLease(d.s, name)
		if err == nil {
			err = d.fn(&Item{Kind: LeaseItem, Name: name, Holder: holder, Until: until})
		}
		if err != nil {
			return err
		}
	}
	return d.s.Err()
}

func (d *dump) parked() error {
	for key, value := range d.s.Scan(kv.Prefix([]byte{parkedPrefix})) {
		name, rest, ok := kv.CutString(key[1:])
		position, isNumber := kv.LastUint64(rest)
		if !ok || !isNumber || len(rest) != 8 {
			return corrupt(fmt.Errorf("key %q is not that of a parked event", key))
		}
		if err := d.fn(&Item{Kind: ParkedItem, Name: name, Position: position, Cause: string(value)}); err != nil {
			return err
		}
	}
	return d.s.Err()
}

// ended finds the streams that only the index knows, whose last entry stays when events are
// removed, also if the stream goes on. All other entries are of events.
func (d *dump) ended() error {
	entries, removed := 0, 0
	first, below := uint64(math.MaxUint64), truncatedBelow(d.s)
	for key := range d.s.Keys(allEvents) {
		first, _ = kv.LastUint64(key)
		break
	}
	last := Item{Kind: EndedItem}
	end := func() error {
		if last.Version == 0 {
			return nil
		}
		there, err := d.s.Has(appendEventKey(nil, last.Position))
		if there || err != nil {
			return err
		}
		if last.Position >= below {
			return corrupt(fmt.Errorf("stream %q names event %d, which is not there", last.Name, last.Position))
		}
		return d.fn(&last)
	}
	for key, value := range d.s.Scan(kv.Prefix([]byte{streamPrefix})) {
		name, rest, ok := kv.CutString(key[1:])
		version, isNumber := kv.LastUint64(rest)
		if !ok || !isNumber || len(rest) != 8 {
			return corrupt(fmt.Errorf("key %q is not that of a stream", key))
		}
		position, err := number(key, value)
		if err == nil && name != last.Name {
			err = end()
		}
		if err != nil {
			return err
		}
		last.Name, last.Version, last.Position = name, version, position
		if entries++; position < min(first, below) {
			removed++
		}
	}
	if err := errors.Join(d.s.Err(), end()); err != nil {
		return err
	}
	if entries != d.indexed+removed {
		return corrupt(fmt.Errorf("the index of streams has %d entries for %d events", entries, d.indexed+removed))
	}
	return nil
}

// Restore writes an item that Dump gave, of the same log or another, into the log in tx, which is
// not open elsewhere. A log gets its items in the order of Dump, in as many transactions as one
// likes; as long as items are missing it is not to be used. An event that is there already is a
// Conflict.
func Restore(tx *kv.Tx, p *Item) error {
	switch p.Kind {
	case HeadItem:
		return tx.Put(metaKey, meta{Streams: p.Streams, Floor: p.Position}.encode())
	case BookmarkItem:
		return tx.Put(bookmarkKey(p.Name), kv.AppendUint64(nil, p.Position))
	case EventItem:
		return restoreEvent(tx, &p.Event)
	case IDItem:
		value := appendKnown(nil, known{p.Position, p.Version, p.Sum})
		// they become the generation before the one that is being filled
		counter := kv.AppendUint64(kv.AppendUint64(nil, 1), 0)
		return errors.Join(tx.Put(appendIDKey(nil, 0, p.Name), value), tx.Put(counterKey, counter))
	case LeaseItem:
		return tx.Put(leaseKey(p.Name), append(kv.AppendUint64(nil, uint64(p.Until)), p.Holder...))
	case ParkedItem:
		return tx.Put(parkedKey(p.Name, p.Position), []byte(p.Cause))
	}
	return restoreEnded(tx, p)
}

func restoreEvent(tx *kv.Tx, e *Event) error {
	key := appendEventKey(nil, e.Position)
	if there, err := tx.Has(key); there || err != nil {
		return errors.Join(err, &kv.Error{Op: "restore", Kind: kv.Conflict,
			Err: fmt.Errorf("event %d is there already", e.Position), Hint: "restore into an empty log"})
	}
	d := Draft{Type: e.Type, Data: e.Data, Time: e.Time, ID: e.ID, Meta: e.Meta}
	err := checkDraft(&d, e.Time, "")
	if err == nil && e.Version > 0 {
		err = tx.Put(appendStreamKey(nil, e.Stream, e.Version), kv.AppendUint64(nil, e.Position))
	}
	if err != nil {
		return err
	}
	return tx.Put(key, appendEnvelope(nil, e.Version, e.Stream, &d, e.Time))
}

// restoreEnded has the index name an event below the first one that is there.
func restoreEnded(tx *kv.Tx, p *Item) error {
	first := uint64(0)
	for key := range tx.Keys(allEvents) {
		first, _ = kv.LastUint64(key)
		break
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if first < 2 {
		return corrupt(fmt.Errorf("stream %q has ended, and event %d is the first", p.Name, first))
	}
	return errors.Join(tx.Put(appendStreamKey(nil, p.Name, p.Version), kv.AppendUint64(nil, first-1)),
		tx.Put(truncatedKey, kv.AppendUint64(nil, first)))
}
