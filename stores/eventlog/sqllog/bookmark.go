package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
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

// SetBookmarks implements eventlog.Backend.
func (b *backend) SetBookmarks(ctx context.Context, d kv.Durability, marks []*eventlog.Mark) error {
	err := b.transaction(ctx, d, func() error {
		for _, m := range marks {
			result, err := b.mark.ExecContext(context.Background(), int64(m.Position), m.Name)
			if err = changed(result, err, m.Name); err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			m.Err = b.wrap("ack", err)
		}
		return nil
	})
	return b.wrap("ack", err)
}

// DeleteBookmark implements eventlog.Backend.
func (b *backend) DeleteBookmark(ctx context.Context, name string) error {
	err := b.transaction(ctx, kv.Synced, func() error {
		result, err := b.writer.ExecContext(context.Background(), `DELETE FROM subscriptions WHERE name = ?`, name)
		return changed(result, err, name)
	})
	return b.wrap("unsubscribe", err)
}

// changed returns the NotFound of a statement that found no subscription called name.
func changed(result sql.Result, err error, name string) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return eventlog.NoSubscription(name)
}

// Bookmarks implements eventlog.Backend.
func (b *backend) Bookmarks(ctx context.Context) (all []eventlog.Bookmark, err error) {
	rows, err := b.read.bookmarks.QueryContext(ctx)
	if err != nil {
		return nil, b.wrap("subscriptions", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m eventlog.Bookmark
		if err := rows.Scan(&m.Name, &m.Position); err != nil {
			return nil, b.wrap("subscriptions", err)
		}
		all = append(all, m)
	}
	return all, b.wrap("subscriptions", rows.Err())
}
