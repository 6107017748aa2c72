package sqllog

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// Dump gives fn all items of the log in the database of c, as [eventlog.Dump] does. One without the
// tables of a log has none. Call it within a transaction, so that all is of one moment.
func Dump(ctx context.Context, c *sql.Conn, fn func(*eventlog.Item) error) error {
	d := dump{ctx: ctx, on: c, fn: fn}
	begun, err := d.begun()
	if err != nil || !begun {
		return err
	}
	for _, step := range []func() error{d.head, d.bookmarks, d.events, d.ids, d.leases, d.parked, d.ended} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// dump is one Dump.
type dump struct {
	ctx context.Context
	on  *sql.Conn
	fn  func(*eventlog.Item) error
}

// begun reports whether there are the tables, in the format that is known.
func (d *dump) begun() (bool, error) {
	stored, err := sqlite.Format(d.ctx, d.on, "eventlog")
	if err != nil || stored == 0 {
		return false, err
	}
	if stored != format {
		err = &kv.Error{Op: "dump log", Kind: kv.Unsupported, Err: fmt.Errorf("format %d, this program knows %d", stored, format),
			Hint: "open the log once, which changes an older one; for a newer one use a newer program"}
	}
	return true, err
}

func (d *dump) head() error {
	p := eventlog.Item{Kind: eventlog.HeadItem}
	err := d.on.QueryRowContext(d.ctx, `SELECT streams, max(reserved, (SELECT ifnull(max(seq), 0) FROM sqlite_sequence
		WHERE name = 'events'), (SELECT ifnull(max(position), 0) FROM events),
		(SELECT ifnull(max(position), 0) FROM subscriptions)) FROM eventlog`).Scan(&p.Streams, &p.Position)
	if err != nil || p.Position == 0 {
		return err
	}
	return d.fn(&p)
}

// each gives fn an item of that kind for each row of a query, whose columns go to fields.
func (d *dump) each(kind eventlog.ItemKind, query string, fields func(*eventlog.Item) []any) error {
	return sqlite.Each(d.ctx, d.on, eventlog.Item{Kind: kind}, fields, d.fn, query)
}

func (d *dump) bookmarks() error {
	return d.each(eventlog.BookmarkItem, `SELECT name, position FROM subscriptions ORDER BY name`,
		func(p *eventlog.Item) []any { return []any{&p.Name, &p.Position} })
}

// dumpStep is how many events are in memory at once.
const dumpStep = 32

func (d *dump) events() error {
	last := uint64(0)
	for {
		rows, err := d.on.QueryContext(d.ctx, selectEvents+`WHERE position > ? ORDER BY position LIMIT 0 + ?`,
			int64(last), dumpStep)
		events, err := collect(rows, err, eventlog.Span{From: 1, To: dumpStep, Limit: dumpStep})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if err := d.fn(&eventlog.Item{Kind: eventlog.EventItem, Event: e}); err != nil {
				return err
			}
			last = e.Position
		}
	}
}

func (d *dump) ids() error {
	return d.each(eventlog.IDItem, `SELECT id, position, version, sum FROM ids ORDER BY id`,
		func(p *eventlog.Item) []any { return []any{&p.Name, &p.Position, &p.Version, &p.Sum} })
}

// leases passes over those that were given back.
func (d *dump) leases() error {
	return d.each(eventlog.LeaseItem, `SELECT name, holder, until FROM leases WHERE until <> 0 ORDER BY name`,
		func(p *eventlog.Item) []any { return []any{&p.Name, &p.Holder, &p.Until} })
}

func (d *dump) parked() error {
	return d.each(eventlog.ParkedItem, `SELECT name, position, cause FROM parked ORDER BY name, position`,
		func(p *eventlog.Item) []any { return []any{&p.Name, &p.Position, &p.Cause} })
}

func (d *dump) ended() error {
	return d.each(eventlog.EndedItem, `SELECT stream, version FROM truncated WHERE NOT EXISTS
			(SELECT 1 FROM events WHERE events.stream = truncated.stream AND version IS NOT NULL) ORDER BY stream`,
		func(p *eventlog.Item) []any { return []any{&p.Name, &p.Version} })
}

// Create makes the tables of an empty log in the database of c, unless they are there, within the
// caller's transaction.
func Create(ctx context.Context, c *sql.Conn) error {
	begun, err := (&dump{ctx: ctx, on: c}).begun()
	if err != nil || begun {
		return err
	}
	_, err = c.ExecContext(ctx, tables+newTables+`; INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 0);
		INSERT INTO eventlog (id, format, streams, reserved) VALUES (1, ?, 0, 0)`, format)
	return err
}

// Restore writes an item into the log in the database of c, as [eventlog.Restore] does, within the
// caller's transaction.
func Restore(ctx context.Context, c *sql.Conn, p *eventlog.Item) error {
	exec := func(query string, args ...any) error {
		_, err := c.ExecContext(ctx, query, args...)
		return err
	}
	position, version := int64(p.Position), int64(p.Version)
	switch p.Kind {
	case eventlog.HeadItem:
		index := ``
		if p.Streams {
			index = versionIndex
		}
		return exec(`UPDATE eventlog SET streams = ?; UPDATE sqlite_sequence SET seq = ? WHERE name = 'events';`+index,
			p.Streams, position)
	case eventlog.BookmarkItem:
		return exec(`INSERT OR REPLACE INTO subscriptions (name, position) VALUES (?, ?)`, p.Name, position)
	case eventlog.EventItem:
		return restoreEvent(exec, &p.Event)
	case eventlog.IDItem:
		// By its position an id is forgotten no earlier than it would have been: the ids that
		// follow are counted on from the highest.
		return exec(`INSERT INTO ids (n, id, position, version, sum) VALUES (?1, ?2, ?1, ?3, ?4)`, position, p.Name,
			version, p.Sum)
	case eventlog.LeaseItem:
		return exec(`INSERT OR REPLACE INTO leases (name, holder, until) VALUES (?, ?, ?)`, p.Name, p.Holder, p.Until)
	case eventlog.ParkedItem:
		return exec(`INSERT OR REPLACE INTO parked (name, position, cause) VALUES (?, ?, ?)`, p.Name, position, p.Cause)
	}
	return exec(`INSERT OR REPLACE INTO truncated (stream, version) VALUES (?, ?)`, p.Name, version)
}

func restoreEvent(exec func(query string, args ...any) error, e *eventlog.Event) error {
	var version any
	if e.Version > 0 {
		version = int64(e.Version)
	}
	more, err := textOf(e.ID, e.Meta)
	if err != nil {
		return err
	}
	return exec(`INSERT INTO events (position, stream, version, type, data, time, extra) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		int64(e.Position), e.Stream, version, e.Type, intables.Stored(e.Data), e.Time.UnixNano(), more)
}
