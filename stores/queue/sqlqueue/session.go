package sqlqueue

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/stores/internal/sqlite"
)

// writer is the connection that writes: a conn, or a session of another driver.
type writer interface {
	exec(text string) error
	integer(text string) (int64, error)
	keep(text string) (stmt, error) // prepared as long as the connection lasts
	close() error
}

var (
	_ writer = (*conn)(nil)
	_ writer = (*session)(nil)
)

// session is the connection that writes by database/sql, where [Options].Driver names a driver.
type session struct {
	db *sql.DB // of one connection
	on *sql.Conn
}

func openSession(f *sqlite.File) (writer, error) {
	db, err := sql.Open(f.Driver, f.DSN("synchronous(FULL)", "busy_timeout(0)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	on, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &session{db, on}, nil
}

func (s *session) exec(text string) error {
	_, err := s.on.ExecContext(context.Background(), text)
	return err
}

func (s *session) integer(text string) (n int64, err error) {
	err = s.on.QueryRowContext(context.Background(), text).Scan(&n)
	return n, err
}

func (s *session) keep(text string) (stmt, error) {
	kept, err := s.on.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	return &statement{joined: &joinedStatement{text: text, on: s.on, kept: kept}}, nil
}

func (s *session) close() error { return errors.Join(s.on.Close(), s.db.Close()) }
