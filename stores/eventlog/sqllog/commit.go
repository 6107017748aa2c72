package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
)

// errReserve rolls a transaction back that needs positions reserved first.
var errReserve = errors.New("positions must be reserved")

// Commit implements eventlog.Backend. A reservation must be durable before positions are given out,
// so it is a transaction of its own.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*eventlog.Pending) error {
	for {
		if isSingle(group, b.streams) {
			if done, err := b.commitSingle(ctx, d, group[0]); done || err != nil {
				return b.wrap("append", err)
			}
		}
		var needed uint64
		err := b.transaction(ctx, d, func() error {
			s, err := b.readState()
			if err == nil {
				needed, err = b.append(s, group)
			}
			if err == nil && b.mustReserve(d) && needed > max(s.Reserved, s.Floor) {
				err = errReserve
			}
			return err
		})
		if err != errReserve {
			return b.wrap("append", err)
		}
		if err := b.reserve(ctx, needed); err != nil {
			return b.wrap("append", err)
		}
	}
}

// isSingle reports whether a group is one event that is appended whatever there is.
func isSingle(group []*eventlog.Pending, streams bool) bool {
	p := group[0]
	return len(group) == 1 && len(p.Drafts) == 1 && p.More == nil && p.Expected == eventlog.Any &&
		(p.Stream == "" || !streams) && !hasMore(p.Drafts[0])
}

// mustReserve reports whether appends of class d need their positions reserved.
func (b *backend) mustReserve(d kv.Durability) bool { return d != kv.Synced && b.block > 0 }

// commitSingle appends one event by one statement, which is a transaction of its own: AUTOINCREMENT
// gives it the position. It is not done if positions must be reserved first.
func (b *backend) commitSingle(ctx context.Context, d kv.Durability, p *eventlog.Pending) (done bool, err error) {
	p.Appended, p.Err = eventlog.Appended{}, nil
	draft := &p.Drafts[0]
	var result sql.Result
	err = b.inTurn(ctx, d, func() error {
		return b.file.Committed(b.file.Retry(ctx, func() (err error) {
			result, err = b.single.ExecContext(context.Background(), p.Stream, draft.Type, intables.Stored(draft.Data),
				draft.Time.UnixNano(),
				!b.mustReserve(d))
			return err
		}))
	})
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		return false, err
	}
	id, err := result.LastInsertId()
	p.Appended = eventlog.Appended{First: uint64(id), Last: uint64(id)}
	return true, err
}

// reserve reserves a block above assigned.
func (b *backend) reserve(ctx context.Context, assigned uint64) error {
	err := b.transaction(ctx, kv.Synced, func() error {
		return b.exec(`UPDATE eventlog SET reserved = max(reserved, ?)`, int64(assigned+b.block))
	})
	if err == nil {
		b.block = eventlog.NextBlock(b.block)
	}
	return err
}

// skipReserved gives up the positions that are reserved or acknowledged: a crash may have lost the
// events that had them. That another process is still using them cannot be known, and costs it no
// more than a new reservation.
func (b *backend) skipReserved(ctx context.Context) error {
	var behind bool
	const skipped = `max((SELECT reserved FROM eventlog), (SELECT ifnull(max(position), 0) FROM subscriptions))`
	err := b.row(`SELECT seq < ` + skipped + ` FROM sqlite_sequence WHERE name = 'events'`).Scan(&behind)
	if err != nil || !behind {
		return err
	}
	return b.transaction(ctx, kv.Synced, func() error {
		return b.exec(`UPDATE sqlite_sequence SET seq = max(seq, ` + skipped + `) WHERE name = 'events'`)
	})
}

// giveBack ends the reservation at the last position given out. A process that still uses it
// reserves again.
func (b *backend) giveBack() error {
	if s, err := b.readState(); err != nil || s.Reserved <= s.Floor || b.block == 0 {
		return err
	}
	return b.transaction(context.Background(), kv.Synced, func() error {
		s, err := b.readState()
		if err != nil {
			return err
		}
		return b.exec(`UPDATE eventlog SET reserved = min(reserved, ?)`, int64(s.Floor))
	})
}
