package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// thinBuild is a build of SQLite that comes with a driver for database/sql.
type thinBuild struct {
	scheme string // of kv's URLs
	driver string // of database/sql
	query  string // of database/sql's URL: WAL mode, synchronous=NORMAL, immediate transactions
}

// thinBuilds are those that are measured; a file with a build constraint adds the one that needs
// cgo.
var thinBuilds = []thinBuild{
	{"sqlite", "sqlite", "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"},
}

// BenchmarkThin measures kv against database/sql with prepared statements, both in WAL mode under
// synchronous=NORMAL. kv is the faster one: it calls SQLite directly, where database/sql allocates
// for every query, argument and column.
func BenchmarkThin(b *testing.B) {
	for _, build := range thinBuilds {
		b.Run(build.scheme, build.bench)
	}
}

func (build thinBuild) bench(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	db, err := kv.Open(ctx, build.scheme+":"+filepath.Join(dir, "kv.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	copied := filepath.Join(dir, "raw.db")
	if err := db.Backup(ctx, copied); err != nil {
		b.Fatal(err)
	}
	raw := build.newRawSide(b, copied)
	hook := filepath.Join(dir, "hook.db")
	if err := db.Backup(ctx, hook); err != nil {
		b.Fatal(err)
	}
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.viewGet, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan)},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.Put},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
		build.openGetClose(hook, layer.Key()),
	)
}

func (build thinBuild) openRaw(path string) (*sql.DB, error) {
	return sql.Open(build.driver, "file:"+path+"?"+build.query)
}

// rawSide does the work through database/sql, as its drivers document it.
type rawSide struct {
	*drivertest.ThinSide
	db         *sql.DB
	get1, put1 *sql.Stmt
	scans      map[int]*sql.Stmt // by their LIMIT, which costs more as an argument
	val        []byte
}

func (build thinBuild) newRawSide(b *testing.B, path string) *rawSide {
	db, err := build.openRaw(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	prepare := func(text string) *sql.Stmt {
		s, err := db.Prepare(text)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	return &rawSide{
		ThinSide: drivertest.NewThinSide(),
		db:       db,
		get1:     prepare("SELECT v FROM kv WHERE k = ?"),
		scans: map[int]*sql.Stmt{
			drivertest.ThinScan: prepare("SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT 20"),
			drivertest.ThinLong: prepare("SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT 1000"),
		},
		put1: prepare("INSERT INTO kv(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v"),
	}
}

func (s *rawSide) get(n int) error {
	return s.reading(func(tx *sql.Tx) error {
		get := tx.Stmt(s.get1)
		for range n {
			if err := get.QueryRow(s.Key()).Scan(&s.val); err != nil {
				return err
			}
		}
		return nil
	})
}

// viewGet needs no transaction: a query alone reads one state.
func (s *rawSide) viewGet(n int) error {
	for range n {
		if err := s.get1.QueryRow(s.Key()).Scan(&s.val); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) scan(n int) error {
	return s.reading(func(tx *sql.Tx) error {
		scan := tx.Stmt(s.scans[s.Pairs])
		for range n {
			rows, err := scan.Query(s.Start())
			if err != nil {
				return err
			}
			for rows.Next() {
				var k, v sql.RawBytes
				if err := rows.Scan(&k, &v); err != nil {
					return err
				}
				s.Touch(k, v)
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// put needs no transaction: a statement alone is one.
func (s *rawSide) put(n int) error {
	for range n {
		if _, err := s.put1.Exec(s.Key(), s.Value()); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		tx, err := s.db.Begin()
		if err != nil {
			return err
		}
		put := tx.Stmt(s.put1)
		for range drivertest.ThinBatch {
			if _, err := put.Exec(s.Key(), s.Value()); err != nil {
				tx.Rollback()
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) reading(fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return fn(tx)
}

// openGetClose is what a short-lived command does.
func (build thinBuild) openGetClose(path string, key []byte) drivertest.Pair {
	ctx := context.Background()
	var buf []byte
	raw := func() error {
		db, err := build.openRaw(path)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.QueryRow("SELECT v FROM kv WHERE k = ?", key).Scan(&buf)
	}
	through := func() error {
		db, err := kv.Open(ctx, build.scheme+":"+path)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.View(ctx, func(s *kv.Snapshot) (err error) {
			buf, err = s.Append(buf[:0], key)
			return err
		})
	}
	times := func(fn func() error) func(int) error {
		return func(n int) error {
			for range n {
				if err := fn(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return drivertest.Pair{Name: "open+get+close", Limit: 1.05,
		Exception: "opening asks SQLite whether the database is a store, and whole",
		Raw:       times(raw), KV: times(through)}
}
