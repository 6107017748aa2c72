// Package sqlitelegacy reads the SQLite files of programs that kept their keys and values in tables, so that package
// state can take their place:
//
//	store, err := state.New(url, &state.Options{
//		Buckets: []state.Bucket{{Name: "checkpoints"}, {Name: "answers", Kind: state.Cache}},
//		Legacy: sqlitelegacy.Tables(
//			sqlitelegacy.Table{Bucket: "checkpoints", Name: "kv", Key: "k", Value: "v"},
//			sqlitelegacy.Table{Bucket: "answers", Name: "cache", Key: "hash", Value: "body"},
//		),
//	})
//
// It uses modernc.org/sqlite through database/sql: SQLite without cgo, and the driver that such programs mostly have
// already. Importing it adds about 5 MB to a program; one that has no more users of the older version leaves it out.
package sqlitelegacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"github.com/assaydb/assay/kv"
)

// Table is a table of an older program, and where its rows go.
type Table struct {
	Bucket string // of package state
	Name   string // of the table
	Key    string // the column of the keys; NULL is Invalid
	Value  string // the column of the values; NULL is an empty value
	Where  string // which rows, in SQL; empty is all. It is put into the query as it is
}

// Tables returns a Legacy for state.Options that reads the tables. One that is missing in a file is passed over: each
// kind of buckets has a file of its own, which holds only its own tables. Without any of them the file is Invalid.
//
// The file is read as it is at one moment, while no other program can write to it; the write-ahead log is put into it
// before. Numbers become their decimal text, as SQLite's CAST to BLOB makes it.
func Tables(tables ...Table) func(ctx context.Context, path string, put func(bucket string, key, value []byte) error) error {
	return func(ctx context.Context, path string, put func(bucket string, key, value []byte) error) error {
		if err := read(ctx, path, tables, put); err != nil {
			return classify(path, err)
		}
		return nil
	}
}

func read(ctx context.Context, path string, tables []Table, put func(string, []byte, []byte) error) (err error) {
	db, err := open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// SQLite: a checkpoint cannot run inside a transaction, and says in its row whether it could finish.
	var busy, log, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return err
	}
	if busy != 0 {
		return &kv.Error{Kind: kv.Busy, Err: errors.New("another program is using it"), Hint: "end the older program"}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	found := 0
	for _, t := range tables {
		is, err := exists(ctx, tx, t.Name)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		found++
		if err := t.read(ctx, tx, put); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if found == 0 {
		return &kv.Error{Kind: kv.Invalid, Err: errors.New("it has none of the tables"), Hint: "name the older program's tables in sqlitelegacy.Tables"}
	}
	return nil
}

// open opens the file with one connection, whose transactions keep writers out from their beginning.
func open(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_txlock=immediate&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func exists(ctx context.Context, tx *sql.Tx, table string) (is bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?", table).Scan(&is)
	return is, err
}

func (t Table) read(ctx context.Context, tx *sql.Tx, put func(string, []byte, []byte) error) (err error) {
	query := fmt.Sprintf("SELECT CAST(%s AS BLOB), CAST(%s AS BLOB) FROM %s", quote(t.Key), quote(t.Value), quote(t.Name))
	if t.Where != "" {
		query += " WHERE " + t.Where
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key, value sql.RawBytes
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		if err := put(t.Bucket, key, value); err != nil {
			return err
		}
	}
	return rows.Err()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// classify gives SQLite's errors a kind.
func classify(path string, err error) error {
	var known *kv.Error
	var coded interface{ Code() int }
	kind := kv.KindOf(err)
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &coded):
		switch coded.Code() & 0xff {
		case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
			kind = kv.Busy
		case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
			kind = kv.Corrupt
		case 13: // SQLITE_FULL
			kind = kv.Full
		case 1: // SQLITE_ERROR: a column that is not there
			kind = kv.Invalid
		}
	}
	return &kv.Error{Op: "read older", Engine: "sqlite", Path: path, Kind: kind, Err: err,
		Hint: "look at it with: sqlite3 " + path + " .recover"}
}
