package sqllog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
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
	versions map[string]uint64
	args     []any
	parts    []*eventlog.Pending
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
	w := &writing{streams: streams, versions: map[string]uint64{}, insert: make([]query, len(rows))}
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

// state is what positions depend on.
type state struct {
	floor    uint64 // positions up to it are used, lost or skipped
	reserved uint64
	last     uint64 // of the last event
}

func (w *writing) readState() (s state, err error) {
	var last sql.Null[uint64]
	err = w.state.row().Scan(&s.floor, &s.reserved, &last)
	s.last = last.V
	return s, err
}

// append plans the appends of a group, then inserts their events, and returns up to what position
// must be reserved.
func (w *writing) append(s state, group []*eventlog.Pending) (needed uint64, err error) {
	clear(w.versions)
	assigned, reserve, repeated := max(s.floor, s.last), uint64(0), false
	for _, a := range group {
		parts := a.Parts(w.parts)
		w.parts, reserve = parts, max(reserve, a.Reserve)
		for _, p := range parts {
			p.Appended, p.Err = eventlog.Appended{}, nil
		}
		again, err := w.check(s, parts)
		if err != nil && kv.KindOf(err) != kv.Conflict {
			return 0, err
		}
		repeated = repeated || again
		for _, p := range parts {
			n := uint64(len(p.Drafts))
			if p.Err = err; err != nil || again || n == 0 {
				continue
			}
			p.Appended = eventlog.Appended{First: assigned + 1, Last: assigned + n}
			assigned += n
			if s.last = assigned; w.streams && p.Stream != "" {
				w.versions[p.Stream] += n
				p.Appended.Version = w.versions[p.Stream]
			}
			if err := w.insertAll(p); err != nil {
				return 0, err
			}
		}
	}
	if repeated {
		err = w.touch()
	}
	return assigned + reserve, err
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

// check reports whether an append was done before, and otherwise whether all is as it expects.
func (w *writing) check(s state, parts []*eventlog.Pending) (again bool, err error) {
	if again, err = w.again(parts); again || err != nil {
		return again, err
	}
	for _, p := range parts {
		version, err := w.versionOf(p.Stream)
		if err == nil {
			err = p.Expected.Check(p.Stream, s.last, version)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// again reports whether an append was done before, and then sets where its events are.
func (w *writing) again(parts []*eventlog.Pending) (bool, error) {
	return eventlog.Again(parts, func(id string) (position, version uint64, sum uint32, err error) {
		err = w.version.on.QueryRowContext(context.Background(), `SELECT position, version, sum FROM ids WHERE id = ?`,
			id).
			Scan(&position, &version, &sum)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return position, version, sum, err
	})
}

// versionOf returns the version of a stream with the group's appends so far.
func (w *writing) versionOf(stream string) (uint64, error) {
	if !w.streams || stream == "" {
		return 0, nil
	}
	if v, ok := w.versions[stream]; ok {
		return v, nil
	}
	var v sql.Null[uint64]
	err := w.version.row(stream).Scan(&v)
	if err == nil {
		w.versions[stream] = v.V
	}
	return v.V, err
}

// insertAll inserts the events of an append, which get the positions that were planned.
func (w *writing) insertAll(p *eventlog.Pending) error {
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
			w.args = append(w.args, p.Stream, d.Type, stored(d.Data), d.Time.UnixNano())
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

// extra is what the column of that name holds, as JSON.
type extra struct {
	ID   string            `json:"id,omitempty"`
	Meta map[string]string `json:"meta,omitempty"`
}

func hasMore(d eventlog.Draft) bool { return d.ID != "" || len(d.Meta) > 0 }

// remember adds what else there is to an event to w.args, and remembers its id, at the price of
// forgetting up to two.
func (w *writing) remember(stream string, position, version uint64, d *eventlog.Draft) error {
	if !hasMore(*d) {
		w.args = append(w.args, nil)
		return nil
	}
	text, err := json.Marshal(extra{d.ID, d.Meta})
	if err != nil {
		return err
	}
	w.args = append(w.args, string(text))
	if d.ID == "" {
		return nil
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

// stored returns data as the column takes it, which has no NULL.
func stored(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
