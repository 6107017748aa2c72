package sqlfeed

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// session is a connection with its statements.
type session struct {
	conn                            *sql.Conn
	begin, commit, rollback         *sql.Stmt
	meta, bounds, message, messages *sql.Stmt
	block, blocks                   *sql.Stmt
}

var _ feed.Rows = (*session)(nil)

// run executes a statement that is not to be interrupted.
func run(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

func (s *session) prepare(begin string) error {
	return s.statements(map[**sql.Stmt]string{&s.begin: begin, &s.commit: `COMMIT`, &s.rollback: `ROLLBACK`})
}

func (s *session) prepareRows() error {
	return s.statements(map[**sql.Stmt]string{
		&s.meta:     `SELECT meta FROM feed`,
		&s.bounds:   `SELECT (SELECT min(seq) FROM messages), (SELECT max(seq) FROM messages)`,
		&s.message:  `SELECT message FROM messages WHERE seq = ?`,
		&s.messages: `SELECT seq, message FROM messages WHERE seq >= ? ORDER BY seq`,
		&s.block:    `SELECT first, block FROM blocks WHERE first <= ? ORDER BY first DESC LIMIT 1`,
		&s.blocks:   `SELECT first, block FROM blocks WHERE first >= ? ORDER BY first`,
	})
}

func (s *session) statements(queries map[**sql.Stmt]string) error {
	for stmt, query := range queries {
		var err error
		if *stmt, err = s.conn.PrepareContext(context.Background(), query); err != nil {
			return err
		}
	}
	return nil
}

// Meta implements feed.Rows.
func (s *session) Meta() (*feed.Meta, error) {
	var text []byte
	err := s.meta.QueryRowContext(context.Background()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(feed.Meta)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, &kv.Error{Op: "read feed", Engine: "sqlite", Kind: kv.Corrupt, Err: fmt.Errorf("table feed: %w", err)}
	}
	return m, nil
}

// Bounds implements feed.Rows.
func (s *session) Bounds(uint64) (first, last uint64, some bool, err error) {
	var least, most sql.Null[int64]
	err = s.bounds.QueryRowContext(context.Background()).Scan(&least, &most)
	return uint64(least.V), uint64(most.V), most.Valid, err
}

// Message implements feed.Rows.
func (s *session) Message(dst []byte, seq uint64) ([]byte, error) {
	some := false
	err := s.query(s.message, seq, func(rows *sql.Rows) (bool, error) {
		var message sql.RawBytes
		err := rows.Scan(&message)
		dst, some = append(dst, message...), true
		return false, err
	})
	if err == nil && !some {
		err = kv.NotFound
	}
	return dst, err
}

// Block implements feed.Rows.
func (s *session) Block(dst []byte, seq uint64) (first uint64, block []byte, err error) {
	some := false
	err = s.pairs(s.block, seq, func(n uint64, value []byte) bool {
		first, dst, some = n, append(dst, value...), true
		return false
	})
	if err == nil && !some {
		err = kv.NotFound
	}
	return first, dst, err
}

// Messages implements feed.Rows.
func (s *session) Messages(from uint64, yield func(seq uint64, message []byte) bool) error {
	return s.pairs(s.messages, from, yield)
}

// Blocks implements feed.Rows.
func (s *session) Blocks(from uint64, yield func(first uint64, block []byte) bool) error {
	return s.pairs(s.blocks, from, yield)
}

// pairs yields the rows of a statement that returns a number and bytes.
func (s *session) pairs(stmt *sql.Stmt, n uint64, yield func(n uint64, value []byte) bool) error {
	var value sql.RawBytes
	return s.query(stmt, n, func(rows *sql.Rows) (bool, error) {
		if err := rows.Scan(&n, &value); err != nil {
			return false, err
		}
		if value == nil {
			value = sql.RawBytes{} // an empty message, which must not look like none
		}
		return yield(n, value), nil
	})
}

// query calls each with the rows of a statement until it returns false.
func (s *session) query(stmt *sql.Stmt, n uint64, each func(*sql.Rows) (bool, error)) error {
	rows, err := stmt.QueryContext(context.Background(), int64(min(n, math.MaxInt64)))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := each(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// writer is the session that writes.
type writer struct {
	session
	level                                      string // of synchronous
	putMeta, putMessage, putBlock, deleteRange *sql.Stmt
}

var _ feed.Writer = (*writer)(nil)

func newWriter(conn *sql.Conn) (*writer, error) {
	w := &writer{session: session{conn: conn}, level: "FULL"}
	return w, w.prepare("BEGIN IMMEDIATE")
}

// prepareAll prepares what needs the tables.
func (w *writer) prepareAll() error {
	return errors.Join(w.prepareRows(), w.statements(map[**sql.Stmt]string{
		&w.putMeta:     `INSERT INTO feed (id, meta) VALUES (1, ?)`,
		&w.putMessage:  `INSERT INTO messages (seq, message) VALUES (?, ?)`,
		&w.putBlock:    `INSERT INTO blocks (first, block) VALUES (?, ?)`,
		&w.deleteRange: `DELETE FROM messages WHERE seq >= ? AND seq < ?`,
	}))
}

// setLevel sets synchronous. SQLite: it is fixed once a transaction begins.
func (w *writer) setLevel(d kv.Durability) error {
	level := "NORMAL"
	if d == kv.Synced {
		level = "FULL"
	}
	if level == w.level {
		return nil
	}
	_, err := w.conn.ExecContext(context.Background(), "PRAGMA synchronous = "+level)
	if err == nil {
		w.level = level
	}
	return err
}

// PutMeta implements feed.Writer.
func (w *writer) PutMeta(m *feed.Meta) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return run(w.putMeta, string(text))
}

// PutMessage implements feed.Writer.
func (w *writer) PutMessage(seq uint64, message []byte) error {
	if message == nil {
		message = []byte{} // nil would be NULL
	}
	return run(w.putMessage, int64(seq), message)
}

// PutBlock implements feed.Writer.
func (w *writer) PutBlock(first uint64, block []byte) error {
	return run(w.putBlock, int64(first), block)
}

// DeleteMessages implements feed.Writer.
func (w *writer) DeleteMessages(from, to uint64) error {
	return run(w.deleteRange, int64(from), int64(to))
}
