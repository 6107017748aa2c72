// Package sqlitelegacy reads the SQLite files of programs that kept their keys and values in
// tables, so that package state can take their place:
//
//	store, err := state.New(url, &state.Options{
//		Buckets: []state.Bucket{{Name: "checkpoints"}, {Name: "answers", Kind: state.Cache}, {Name: "tokens", Kind: state.Secret}},
//		Older:   "mytool.db", // in the folder of url
//		Legacy: sqlitelegacy.Tables(
//			sqlitelegacy.Table{Bucket: "checkpoints", Name: "kv", Key: "k", Value: "v"},
//			sqlitelegacy.Table{Bucket: "answers", Name: "cache", Key: "hash", Value: "body"},
//			sqlitelegacy.Table{Bucket: "tokens", Name: "tokens", Key: "name", Value: "token"},
//		),
//	})
//
// It uses modernc.org/sqlite through database/sql: SQLite without cgo, and the driver that such
// programs mostly have already. Importing it adds about 5 MB to a program; one that has no more
// users of the older version leaves it out.
package sqlitelegacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/sqlite"
	"github.com/assaydb/assay/stores/state"
)

// Table is a table of an older program, and where its rows go.
type Table struct {
	Bucket string // of package state
	Name   string // of the table
	Key    string // the column of the keys; NULL is Invalid
	Value  string // the column of the values; NULL is an empty value
	Where  string // which rows, in SQL; empty is all. It is put into the query as it is
}

// Tables returns a Legacy for state.Options that reads the tables. One that is missing in a file is
// passed over: where each kind of buckets has a file of its own, that holds only its own tables.
// Without any of them the file is Invalid. Columns that no Table names are not read: they stay in
// the older file alone.
//
// The file is read as it is at one moment, while no other program can write to it; then the
// write-ahead log is put into it. Numbers become their decimal text, as SQLite's CAST to BLOB makes
// it.
//
// What an older program that is still running would write afterwards, into the file under its new
// name, would be lost. So the tables get triggers, whose names begin with assay_moved_, that refuse
// every change: the older program gets an error. Drop them to use the file again. Views get none.
func Tables(tables ...Table) func(ctx context.Context, path string, into *state.Import) error {
	return func(ctx context.Context, path string, into *state.Import) error {
		if err := read(ctx, path, tables, into); err != nil {
			return classify(path, err)
		}
		return nil
	}
}

func read(ctx context.Context, path string, tables []Table, into *state.Import) (err error) {
	file := sqlite.File{Path: path, Wait: into.Wait(), Pause: 100 * time.Microsecond}
	db, err := open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sealed, err := move(ctx, &file, db, tables, into)
	if err != nil {
		return err
	}
	if err := checkpoint(ctx, db); err != nil {
		return errors.Join(err, change(context.WithoutCancel(ctx), db, sealed, drop))
	}
	return nil
}

// checkpoint puts the write-ahead log into the file. SQLite: a checkpoint cannot run inside a
// transaction, and says in its row whether it could finish.
func checkpoint(ctx context.Context, db *sql.DB) error {
	var busy, log, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return err
	}
	if busy != 0 {
		return &kv.Error{Kind: kv.Busy, Err: errors.New("another program is using it"), Hint: "end the older program"}
	}
	return nil
}

// move puts the rows of the tables that are there, and seals these in the same transaction. It
// returns their names.
func move(ctx context.Context, file *sqlite.File, db *sql.DB, tables []Table, into *state.Import) (
	sealed []string, err error,
) {
	tx, err := begin(ctx, file, db)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // of what was not committed
	found := 0
	for _, t := range tables {
		kind, err := kindOf(ctx, tx, t.Name)
		if err != nil {
			return nil, err
		}
		if kind == "" {
			continue
		}
		found++
		if err := t.read(ctx, tx, into.Put); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		if kind == "table" && !slices.Contains(sealed, t.Name) {
			sealed = append(sealed, t.Name)
		}
	}
	if found == 0 {
		return nil, &kv.Error{Kind: kv.Invalid, Err: errors.New("it has none of the tables"),
			Hint: "name the older program's tables in sqlitelegacy.Tables"}
	}
	if err := into.Ready(); err != nil {
		return nil, err
	}
	if err := change(ctx, tx, sealed, seal); err != nil {
		return nil, err
	}
	return sealed, tx.Commit()
}

// seal and drop return what is done to a table for each kind of change to it.
func seal(trigger, change, table string) string {
	return "CREATE TRIGGER IF NOT EXISTS " + trigger + " BEFORE " + change + " ON " + table +
		" BEGIN SELECT RAISE(ABORT, 'a newer program has moved this table'); END"
}

func drop(trigger, _, _ string) string { return "DROP TRIGGER IF EXISTS " + trigger }

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func change(ctx context.Context, db execer, tables []string, how func(trigger, change, table string) string) error {
	for _, table := range tables {
		for _, change := range []string{"INSERT", "UPDATE", "DELETE"} {
			query := how(quote("assay_moved_"+table+"_"+change), change, quote(table))
			if _, err := db.ExecContext(ctx, query); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins the transaction. SQLite's own waiting tries ten times a second, which hardly ever
// falls between two transactions of an older program that writes without a pause. What comes later
// waits for readers, which SQLite does well.
func begin(ctx context.Context, file *sqlite.File, db *sql.DB) (tx *sql.Tx, err error) {
	err = file.Retry(ctx, func() error {
		tx, err = db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", file.Wait.Milliseconds())); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// open opens the file with one connection, whose transactions keep writers out from their
// beginning.
func open(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqlite.URL(path, "mode=rw&_txlock=immediate&_pragma=busy_timeout(0)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// kindOf returns "table", "view", or "" if there is none of the name. SQLite: names are the same
// whatever the case of their letters, but as values they are not.
func kindOf(ctx context.Context, tx *sql.Tx, table string) (kind string, err error) {
	err = tx.QueryRowContext(ctx,
		"SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", table).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return kind, err
}

func (t Table) read(ctx context.Context, tx *sql.Tx, put func(string, []byte, []byte) error) error {
	query := fmt.Sprintf("SELECT CAST(%s AS BLOB), CAST(%s AS BLOB) FROM %s", quote(t.Key), quote(t.Value),
		quote(t.Name))
	if t.Where != "" {
		query += " WHERE " + t.Where
	}
	rows, err := tx.QueryContext(ctx, query)
	return sqlite.Rows(rows, err, func() error {
		var key, value sql.RawBytes
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		return put(t.Bucket, key, value)
	})
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// classify gives SQLite's errors a kind.
func classify(path string, err error) error {
	var known *kv.Error
	if errors.As(err, &known) {
		return err
	}
	kind := sqlite.KindOf(err)
	if sqlite.Code(err) == 1 { // SQLITE_ERROR: a column that is not there
		kind = kv.Invalid
	}
	return &kv.Error{Op: "read older", Engine: "sqlite", Path: path, Kind: kind, Err: err,
		Hint: "look at it with: sqlite3 " + path + " .recover"}
}
