package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// Bookmark implements eventlog.Backend.
func (b *backend) Bookmark(ctx context.Context, name string) (position uint64, err error) {
	err = b.read.bookmark.QueryRowContext(ctx, name).Scan(&position)
	if !errors.Is(err, sql.ErrNoRows) {
		return position, b.wrap("subscribe", err)
	}
	err = b.transaction(ctx, kv.Synced, func() error {
		return b.exec(`INSERT INTO subscriptions (name, position) VALUES (?, 0) ON CONFLICT DO NOTHING`, name)
	})
	if err == nil {
		err = b.read.bookmark.QueryRowContext(ctx, name).Scan(&position)
	}
	return position, b.wrap("subscribe", err)
}

// SetBookmarks implements eventlog.Backend. One bookmark that nobody must hold is one statement,
// which is a transaction of its own.
func (b *backend) SetBookmarks(ctx context.Context, d kv.Durability, marks []*eventlog.Mark) (err error) {
	if len(marks) == 1 && marks[0].Holder == "" {
		err = b.inTurn(ctx, d, func() error {
			return b.file.Committed(b.file.Retry(ctx, func() error { return b.raiseAll(marks) }))
		})
	} else {
		err = b.transaction(ctx, d, func() error { return b.raiseAll(marks) })
	}
	return b.wrap("ack", err)
}

// raiseAll raises those positions that can be raised, and sets Err of each.
func (b *backend) raiseAll(marks []*eventlog.Mark) error {
	for _, m := range marks {
		err := b.raise(m)
		if m.Err = b.wrap("ack", err); err == nil {
			continue
		}
		if kind := sqlite.KindOf(err); kind != kv.NotFound && kind != kv.Conflict {
			return err
		}
	}
	return nil
}

// raise raises the position of a subscription, which its holder must have.
func (w *writing) raise(m *eventlog.Mark) error {
	if m.Holder != "" {
		var holder string
		err := w.mark.on.QueryRowContext(context.Background(), `SELECT holder FROM leases WHERE name = ?`,
			m.Name).Scan(&holder)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if holder != m.Holder {
			return eventlog.NotHeld(m.Name)
		}
	}
	result, err := w.mark.exec(int64(m.Position), m.Name)
	return changed(result, err, eventlog.NoSubscription(m.Name))
}

// Lease implements eventlog.Backend.
func (b *backend) Lease(ctx context.Context, name, holder string, now, until int64) error {
	err := b.transaction(ctx, kv.Flushed, func() error {
		if err := b.exec(`INSERT INTO subscriptions (name, position) VALUES (?, 0) ON CONFLICT DO NOTHING`,
			name); err != nil {
			return err
		}
		result, err := b.writer.ExecContext(context.Background(),
			`INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?4)
			ON CONFLICT DO UPDATE SET holder = ?2, until = ?4 WHERE holder = ?2 OR until <= ?3`, name, holder, now,
			until)
		return changed(result, err, eventlog.NotHeld(name))
	})
	return b.wrap("lease", err)
}

// Leases implements eventlog.Backend. SQLite: the length of a text ends at its first byte that is
// 0, that of a blob does not.
func (b *backend) Leases(ctx context.Context, prefix string) ([]eventlog.Leased, error) {
	rows, err := b.readers.QueryContext(ctx, `SELECT name, position, ifnull(until, 0) FROM subscriptions LEFT JOIN leases USING (name)
		WHERE substr(CAST(name AS BLOB), 1, length(?1)) = ?1 ORDER BY name`, []byte(prefix))
	return list(b, "leases", rows, err, func(l *eventlog.Leased) []any { return []any{&l.Name, &l.Position, &l.Until} })
}

// DeleteBookmark implements eventlog.Backend.
func (b *backend) DeleteBookmark(ctx context.Context, name string) error {
	err := b.transaction(ctx, kv.Synced, func() error {
		result, err := b.writer.ExecContext(context.Background(), `DELETE FROM subscriptions WHERE name = ?`, name)
		if err := changed(result, err, eventlog.NoSubscription(name)); err != nil {
			return err
		}
		return errors.Join(b.exec(`DELETE FROM parked WHERE name = ?`, name), b.exec(`DELETE FROM leases WHERE name = ?`, name))
	})
	return b.wrap("unsubscribe", err)
}

// changed returns notFound after a statement that changed nothing.
func changed(result sql.Result, err, notFound error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return notFound
}

// Bookmarks implements eventlog.Backend.
func (b *backend) Bookmarks(ctx context.Context) ([]eventlog.Bookmark, error) {
	rows, err := b.read.bookmarks.QueryContext(ctx)
	return list(b, "subscriptions", rows, err, func(m *eventlog.Bookmark) []any { return []any{&m.Name, &m.Position} })
}

// Park implements eventlog.Backend.
func (b *backend) Park(ctx context.Context, d kv.Durability, name string, position uint64, cause string) error {
	err := b.transaction(ctx, d, func() error {
		return b.exec(`INSERT OR REPLACE INTO parked (name, position, cause) VALUES (?, ?, ?)`, name, int64(position),
			cause)
	})
	return b.wrap("park", err)
}

// Parked implements eventlog.Backend.
func (b *backend) Parked(ctx context.Context, name string) ([]eventlog.Parked, error) {
	rows, err := b.readers.QueryContext(ctx, `SELECT position, cause FROM parked WHERE name = ? ORDER BY position`,
		name)
	return list(b, "parked", rows, err, func(p *eventlog.Parked) []any { return []any{&p.Event.Position, &p.Err} })
}

// Unpark implements eventlog.Backend.
func (b *backend) Unpark(ctx context.Context, d kv.Durability, name string, position uint64) error {
	err := b.transaction(ctx, d, func() error {
		result, err := b.writer.ExecContext(context.Background(), `DELETE FROM parked WHERE name = ? AND position = ?`,
			name, int64(position))
		return changed(result, err, eventlog.NotParked(name, position))
	})
	return b.wrap("unpark", err)
}
