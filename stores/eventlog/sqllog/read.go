package sqllog

import (
	"context"
	"database/sql"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

const (
	selectEvents  = `SELECT position, stream, version, type, data, time, extra FROM events `
	selectVersion = `SELECT coalesce((SELECT max(version) FROM events WHERE stream = ?1 AND version IS NOT NULL),
		(SELECT version FROM truncated WHERE stream = ?1))`
)

// statements are those of the readers.
type statements struct {
	load, loadBack, stream, streamBack          *sql.Stmt
	last, version, streams, bookmark, bookmarks *sql.Stmt
}

func (b *backend) prepareReaders() error {
	s := &b.read
	// SQLite: a statement whose LIMIT is a bare parameter is compiled anew for each value.
	const span, spanOf = `WHERE position BETWEEN ? AND ?`, `WHERE stream = ? AND version BETWEEN ? AND ?`
	for stmt, query := range map[**sql.Stmt]string{
		&s.load:       selectEvents + span + ` ORDER BY position LIMIT ?3 + 0`,
		&s.loadBack:   selectEvents + span + ` ORDER BY position DESC LIMIT ?3 + 0`,
		&s.stream:     selectEvents + spanOf + ` ORDER BY version LIMIT ?4 + 0`,
		&s.streamBack: selectEvents + spanOf + ` ORDER BY version DESC LIMIT ?4 + 0`,
		&s.last:       `SELECT max(position) FROM events`,
		&s.version:    selectVersion,
		&s.streams: `SELECT stream, max(version) FROM events WHERE version IS NOT NULL AND stream > ?1 AND stream >= ?2
				AND (?3 OR stream < ?4) GROUP BY stream
			UNION ALL SELECT stream, version FROM truncated WHERE stream > ?1 AND stream >= ?2 AND (?3 OR stream < ?4)
				AND NOT EXISTS (SELECT 1 FROM events WHERE events.stream = truncated.stream AND version IS NOT NULL)
			ORDER BY stream LIMIT ?5 + 0`,
		&s.bookmark:  `SELECT position FROM subscriptions WHERE name = ?`,
		&s.bookmarks: `SELECT name, position FROM subscriptions ORDER BY name`,
	} {
		var err error
		if *stmt, err = b.readers.Prepare(query); err != nil {
			return err
		}
	}
	return nil
}

// Load implements eventlog.Backend.
func (b *backend) Load(ctx context.Context, r eventlog.Span) ([]eventlog.Event, error) {
	stmt := b.read.load
	if r.Reverse {
		stmt = b.read.loadBack
	}
	rows, err := stmt.QueryContext(ctx, int64(r.From), int64(r.To), r.Limit)
	events, err := collect(rows, err, r)
	return events, b.wrap("load", err)
}

// LoadStream implements eventlog.Backend.
func (b *backend) LoadStream(ctx context.Context, stream string, r eventlog.Span) ([]eventlog.Event, error) {
	stmt := b.read.stream
	if r.Reverse {
		stmt = b.read.streamBack
	}
	rows, err := stmt.QueryContext(ctx, stream, int64(r.From), int64(r.To), r.Limit)
	events, err := collect(rows, err, r)
	return events, b.wrap("load stream", err)
}

// presize is up to how many events memory is taken before they are read.
const presize = 1024

// collect reads the events of a span from the rows of a query, which ended with err.
func collect(rows *sql.Rows, err error, r eventlog.Span) (events []eventlog.Event, _ error) {
	var version sql.Null[uint64]
	var stream, kind, more sql.RawBytes
	var at int64
	err = sqlite.Rows(rows, err, func() error {
		if events == nil {
			events = make([]eventlog.Event, 0, min(uint64(r.Limit), r.To-r.From+1, presize))
		}
		events = append(events, eventlog.Event{})
		e := &events[len(events)-1]
		if err := rows.Scan(&e.Position, &stream, &version, &kind, &e.Data, &at, &more); err != nil {
			return err
		}
		e.Version = version.V
		e.Time = time.Unix(0, at).UTC()
		if len(e.Data) == 0 {
			e.Data = nil
		}
		if err := intables.ParseExtra(e, more); err != nil {
			return err
		}
		var before eventlog.Event
		if len(events) > 1 {
			before = events[len(events)-2]
		}
		e.Stream, e.Type = reuse(before.Stream, stream), reuse(before.Type, kind)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// reuse returns text as a string, which is the one before if that is equal.
func reuse(before string, text []byte) string {
	if string(text) == before {
		return before
	}
	return string(text)
}

// LastPosition implements eventlog.Backend.
func (b *backend) LastPosition(ctx context.Context) (uint64, error) {
	var last sql.Null[uint64]
	err := b.read.last.QueryRowContext(ctx).Scan(&last)
	return last.V, b.wrap("last position", err)
}

// StreamVersion implements eventlog.Backend.
func (b *backend) StreamVersion(ctx context.Context, stream string) (uint64, error) {
	var version sql.Null[uint64]
	err := b.read.version.QueryRowContext(ctx, stream).Scan(&version)
	return version.V, b.wrap("stream version", err)
}

// Streams implements eventlog.Backend.
func (b *backend) Streams(ctx context.Context, prefix, after string, limit int) ([]eventlog.Stream, error) {
	end := kv.PrefixEnd([]byte(prefix))
	rows, err := b.read.streams.QueryContext(ctx, after, prefix, end == nil, string(end), limit)
	return list(b, "streams", rows, err, func(s *eventlog.Stream) []any { return []any{&s.Name, &s.Version} })
}

// list returns the rows of a query that ended with err; fields are those that the columns go to.
func list[T any](b *backend, op string, rows *sql.Rows, err error, fields func(*T) []any) (all []T, _ error) {
	err = sqlite.Rows(rows, err, func() error {
		var one T
		err := rows.Scan(fields(&one)...)
		all = append(all, one)
		return err
	})
	return all, b.wrap(op, err)
}
