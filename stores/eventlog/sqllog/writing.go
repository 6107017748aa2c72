package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// conn runs statements: the writer's connection, or a transaction of the program's.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// writing is what writes to the tables do within a transaction.
type writing struct {
	streams  bool
	state    query
	version  query
	mark     query
	insert   []query // for as many events as rows says
	whole    query   // one event with all there is to it
	args     []any
	appender intables.Appender
}

// query is a statement, prepared or to be prepared each time. It is not to be interrupted.
type query struct {
	text string
	on   conn
	stmt *sql.Stmt
}

func (q *query) exec(args ...any) (sql.Result, error) {
	if q.stmt != nil {
		return q.stmt.ExecContext(context.Background(), args...)
	}
	return q.on.ExecContext(context.Background(), q.text, args...)
}

func (q *query) row(args ...any) *sql.Row {
	if q.stmt != nil {
		return q.stmt.QueryRowContext(context.Background(), args...)
	}
	return q.on.QueryRowContext(context.Background(), q.text, args...)
}

// rows says how many events one statement inserts, the most first.
var rows = []int{50, 10, 1}

// newWriting returns what writes on a connection.
func newWriting(on conn, streams bool) *writing {
	w := &writing{streams: streams, insert: make([]query, len(rows))}
	w.appender = intables.Appender{Tables: w, Streams: streams}
	w.state = query{on: on, text: `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events'), (SELECT reserved FROM eventlog),
		(SELECT max(position) FROM events)`}
	w.version = query{on: on, text: selectVersion}
	w.mark = query{on: on, text: `UPDATE subscriptions SET position = max(position, ?) WHERE name = ?`}
	w.whole = query{on: on, text: `INSERT INTO events (stream, type, data, time, version, extra) VALUES (?, ?, ?, ?, ?, ?)`}
	// AUTOINCREMENT gives the positions that were planned: nobody else writes meanwhile. Every
	// parameter costs.
	columns, row := `(stream, type, data, time)`, `(?, ?, ?, ?)`
	if streams {
		columns, row = `(stream, type, data, time, version)`, `(?, ?, ?, ?, ?)`
	}
	for i, n := range rows {
		w.insert[i] = query{on: on, text: `INSERT INTO events ` + columns + ` VALUES ` + row +
			strings.Repeat(`, `+row, n-1)}
	}
	return w
}

// prepare prepares the statements.
func (w *writing) prepare(ctx context.Context, c *sql.Conn) error {
	all := []*query{&w.state, &w.version, &w.mark, &w.whole}
	for i := range w.insert {
		all = append(all, &w.insert[i])
	}
	for _, q := range all {
		var err error
		if q.stmt, err = c.PrepareContext(ctx, q.text); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) readState() (s intables.State, err error) {
	var last sql.Null[uint64]
	err = w.state.row().Scan(&s.Floor, &s.Reserved, &last)
	s.Last = last.V
	return s, err
}

// append plans the appends of a group, and inserts their events, and returns up to what position
// must be reserved.
func (w *writing) append(s intables.State, group []*eventlog.Pending) (needed uint64, err error) {
	needed, repeated, err := w.appender.Append(s, group)
	if err == nil && repeated {
		err = w.touch()
	}
	return needed, err
}

// touch has the commit make durable what was before it, also if the transaction changes nothing: an
// append that was done before is told so as durably as it asks. SQLite: what is written as it was
// is not written.
func (w *writing) touch() (err error) {
	for _, step := range []int64{1, -1} {
		if err == nil {
			_, err = w.state.on.ExecContext(context.Background(), `UPDATE eventlog SET reserved = reserved + ?`, step)
		}
	}
	return err
}

var _ intables.Tables = (*writing)(nil)

// Find implements intables.Tables.
func (w *writing) Find(id string) (position, version uint64, sum uint32, err error) {
	err = w.version.on.QueryRowContext(context.Background(), `SELECT position, version, sum FROM ids WHERE id = ?`, id).
		Scan(&position, &version, &sum)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return position, version, sum, err
}

// Version implements intables.Tables.
func (w *writing) Version(stream string) (uint64, error) {
	var v sql.Null[uint64]
	err := w.version.row(stream).Scan(&v)
	return v.V, err
}

// Insert implements intables.Tables. The events get the positions that were planned.
func (w *writing) Insert(p *eventlog.Pending) error {
	position := p.Appended.First - 1 // of the event before
	version := p.Appended.Version    // of the event before; 0 if none are kept
	if version > 0 {
		version -= uint64(len(p.Drafts))
	}
	defer func() { clear(w.args) }()
	plain := !slices.ContainsFunc(p.Drafts, hasMore)
	for left, i := p.Drafts, 0; len(left) > 0; left = left[rows[i]:] {
		for rows[i] > len(left) || !plain && rows[i] > 1 {
			i++
		}
		w.args = w.args[:0]
		for _, d := range left[:rows[i]] {
			w.args = append(w.args, p.Stream, d.Type, intables.Stored(d.Data), d.Time.UnixNano())
			switch {
			case p.Appended.Version > 0:
				version++
				w.args = append(w.args, int64(version))
			case w.streams || !plain:
				w.args = append(w.args, nil)
			}
		}
		position += uint64(rows[i])
		q := &w.insert[i]
		if !plain {
			q = &w.whole
			if err := w.remember(p.Stream, position, version, &left[0]); err != nil {
				return err
			}
		}
		result, err := q.exec(w.args...)
		if err != nil {
			return err
		}
		if last, err := result.LastInsertId(); err != nil || uint64(last) != position {
			return &kv.Error{Kind: kv.Corrupt, Err: errors.Join(fmt.Errorf("an event got the position %d instead of %d",
				last, position), err)}
		}
	}
	return nil
}

func hasMore(d eventlog.Draft) bool { return intables.HasExtra(d.ID, d.Meta) }

// remember adds what else there is to an event to w.args, and remembers its id, at the price of
// forgetting up to two.
func (w *writing) remember(stream string, position, version uint64, d *eventlog.Draft) error {
	text, err := textOf(d.ID, d.Meta)
	if w.args = append(w.args, text); err != nil || d.ID == "" {
		return err
	}
	on := w.state.on
	_, err = on.ExecContext(context.Background(), `INSERT INTO ids (id, position, version, sum) VALUES (?, ?, ?, ?)`,
		d.ID, int64(position), int64(version), d.Sum(stream))
	if err != nil && sqlite.Code(err) == lib.SQLITE_CONSTRAINT {
		return eventlog.TwiceTheID(d.ID)
	}
	if err == nil {
		_, err = on.ExecContext(context.Background(), `DELETE FROM ids WHERE n IN (SELECT n FROM ids
			WHERE n <= (SELECT max(n) FROM ids) - ? ORDER BY n LIMIT 2)`, eventlog.Remembered)
	}
	return err
}

// textOf returns the column extra of an event: NULL, or a text.
func textOf(id string, meta map[string]string) (any, error) {
	text, err := intables.Extra(id, meta)
	if err != nil || text == nil {
		return nil, err
	}
	return string(text), nil
}
