// Package bare has four operations on bbolt, Pebble and SQLite as their own documentation writes
// them, without any of assay's code: what [plain] measures in loops, and barelab lets assay
// measure.
//
// [plain]: https://pkg.go.dev/github.com/assaydb/assay/lab/bench/testdata/plain
package bare

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	bolt "go.etcd.io/bbolt"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

type pair struct{ k, v []byte }

// Engine is a store.
type Engine interface {
	put(pairs []pair) error // in one synced commit
	get(k []byte) ([]byte, error)
	scan(start, end []byte, fn func(k, v []byte) error) error
	Close() error
}

// Engines opens a store at a path, by the engine's name.
var Engines = map[string]func(path string) (Engine, error){"bbolt": openBbolt, "pebble": openPebble,
	"sqlite": openSQLite}

type bboltEngine struct{ db *bolt.DB }

var bucket = []byte("kv")

func openBbolt(path string) (Engine, error) {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	return bboltEngine{db}, err
}

func (e bboltEngine) put(pairs []pair) error {
	return e.db.Update(func(tx *bolt.Tx) error {
		for _, p := range pairs {
			if err := tx.Bucket(bucket).Put(p.k, p.v); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e bboltEngine) get(k []byte) (v []byte, err error) {
	err = e.db.View(func(tx *bolt.Tx) error {
		v = append(v, tx.Bucket(bucket).Get(k)...)
		return nil
	})
	return v, err
}

func (e bboltEngine) scan(start, end []byte, fn func(k, v []byte) error) error {
	return e.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v := c.Seek(start); k != nil && string(k) < string(end); k, v = c.Next() {
			if err := fn(k, v); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e bboltEngine) Close() error { return e.db.Close() }

type pebbleEngine struct{ db *pebble.DB }

// silent drops what Pebble logs.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func openPebble(path string) (Engine, error) {
	db, err := pebble.Open(path, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
	return pebbleEngine{db}, err
}

func (e pebbleEngine) put(pairs []pair) error {
	b := e.db.NewBatch()
	for _, p := range pairs {
		if err := b.Set(p.k, p.v, nil); err != nil {
			return err
		}
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

func (e pebbleEngine) get(k []byte) ([]byte, error) {
	v, closer, err := e.db.Get(k)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), v...), closer.Close()
}

func (e pebbleEngine) scan(start, end []byte, fn func(k, v []byte) error) error {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

func (e pebbleEngine) Close() error { return e.db.Close() }

// sqliteEngine calls SQLite's own functions, as a program in C would, with its log and its usual
// synchronous=FULL.
type sqliteEngine struct {
	tls                                *libc.TLS
	db                                 uintptr
	begin, commit, insert, query, some uintptr
	args                               uintptr
}

func openSQLite(path string) (Engine, error) {
	e := &sqliteEngine{tls: libc.NewTLS()}
	e.args = libc.Xmalloc(e.tls, 1<<16)
	name, err := libc.CString(path)
	if err != nil {
		return nil, err
	}
	out := libc.Xmalloc(e.tls, 8)
	if rc := lib.Xsqlite3_open_v2(e.tls, name, out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE,
		0); rc != lib.SQLITE_OK {
		return nil, fmt.Errorf("open: %d", rc)
	}
	e.db = *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(out, 8))))
	for _, sql := range []string{"PRAGMA journal_mode = WAL",
		"CREATE TABLE IF NOT EXISTS kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"} {
		s, err := e.prepare(sql)
		if err != nil {
			return nil, err
		}
		for lib.Xsqlite3_step(e.tls, s) == lib.SQLITE_ROW {
			continue
		}
		if rc := lib.Xsqlite3_finalize(e.tls, s); rc != lib.SQLITE_OK {
			return nil, fmt.Errorf("%s: %d", sql, rc)
		}
	}
	for sql, s := range map[string]*uintptr{
		"BEGIN IMMEDIATE": &e.begin, "COMMIT": &e.commit,
		"INSERT INTO kv(k, v) VALUES(?1, ?2) ON CONFLICT(k) DO UPDATE SET v = excluded.v": &e.insert,
		"SELECT v FROM kv WHERE k = ?1":                           &e.query,
		"SELECT k, v FROM kv WHERE k >= ?1 AND k < ?2 ORDER BY k": &e.some,
	} {
		if *s, err = e.prepare(sql); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *sqliteEngine) prepare(sql string) (uintptr, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return 0, err
	}
	out := libc.Xmalloc(e.tls, 8)
	if rc := lib.Xsqlite3_prepare_v3(e.tls, e.db, text, -1, lib.SQLITE_PREPARE_PERSISTENT, out,
		0); rc != lib.SQLITE_OK {
		return 0, fmt.Errorf("%s: %d", sql, rc)
	}
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(out, 8)))), nil
}

// bind sets the arguments of a statement.
func (e *sqliteEngine) bind(s uintptr, args ...[]byte) {
	memory, at := libc.GoBytes(e.args, 1<<16), 0
	for i, a := range args {
		copy(memory[at:], a)
		lib.Xsqlite3_bind_blob(e.tls, s, int32(i+1), e.args+uintptr(at), int32(len(a)), 0)
		at += len(a)
	}
}

// step runs a statement to its end; row is called for each row.
func (e *sqliteEngine) step(s uintptr, row func() error) error {
	for {
		switch rc := lib.Xsqlite3_step(e.tls, s); rc {
		case lib.SQLITE_ROW:
			if err := row(); err != nil {
				lib.Xsqlite3_reset(e.tls, s)
				return err
			}
		case lib.SQLITE_DONE:
			lib.Xsqlite3_reset(e.tls, s)
			return nil
		default:
			lib.Xsqlite3_reset(e.tls, s)
			return fmt.Errorf("sqlite: result %d", rc)
		}
	}
}

// column returns a column of the row.
func (e *sqliteEngine) column(s uintptr, i int32) []byte {
	p := lib.Xsqlite3_column_blob(e.tls, s, i)
	return libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(e.tls, s, i)))
}

func (e *sqliteEngine) put(pairs []pair) error {
	err := e.step(e.begin, nil)
	for _, p := range pairs {
		if err == nil {
			e.bind(e.insert, p.k, p.v)
			err = e.step(e.insert, nil)
		}
	}
	if err == nil {
		err = e.step(e.commit, nil)
	}
	return err
}

func (e *sqliteEngine) get(k []byte) (v []byte, err error) {
	e.bind(e.query, k)
	err = e.step(e.query, func() error {
		v = append(v, e.column(e.query, 0)...)
		return nil
	})
	return v, err
}

func (e *sqliteEngine) scan(start, end []byte, fn func(k, v []byte) error) error {
	e.bind(e.some, start, end)
	return e.step(e.some, func() error { return fn(e.column(e.some, 0), e.column(e.some, 1)) })
}

func (e *sqliteEngine) Close() error {
	for _, s := range []uintptr{e.begin, e.commit, e.insert, e.query, e.some} {
		lib.Xsqlite3_finalize(e.tls, s)
	}
	if rc := lib.Xsqlite3_close_v2(e.tls, e.db); rc != lib.SQLITE_OK {
		return fmt.Errorf("close: %d", rc)
	}
	libc.Xfree(e.tls, e.args)
	e.tls.Close()
	return nil
}
