package statetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
	"github.com/assaydb/assay/stores/state/sqlitelegacy"
)

// legacy reads the files that older makes.
var legacy = sqlitelegacy.Tables(
	sqlitelegacy.Table{Bucket: "a", Name: "checkpoints", Key: "id", Value: "body"},
	sqlitelegacy.Table{Bucket: "b", Name: "num\"bers", Key: "n", Value: "text", Where: "n > 0"},
	sqlitelegacy.Table{Bucket: "kept", Name: "answers", Key: "id", Value: "body"},
	sqlitelegacy.Table{Bucket: "secret", Name: "tokens", Key: "id", Value: "body"},
)

func legacyKey(i int) []byte   { return fmt.Appendf(nil, "id-%05d", i) }
func legacyValue(i int) []byte { return fmt.Appendf(nil, "body %d %s", i, strings.Repeat("x", i%200)) }

// older makes an SQLite file as an older program had it: in WAL mode, with the last rows in the log
// alone, for the program was killed.
func (s *suite) older(name string, rows int, tables ...string) (path string) {
	s.Helper()
	work := filepath.Join(s.TempDir(), "older.db")
	db, err := sql.Open("sqlite", work+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=wal_autocheckpoint(0)")
	s.Must("open", err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		s.Helper()
		_, err := db.Exec(query, args...)
		s.Must(query, err)
	}
	for _, table := range tables {
		exec("CREATE TABLE " + table + "(id TEXT PRIMARY KEY, body BLOB, updated INTEGER)")
	}
	if name == "state.db" {
		exec(`CREATE TABLE "num""bers"(n INTEGER PRIMARY KEY, text TEXT)`)
		exec(`INSERT INTO "num""bers" VALUES (-1, 'left out'), (7, 'seven'), (42, NULL)`)
	}
	exec("PRAGMA wal_checkpoint(TRUNCATE)")
	exec("BEGIN")
	for i := range rows {
		for _, table := range tables {
			exec("INSERT INTO "+table+" VALUES (?, ?, 0)", string(legacyKey(i)), legacyValue(i))
		}
	}
	exec("COMMIT")
	path = filepath.Join(s.dir, name)
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(work + ending)
		s.Must("read", err)
		s.Must("write", os.WriteFile(path+ending, data, 0o600))
	}
	return path
}

func withLegacy(o *state.Options) { o.Legacy = legacy }

// wantMigrated checks that all rows are in a bucket, and nothing else is.
func (s *suite) wantMigrated(store *state.Store, bucket string, rows int) {
	s.Helper()
	entries, err := store.Scan(s.Ctx(), bucket, nil)
	if err != nil || len(entries) != rows {
		s.Fatalf("bucket %s: %d entries, %v, want %d", bucket, len(entries), err, rows)
	}
	for i, e := range entries {
		if !bytes.Equal(e.Key, legacyKey(i)) || !bytes.Equal(e.Value, legacyValue(i)) {
			s.Fatalf("bucket %s: entry %d is %q %q", bucket, i, e.Key, clip(e.Value))
		}
	}
}

func testMigration(s *suite) {
	const rows = 1200
	files := map[string]string{"a": s.older("state.db", rows, "checkpoints"),
		"kept":   s.older("cache.db", rows, "answers"),
		"secret": s.older("secrets.db", rows, "tokens")}
	store := s.store(withLegacy)
	for bucket := range files {
		s.wantMigrated(store, bucket, rows)
	}
	s.wantKeys(store, "b", "", "42", "7")
	s.wantGet(store, "b", "7", "seven")
	s.wantGet(store, "b", "42", "")
	if incidents := store.Incidents(); len(incidents) != len(files) {
		s.Errorf("got incidents %v, want one for each file", incidents)
	}
	for _, i := range store.Incidents() {
		head, err := os.ReadFile(i.Kept)
		if i.What != "migrated" || i.Err != nil || err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
			s.Errorf("got incident %+v, %v", i, err)
		}
	}
	after := s.store() // a later program, which knows nothing of the older one
	for bucket, path := range files {
		s.put(after, bucket, "new", "v")
		s.wantGet(after, bucket, string(legacyKey(rows-1)), string(legacyValue(rows-1)))
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); !s.onlyLocks(left) {
			s.Errorf("left over: %v", left)
		}
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
			s.Errorf("%s is left over with %d bytes", path+"-wal", info.Size())
		}
	}
}

func testMigrationFails(s *suite) {
	path := s.older("state.db", 10, "checkpoints")
	before, err := os.ReadFile(path)
	s.Must("read", err)
	stop := errors.New("stop")
	put := func(bucket, key string) func(context.Context, string, *state.Import) error {
		return func(_ context.Context, _ string, into *state.Import) error { return into.Put(bucket, []byte(key), nil) }
	}
	for _, c := range []struct {
		what   string
		legacy func(context.Context, string, *state.Import) error
		kind   kv.Kind
		is     error
	}{
		{"without a Legacy", nil, kv.Invalid, nil},
		{"a Legacy that fails", func(context.Context, string, *state.Import) error { return stop }, kv.KindOf(stop),
			stop},
		{"a key for a bucket that is not there", put("nowhere", "k"), kv.Invalid, nil},
		{"an empty key", put("a", ""), kv.Invalid, nil},
		{"a Legacy that leaves the log", put("a", "k"), kv.Invalid, nil},
		{"tables that are not there", sqlitelegacy.Tables(sqlitelegacy.Table{Bucket: "a", Name: "other", Key: "k",
			Value: "v"}), kv.Invalid, nil},
	} {
		if c.what == "a Legacy that leaves the log" && s.target.SQLite {
			continue // there is none: the engine looked at the file, and put it in
		}
		store := s.store(func(o *state.Options) { o.Legacy = c.legacy })
		_, err := store.Get(s.Ctx(), "a", legacyKey(0))
		s.WantKind(c.what, err, c.kind)
		if c.is != nil && !errors.Is(err, c.is) {
			s.Errorf("%s: got %v", c.what, err)
		}
		if c.kind == kv.Invalid && kv.HintOf(err) == "" {
			s.Errorf("%s: %v has no hint", c.what, err)
		}
		s.WantKind(c.what+", put", store.Put(s.Ctx(), "a", []byte("k"), nil), c.kind)
		if left, _ := filepath.Glob(path + ".*"); !s.onlyLocks(left) {
			s.Errorf("%s: left over: %v", c.what, left)
		}
		if c.what != "tables that are not there" && !s.target.SQLite { // for these the log is put into the file
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
				s.Errorf("%s: the file was changed: %v", c.what, err)
			}
		}
	}
	s.wantMigrated(s.store(withLegacy), "a", 10)

	s.dir = s.TempDir()
	s.older("state.db", 10, "checkpoints")
	broken := s.store(func(o *state.Options) { o.Legacy = put("nowhere", "k") })
	s.put(broken, "kept", "k", "a cache is not worth an error")
	_, err = broken.Get(s.Ctx(), "secret", []byte("k"))
	s.WantKind("a secret that may be there", err, kv.Invalid)

	s.Must("remove", os.RemoveAll(filepath.Join(s.dir, "cache.db")))
	s.older("cache.db", 10, "answers") // likewise
	store := s.store()
	s.wantNone(store, "kept", string(legacyKey(0)))
	s.put(store, "kept", "k", "v")
	if incidents := store.Incidents(); len(incidents) != 1 || incidents[0].What != "set aside" {
		s.Errorf("got incidents %v, want that the cache was set aside", incidents)
	}
}

// one is the older file of a program that kept everything in it.
const one = "tool.db"

// oneLegacy reads it.
func oneLegacy(o *state.Options) {
	o.Older, o.Legacy = one, sqlitelegacy.Tables(
		sqlitelegacy.Table{Bucket: "a", Name: "checkpoints", Key: "id", Value: "body"},
		sqlitelegacy.Table{Bucket: "kept", Name: "answers", Key: "id", Value: "body"},
		sqlitelegacy.Table{Bucket: "secret", Name: "tokens", Key: "id", Value: "body"},
	)
}

func testMigrationOfSeveralKinds(s *suite) {
	const rows = 50
	top := s.dir
	for i, first := range []string{"a", "kept", "secret"} {
		for _, remove := range []bool{false, true} {
			s.dir = filepath.Join(top, fmt.Sprint(i, remove))
			s.Must("mkdir", os.Mkdir(s.dir, 0o700))
			path := s.older(one, rows, "checkpoints", "answers", "tokens")
			s.Must("chmod", os.Chmod(path, 0o644))
			store := s.store(oneLegacy, func(o *state.Options) { o.RemoveOlder = remove })
			s.wantMigrated(store, first, rows)
			for _, bucket := range []string{"a", "kept", "secret"} {
				s.wantMigrated(store, bucket, rows)
			}
			left, _ := filepath.Glob(path + "*")
			if len(left) != map[bool]int{false: 1, true: 0}[remove] {
				s.Errorf("left of the older file: %v", left)
			}
			for _, path := range left {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					s.Errorf("%s: mode %v, %v", path, info.Mode(), err)
				}
			}
			s.put(store, "secret", "new", "v")
			s.wantGet(s.store(oneLegacy), "secret", "new", "v")
		}
	}
}

// A process that is killed after it has put some files into their places leaves the others for the
// next, which takes nothing back that was written meanwhile.
func testMigrationHalfDone(s *suite) {
	const rows = 20
	path := s.older(one, rows, "checkpoints", "tokens")
	whole, err := os.ReadFile(path)
	s.Must("read", err)
	log, err := os.ReadFile(path + "-wal")
	s.Must("read", err)
	s.wantMigrated(s.store(oneLegacy), "a", rows)
	s.put(s.store(oneLegacy), "a", "id-x", "later")
	s.Must("write", os.WriteFile(path, whole, 0o600))
	s.Must("write", os.WriteFile(path+"-wal", log, 0o600))
	s.Must("remove", os.RemoveAll(filepath.Join(s.dir, "secrets.db")))
	store := s.store(oneLegacy)
	s.wantMigrated(store, "secret", rows)
	s.wantGet(store, "a", "id-x", "later")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("the older file is still there: %v", err)
	}
}

func testSecretsNotMoved(s *suite) {
	s.older("state.db", 5, "checkpoints", "tokens")
	_, err := s.store().Get(s.Ctx(), "secret", legacyKey(0)) // a program that does not know of the older file
	s.WantKind("a secret that may be in the older file", err, kv.Invalid)
	s.WantKind("a secret put beside it", s.store().Put(s.Ctx(), "secret", []byte("k"), nil), kv.Invalid)
	s.wantMigrated(s.store(withLegacy), "secret", 5)
	s.wantGet(s.store(withLegacy), "a", string(legacyKey(0)), string(legacyValue(0)))

	s.dir = s.TempDir()
	path := s.older(one, 5, "tokens")
	s.put(s.store(), "secret", "k", "of a program that was started without the options")
	_, err = s.store(oneLegacy).Get(s.Ctx(), "secret", legacyKey(0))
	s.WantKind("secrets in two files", err, kv.Invalid)
	if !isFile(path) {
		s.Errorf("%s is gone", path)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// An older program that is still running may have the file open, whatever its name. It commits
// before the migration reads, or it is told that it cannot.
//
// Its transactions last long and it begins the next at once: the file is unlocked for moments.
func testMigrationBesideOlder(s *suite) {
	const rows = 5
	pause := 20 * time.Millisecond // as long as a sync may take
	if testing.Short() {
		pause /= 4 // the shorter it is, the sooner the migration finds the file unlocked
	}
	path := s.older(one, rows, "checkpoints")
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	s.Must("open", err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	acknowledged := rows
	write := func() error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO checkpoints VALUES (?, ?, 0)", string(legacyKey(acknowledged)),
			legacyValue(acknowledged)); err != nil {
			return err
		}
		time.Sleep(pause)
		if err = tx.Commit(); err == nil {
			acknowledged++
		}
		return err
	}
	s.Must("write before", write())
	done := make(chan error)
	go func() {
		for {
			if err := write(); err != nil {
				done <- err
				return
			}
		}
	}()
	_, err = s.store(oneLegacy).Get(s.Ctx(), "a", legacyKey(0))
	s.Must("get", err)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "moved") {
		s.Errorf("the older program was told: %v", err)
	}
	s.wantMigrated(s.store(oneLegacy), "a", acknowledged)
}

// testMigrationAtOnce: every process reads of all kinds. ASSAY_PROCESSES=100 starts as many.
func testMigrationAtOnce(s *suite) {
	const rows = 1200
	processes := s.target.times(14)
	if text := os.Getenv("ASSAY_PROCESSES"); text != "" {
		_, err := fmt.Sscan(text, &processes)
		s.Must("ASSAY_PROCESSES", err)
	}
	s.older("state.db", rows, "checkpoints", "answers", "tokens")
	migrated := 0
	for _, r := range s.atOnce(processes, task{Job: "get migrated"}) {
		migrated += r.Version
	}
	if migrated != 1 {
		s.Errorf("%d processes migrated, want 1", migrated)
	}
	for _, bucket := range []string{"a", "kept", "secret"} {
		s.wantMigrated(s.store(), bucket, rows)
	}
}

func testMigrationKilled(s *suite) {
	const rows = 1500
	rounds := 1 + s.target.times(5)
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	top, typical := s.dir, time.Duration(0)
	for round := range rounds {
		s.dir = filepath.Join(top, fmt.Sprint(round))
		s.Must("mkdir", os.Mkdir(s.dir, 0o700))
		path := s.older("state.db", rows, "checkpoints")
		c := s.start(task{Job: "get", Bucket: "a"})
		c.wait("ready")
		began := time.Now()
		c.proceed()
		if round == 0 { // how long it takes that was not killed
			c.wait("done")
			typical = time.Since(began)
			continue
		}
		// somewhere within the migration; nothing depends on it
		time.Sleep(time.Duration(rng.Float64() * float64(typical)))
		c.End()
		store := s.store(withLegacy)
		s.wantMigrated(store, "a", rows)
		s.Must("check", store.Check(s.Ctx()))
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); !s.onlyLocks(left) {
			s.Errorf("left over: %v", left)
		}
		if head, err := os.ReadFile(path + ".sqlite"); err != nil ||
			!bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
			s.Errorf("the older file was not kept: %v", err)
		}
	}
}
