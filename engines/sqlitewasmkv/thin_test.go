package sqlitewasmkv_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

// BenchmarkThin measures kv against go-sqlite3's own API, which is SQLite's with Go's types, with
// statements prepared once; both in WAL mode under synchronous=NORMAL.
func BenchmarkThin(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	db, err := kv.Open(ctx, "sqlite-wasm:"+filepath.Join(dir, "kv.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	layer := drivertest.NewThinKV(b, db, kv.Flushed)
	copied := filepath.Join(dir, "raw.db")
	if err := db.Backup(ctx, copied); err != nil {
		b.Fatal(err)
	}
	raw := newRawSide(b, copied)
	drivertest.Thin(b,
		drivertest.Pair{Name: "get", Limit: 1.05, Raw: raw.get, KV: layer.Get},
		drivertest.Pair{Name: "view+get", Limit: 1.05, Raw: raw.viewGet, KV: layer.ViewGet,
			Exception: "a View opens a snapshot, where a query of SQLite alone has none: one statement more"},
		drivertest.Pair{Name: "get-alone", Limit: 1.05, Raw: raw.viewGet, KV: layer.GetAlone,
			Exception: "a call counts itself for Close, and looks at the context: 40 ns"},
		drivertest.Pair{Name: "scan20", Limit: 1.05, Raw: raw.scan, KV: layer.Scan,
			Exception: "a row takes 160 ns, and its way through the driver and kv's loop 10 to 15 more"},
		drivertest.Pair{Name: "scan1000", Limit: 1.05, Raw: raw.Long(raw.scan), KV: layer.Long(layer.Scan),
			Exception: "each row goes through the driver and kv's loop: 15 ns"},
		drivertest.Pair{Name: "update", Limit: 1.05, Raw: raw.update, KV: layer.Put,
			Exception: "the turn of the writers, the transaction of kv and the pool of connections take 500 ns"},
		drivertest.Pair{Name: "put", Limit: 1.05, Raw: raw.put, KV: layer.PutAlone},
		drivertest.Pair{Name: "batch100", Limit: 1.05, Raw: raw.batch, KV: layer.Batch},
	)
}

// rawSide does the work through go-sqlite3's API, as its documentation shows it.
type rawSide struct {
	*drivertest.ThinSide
	begin, read, commit *sqlite3.Stmt
	get1, put1          *sqlite3.Stmt
	scans               map[int]*sqlite3.Stmt // by their LIMIT, which costs more as an argument
	val                 []byte
}

func newRawSide(b *testing.B, path string) *rawSide {
	db, err := sqlite3.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if err := db.Exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"); err != nil {
		b.Fatal(err)
	}
	prepare := func(text string) *sqlite3.Stmt {
		s, _, err := db.PrepareFlags(text, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	return &rawSide{
		ThinSide: drivertest.NewThinSide(),
		begin:    prepare("BEGIN IMMEDIATE"),
		read:     prepare("BEGIN"),
		commit:   prepare("COMMIT"),
		get1:     prepare("SELECT v FROM kv WHERE k = ?"),
		scans: map[int]*sqlite3.Stmt{
			drivertest.ThinScan: prepare("SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT 20"),
			drivertest.ThinLong: prepare("SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT 1000"),
		},
		put1: prepare("INSERT INTO kv(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v"),
	}
}

func (s *rawSide) getOne() error {
	if err := s.get1.BindBlob(1, s.Key()); err != nil {
		return err
	}
	if s.get1.Step() {
		s.val = s.get1.ColumnBlob(0, s.val[:0])
	}
	return s.get1.Reset()
}

func (s *rawSide) get(n int) error {
	if err := s.read.Exec(); err != nil {
		return err
	}
	for range n {
		if err := s.getOne(); err != nil {
			return err
		}
	}
	return s.commit.Exec()
}

// viewGet needs no transaction: a query alone reads one state.
func (s *rawSide) viewGet(n int) error {
	for range n {
		if err := s.getOne(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) scan(n int) error {
	if err := s.read.Exec(); err != nil {
		return err
	}
	scan := s.scans[s.Pairs]
	for range n {
		if err := scan.BindBlob(1, s.Start()); err != nil {
			return err
		}
		for scan.Step() {
			s.Touch(scan.ColumnRawBlob(0), scan.ColumnRawBlob(1))
		}
		if err := scan.Reset(); err != nil {
			return err
		}
	}
	return s.commit.Exec()
}

// put needs no transaction: a statement alone is one.
func (s *rawSide) put(n int) error {
	for range n {
		if err := s.putOne(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) putOne() error {
	if err := s.put1.BindBlob(1, s.Key()); err != nil {
		return err
	}
	if err := s.put1.BindBlob(2, s.Value()); err != nil {
		return err
	}
	return s.put1.Exec()
}

// update puts one pair in a transaction, in which one could read before.
func (s *rawSide) update(n int) error {
	for range n {
		if err := s.writing(1); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) batch(n int) error {
	for range n {
		if err := s.writing(drivertest.ThinBatch); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSide) writing(puts int) error {
	if err := s.begin.Exec(); err != nil {
		return err
	}
	if err := s.put(puts); err != nil {
		return err
	}
	return s.commit.Exec()
}
