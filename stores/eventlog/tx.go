package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// Tx is a log within a transaction of the program's own: events and the data that they are about
// are committed together, or not at all. What its methods do can be read, and wakes those who wait,
// when the transaction is committed. After an error other than a Conflict of Append the transaction
// commits nothing.
//
//	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
//		if err := tx.Put(orderKey, order); err != nil {
//			return err
//		}
//		events, err := log.In(tx)
//		if err != nil {
//			return err
//		}
//		_, err = events.Append("order-17", eventlog.Any, eventlog.Draft{Type: "OrderPlaced"})
//		return err
//	})
//
// A transaction with events pays for its own commit: it shares none with other appends. One whose
// class is weaker than Synced needs positions that are reserved: see [Log.Reserve].
type Tx struct {
	log    *Log
	joined Joined
	acked  []*Subscription // by Ack
}

// In returns the log within tx, a transaction of the store that [Open] was given, whatever its
// namespace. For a log in SQL tables see sqllog.In.
func (l *Log) In(tx *kv.Tx) (*Tx, error) {
	b, ok := l.backend.(*kvBackend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported,
			Err:  errors.New("the log is not kept in a key-value store"),
			Hint: "keep it in one, beside the data: eventlog.Open(ctx, db, nil); or join an SQL transaction: sqllog.In(tx, log)"}
	}
	joined, err := b.join(tx)
	if err != nil {
		return nil, err
	}
	return l.Join(joined)
}

// Join returns the log within a transaction that its backend has joined. Programs call In, or
// sqllog.In.
func (l *Log) Join(joined Joined) (*Tx, error) {
	if err := l.open("join"); err != nil {
		return nil, err
	}
	return &Tx{log: l, joined: joined}, nil
}

// Backend returns what keeps the log. It is for backends.
func (l *Log) Backend() Backend { return l.backend }

// Append is [Log.Append] within the transaction. It sees what the transaction appended before.
func (t *Tx) Append(stream string, expected Expected, events ...Draft) (Appended, error) {
	p := Pending{Stream: stream, Expected: expected, Drafts: events}
	err := t.append(&p)
	if err != nil {
		p.Appended = Appended{}
		if kv.KindOf(err) != kv.Conflict {
			t.joined.Fail(err) // also of one that was refused at once: the data must not be there without it
		}
	}
	return p.Appended, err
}

func (t *Tx) append(p *Pending) error {
	if err := t.log.check(p.Stream, p.Expected); err != nil {
		return err
	}
	var err error
	if p.Drafts, _, err = checked(nil, p.Drafts); err != nil {
		return err
	}
	if err := t.log.open("append"); err != nil {
		return err
	}
	refill, err := t.joined.Append([]*Pending{p})
	if err != nil {
		return err
	}
	if refill > 0 {
		t.log.refill(refill)
	}
	t.joined.OnCommit(t.log.bell.Ring)
	return nil
}

// Ack is [Subscription.Ack] within the transaction: what was made of the events and how far that
// has come are committed together, so that no event is dealt with twice. After a rollback, and
// after a crash, the events come again from the next Subscribe; [Subscription.Rewind] has s return
// them.
//
// Where another one of that name, in this program or another, has acknowledged the event meanwhile,
// or some of those that s returned, that is a Conflict, with an [*AcknowledgedError]: return it, so
// that nothing is committed. Next then goes on after what is acknowledged.
func (t *Tx) Ack(s *Subscription, position uint64) error {
	err := t.log.open("ack")
	if err == nil && s.log.backend != t.log.backend {
		err = invalid("ack", errors.New("a subscription of another log"), "use one that this log returned")
	}
	if err == nil && !slices.Contains(t.acked, s) {
		var at uint64
		if at, err = t.joined.Bookmark(s.name); err == nil {
			err = s.follows(at, position)
		}
		t.acked = append(t.acked, s)
	}
	if err == nil {
		err = t.joined.Ack(s.name, position)
	}
	if err != nil {
		t.joined.Fail(err)
		return err
	}
	t.joined.OnCommit(func() { s.acknowledged(position) })
	return nil
}

// MaxReserve is how many positions [Log.Reserve] reserves at most. Those that a crash loses are
// gone, and a log has no more than 1<<63.
const MaxReserve = 1 << 40

// Reserve makes sure that n positions are reserved, durably. Appends outside transactions see to
// that themselves; one in a transaction whose class is weaker than Synced cannot, as the
// reservation must be durable before. A program that has such calls Reserve when it starts: later
// the log reserves more in time, unless a transaction appends thousands of events. More than
// MaxReserve are Invalid.
func (l *Log) Reserve(ctx context.Context, n uint64) error {
	if n > MaxReserve {
		return invalid("reserve", fmt.Errorf("%d positions", n), fmt.Sprintf("give %d at most", uint64(MaxReserve)))
	}
	p := Pending{Reserve: n}
	l.appends.Do(ctx, kv.Buffered, &groupcommit.Call[Pending]{Work: &p})
	return p.Err
}

// refill reserves n positions in the background, unless that is being done.
func (l *Log) refill(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refilling || l.open("") != nil {
		return
	}
	l.refilling = true
	l.background.Go(func() {
		_ = l.Reserve(context.Background(), n) // where it fails, an append that needs it says so
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refilling = false
	})
}
