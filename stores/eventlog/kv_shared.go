package eventlog

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv"
)

// errReserve rolls a transaction back that needs positions reserved first.
var errReserve = errors.New("positions must be reserved")

// commitShared commits a group in a store that other processes write too: what the plan builds on
// is read in its own transaction. A reservation needs another class of durability, hence a
// transaction of its own, before. A store that is Remote may lose weaker commits while the log is
// open, after which their positions would be given again: there all are of the strongest class.
func (b *kvBackend) commitShared(ctx context.Context, d kv.Durability, group []*Pending) error {
	class := d
	if b.db.Caps().Remote {
		class = b.strongest
	}
	for {
		var needed uint64
		err := b.db.Update(ctx, class, func(tx *kv.Tx) error { return b.planShared(tx, d, group, &needed) })
		if err == errUnchanged {
			return nil
		}
		if err != errReserve {
			return err
		}
		if err := b.reserveShared(ctx, needed); err != nil {
			return err
		}
	}
}

func (b *kvBackend) planShared(tx *kv.Tx, d kv.Durability, group []*Pending, needed *uint64) error {
	m, last, err := readState(tx, b.streams)
	if err != nil {
		return err
	}
	plan := plan{b: b, tx: tx, last: last, assigned: max(last, m.Floor), versions: map[string]uint64{}}
	if err := plan.group(context.Background(), group); err != nil {
		return err
	}
	if *needed = plan.assigned + plan.reserve; plan.reserve == 0 && plan.last == last {
		if plan.repeated {
			return tx.Put(metaKey, m.again().encode())
		}
		return errUnchanged
	}
	if b.mustReserve(d) && *needed > m.Reserved {
		return errReserve
	}
	if m.Format == format || plan.last == last {
		return nil
	}
	return tx.Put(metaKey, m.encode())
}

func readState(tx *kv.Tx, streams bool) (m meta, last uint64, err error) {
	if m, err = readMeta(tx.Snapshot, streams); err == nil {
		last, err = lastEvent(tx.Snapshot)
	}
	return m, last, err
}

// reserveShared reserves a block above assigned.
func (b *kvBackend) reserveShared(ctx context.Context, assigned uint64) error {
	err := b.changeMeta(ctx, func(m *meta, _ uint64) { m.Reserved = max(m.Reserved, assigned+b.block) })
	if err == nil {
		b.block = NextBlock(b.block)
	}
	return err
}

// skipReserved gives up the positions that are reserved or acknowledged: a crash may have lost the
// events that had them. That another process is still using them cannot be known, and costs it no
// more than a new reservation.
func (b *kvBackend) skipReserved(ctx context.Context, acknowledged uint64) error {
	return b.changeMeta(ctx, func(m *meta, last uint64) { m.Floor = max(m.Floor, m.Reserved, last, acknowledged) })
}

// giveBack ends the reservation at the last position given out. A process that still uses it
// reserves again.
func (b *kvBackend) giveBack(ctx context.Context) error {
	if b.block == 0 {
		return nil
	}
	return b.changeMeta(ctx, func(m *meta, last uint64) { m.Reserved = min(m.Reserved, max(m.Floor, last)) })
}

var errUnchanged = errors.New("unchanged")

func (b *kvBackend) changeMeta(ctx context.Context, change func(m *meta, last uint64)) error {
	err := b.db.Update(ctx, b.strongest, func(tx *kv.Tx) error {
		m, last, err := readState(tx, b.streams)
		if err != nil {
			return err
		}
		before := m
		if change(&m, last); m == before {
			return errUnchanged
		}
		return tx.Put(metaKey, m.encode())
	})
	if err == errUnchanged {
		return nil
	}
	return err
}
