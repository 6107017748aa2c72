package pglog

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/postgres"
)

const (
	makeBookmark = `INSERT INTO assay_log_subscriptions (name, position) VALUES ($1, 0) ON CONFLICT DO NOTHING`
	readBookmark = `SELECT position FROM assay_log_subscriptions WHERE name = $1`
	// those who lock several do so in one order
	lockBookmarks  = `SELECT name, holder FROM assay_log_subscriptions WHERE name = ANY($1::bytea[]) ORDER BY name FOR UPDATE`
	raiseBookmarks = `UPDATE assay_log_subscriptions s SET position = m.position FROM
		(SELECT name, max(position) FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) u (name, position, holder)
			WHERE u.holder = '' OR u.holder = (SELECT holder FROM assay_log_subscriptions o WHERE o.name = u.name) GROUP BY name)
			m (name, position)
		WHERE s.name = m.name AND s.position < m.position`
	readBookmarks  = `SELECT name, position FROM assay_log_subscriptions ORDER BY name`
	deleteBookmark = `WITH p AS (DELETE FROM assay_log_parked WHERE name = $1)
		DELETE FROM assay_log_subscriptions WHERE name = $1`

	lease = `INSERT INTO assay_log_subscriptions AS s (name, position, holder, "until") VALUES ($1, 0, $2, $4)
		ON CONFLICT (name) DO UPDATE SET holder = $2, "until" = $4 WHERE s.holder = $2 OR s."until" <= $3`
	readLeases = `SELECT name, position, "until" FROM assay_log_subscriptions WHERE substr(name, 1, length($1::bytea)) = $1 ORDER BY name`

	park = `INSERT INTO assay_log_parked (name, position, cause) VALUES ($1, $2, $3)
		ON CONFLICT (name, position) DO UPDATE SET cause = excluded.cause`
	readParked = `SELECT position, cause FROM assay_log_parked WHERE name = $1 ORDER BY position`
	unpark     = `DELETE FROM assay_log_parked WHERE name = $1 AND position = $2`
)

// Bookmark implements eventlog.Backend.
func (b *backend) Bookmark(ctx context.Context, name string) (position uint64, err error) {
	position, err = one[uint64](ctx, b, "subscribe", readBookmark, []byte(name))
	if !errors.Is(err, pgx.ErrNoRows) {
		return position, err
	}
	if _, err := b.write(ctx, "subscribe", kv.Synced, makeBookmark, []byte(name)); err != nil {
		return 0, err
	}
	return one[uint64](ctx, b, "subscribe", readBookmark, []byte(name))
}

// SetBookmarks implements eventlog.Backend.
func (b *backend) SetBookmarks(ctx context.Context, d kv.Durability, marks []*eventlog.Mark) error {
	return postgres.Wrap("ack", postgres.Again(ctx, func() error {
		var batch pgx.Batch
		begin(&batch, d)
		queueMarks(&batch, marks)
		batch.Queue("COMMIT")
		return b.pool.SendBatch(ctx, &batch).Close()
	}))
}

// queueMarks queues what raises those positions that can be raised, and sets Err of each.
func queueMarks(batch *pgx.Batch, marks []*eventlog.Mark) {
	var names, holders [][]byte
	var positions []int64
	for _, m := range marks {
		names, holders = append(names, []byte(m.Name)), append(holders, []byte(m.Holder))
		positions = append(positions, int64(m.Position))
	}
	batch.Queue(lockBookmarks, names).Query(func(rows pgx.Rows) error {
		held := map[string]string{}
		var name, holder []byte
		_, err := pgx.ForEachRow(rows, []any{&name, &holder}, func() error {
			held[string(name)] = string(holder)
			return nil
		})
		for _, m := range marks {
			switch holder, ok := held[m.Name]; {
			case !ok && m.Holder == "":
				m.Err = postgres.Wrap("ack", eventlog.NoSubscription(m.Name))
			case m.Holder != "" && holder != m.Holder:
				m.Err = postgres.Wrap("ack", eventlog.NotHeld(m.Name))
			default:
				m.Err = nil
			}
		}
		return err
	})
	batch.Queue(raiseBookmarks, names, positions, holders)
}

// Bookmarks implements eventlog.Backend.
func (b *backend) Bookmarks(ctx context.Context) ([]eventlog.Bookmark, error) {
	return collect(ctx, b, "subscriptions", func(row pgx.CollectableRow) (m eventlog.Bookmark, err error) {
		var name []byte
		err = row.Scan(&name, &m.Position)
		m.Name = string(name)
		return m, err
	}, readBookmarks)
}

// DeleteBookmark implements eventlog.Backend.
func (b *backend) DeleteBookmark(ctx context.Context, name string) error {
	n, err := b.write(ctx, "unsubscribe", kv.Synced, deleteBookmark, []byte(name))
	return changed("unsubscribe", n, err, eventlog.NoSubscription(name))
}

// changed returns notFound after a statement that changed nothing.
func changed(op string, n int64, err, notFound error) error {
	if err != nil || n > 0 {
		return err
	}
	return postgres.Wrap(op, notFound)
}

// Lease implements eventlog.Backend.
func (b *backend) Lease(ctx context.Context, name, holder string, now, until int64) error {
	n, err := b.write(ctx, "lease", kv.Flushed, lease, []byte(name), []byte(holder), now, until)
	return changed("lease", n, err, eventlog.NotHeld(name))
}

// Leases implements eventlog.Backend.
func (b *backend) Leases(ctx context.Context, prefix string) ([]eventlog.Leased, error) {
	return collect(ctx, b, "leases", func(row pgx.CollectableRow) (l eventlog.Leased, err error) {
		var name []byte
		err = row.Scan(&name, &l.Position, &l.Until)
		l.Name = string(name)
		return l, err
	}, readLeases, []byte(prefix))
}

// Park implements eventlog.Backend.
func (b *backend) Park(ctx context.Context, d kv.Durability, name string, position uint64, cause string) error {
	_, err := b.write(ctx, "park", d, park, []byte(name), int64(position), []byte(cause))
	return err
}

// Parked implements eventlog.Backend.
func (b *backend) Parked(ctx context.Context, name string) ([]eventlog.Parked, error) {
	return collect(ctx, b, "parked", func(row pgx.CollectableRow) (p eventlog.Parked, err error) {
		var cause []byte
		err = row.Scan(&p.Event.Position, &cause)
		p.Err = string(cause)
		return p, err
	}, readParked, []byte(name))
}

// Unpark implements eventlog.Backend.
func (b *backend) Unpark(ctx context.Context, d kv.Durability, name string, position uint64) error {
	n, err := b.write(ctx, "unpark", d, unpark, []byte(name), int64(position))
	return changed("unpark", n, err, eventlog.NotParked(name, position))
}
