package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
)

func open(t *testing.T, engine, path, params string, needs ...kv.Option) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), engine+":"+path+params, needs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func put(t *testing.T, db *kv.DB, key, value string) {
	t.Helper()
	var b kv.Batch
	b.Put([]byte(key), []byte(value))
	if err := db.Write(t.Context(), kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, db *kv.DB, key string) (value string) {
	t.Helper()
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		v, err := s.Get([]byte(key))
		value = string(v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func closeDB(t *testing.T, db *kv.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, what string, err error, want kv.Kind) {
	t.Helper()
	if err == nil || kv.KindOf(err) != want {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// names lists the files of a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func aDatabaseOfAnotherProgramIsRefusedAndNotTouched(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "music.db")
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE songs(title TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range []string{"", "?journal_mode=DELETE&page_size=8192", "?mode=ro"} {
		_, err := kv.Open(t.Context(), engine+":"+path+params)
		wantKind(t, "open "+params, err, kv.Invalid)
		if err != nil && !strings.Contains(err.Error(), "songs") {
			t.Errorf("%v: does not name the tables", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database changed (%v)", err)
	}
}

func aFileThatIsNoDatabaseIsCorrupt(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte("Dear reader, "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kv.Open(t.Context(), engine+":"+path)
	wantKind(t, "open", err, kv.Corrupt)
	if hint := kv.HintOf(err); strings.Contains(hint, "recover") {
		t.Errorf("%v: the hint %q is for databases", err, hint)
	}
	_, err = kv.Open(t.Context(), engine+":"+filepath.Dir(path))
	wantKind(t, "open of a folder", err, kv.Invalid)
}

func aFileOfAnotherEngineIsCalledWhatItIs(t *testing.T, engine string) {
	for _, other := range []string{"bbolt", "bunt", "bunt?Frames=false"} {
		name, params := other, ""
		if i := strings.IndexByte(other, '?'); i > 0 {
			name, params = other[:i], other[i:]
		}
		path := filepath.Join(t.TempDir(), "db")
		db := open(t, name, path, params)
		put(t, db, "a", "1")
		closeDB(t, db)
		for _, mode := range []string{"", "?mode=ro"} {
			_, err := kv.Open(t.Context(), engine+":"+path+mode)
			wantKind(t, other+mode, err, kv.Invalid)
			if !strings.Contains(fmt.Sprint(err), name) || !strings.Contains(kv.HintOf(err), name+":"+path) {
				t.Errorf("%s%s: got %v, hint %q, want what it is and how to open it", other, mode, err, kv.HintOf(err))
			}
		}
		if got := get(t, open(t, name, path, params), "a"); got != "1" {
			t.Errorf("%s: a: got %s", other, got)
		}
	}
}

func filesAreForThisUserOnlyAndGoneAfterClose(t *testing.T, engine string) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "db")
	db := open(t, engine, path, "")
	put(t, db, "a", "1")
	size, err := db.Size()
	if err != nil || size.Files != 3 {
		t.Errorf("size: got %+v, %v, want 3 files", size, err)
	}
	for _, name := range []string{dir, path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	closeDB(t, db)
	if got := names(t, dir); got != "db" {
		t.Errorf("after Close the folder holds %q, want db alone", got)
	}
}

func optionsAreInForceAndReadBack(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, engine, path, "?journal_mode=DELETE&page_size=8192&cache_size=-4000&mmap_size=65536"+
		"&wal_autocheckpoint=50&synchronous=FULL")
	got := map[string]string{}
	for _, s := range db.Settings() {
		got[s.Name] = s.Value
	}
	for name, want := range map[string]string{"journal_mode": "DELETE", "page_size": "8192",
		"cache_size": "-4000", "mmap_size": "65536", "wal_autocheckpoint": "50",
		"synchronous(flushed)": "FULL"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if !strings.HasPrefix(got["sqlite_version"], "3.") {
		t.Errorf("sqlite_version: got %q", got["sqlite_version"])
	}
	put(t, db, "a", "1")
	err := db.Update(t.Context(), kv.Synced, func(*kv.Tx) error { return nil })
	wantKind(t, "a synced commit under synchronous=FULL in DELETE mode", err, kv.Unsupported)
	closeDB(t, db)
	_, err = kv.Open(t.Context(), engine+":"+path+"?page_size=4096") // and leaves the journal mode as it is
	wantKind(t, "another page_size on an existing database", err, kv.Unsupported)
	_, err = kv.Open(t.Context(), engine+":"+path+"2?page_size=1000")
	wantKind(t, "a page_size that SQLite does not take", err, kv.Unsupported)
	_, err = kv.Open(t.Context(), engine+":"+path+"?mode=ro&journal_mode=WAL")
	wantKind(t, "another journal_mode read-only", err, kv.Unsupported)
	for _, bad := range []string{"page_size=100", "journal_mode=OFF", "synchronous=2", "mmap_size=-1",
		"wal_autocheckpoint=0", "immutable=true", "Key=k"} {
		_, err = kv.Open(t.Context(), engine+":"+path+"?"+bad)
		wantKind(t, bad, err, kv.Invalid)
	}
	if db := open(t, engine, path, ""); get(t, db, "a") != "1" || db.Caps().ReadersBlockWriters != kv.Never {
		t.Errorf("opened without options the database is not in WAL mode")
	}
}

func readOnlyChangesNothing(t *testing.T, engine string) {
	for _, journal := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "db")
		db := open(t, engine, path, "?journal_mode="+journal)
		put(t, db, "a", "1")
		closeDB(t, db)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		reader := open(t, engine, path, "?mode=ro")
		second := open(t, engine, path, "?mode=ro")
		if get(t, reader, "a") != "1" || get(t, second, "a") != "1" {
			t.Errorf("%s: a is lost", journal)
		}
		if err := reader.Check(t.Context()); err != nil {
			t.Errorf("%s: check: %v", journal, err)
		}
		closeDB(t, second)
		closeDB(t, reader)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the database changed (%v)", journal, err)
		}
		if left := beside(t, path); len(left) > 0 {
			t.Errorf("%s: reading left %v", journal, left)
		}
		if _, err := kv.Open(t.Context(), engine+":"+path+"?mode=ro&journal_mode=DELETE&page_size=512"); err == nil {
			t.Errorf("%s: opened with a size of pages that it does not have", journal)
		}
		if left := beside(t, path); len(left) > 0 {
			t.Errorf("%s: an opening that was refused left %v", journal, left)
		}
		put(t, open(t, engine, path, ""), "a", "2")
	}
}

// beside lists the files that a database has beside it.
func beside(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + "-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// readOnlyRemovesNoLogOfOthers ends looks that began before a program, beside it, and beside
// another look.
func readOnlyRemovesNoLogOfOthers(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	closeDB(t, open(t, engine, path, ""))
	reader := open(t, engine, path, "?mode=ro")
	writer := open(t, engine, path, "")
	put(t, writer, "a", "1")
	closeDB(t, reader)
	if left := beside(t, path); len(left) != 2 {
		t.Errorf("beside a program: there are %v", left)
	}
	put(t, writer, "b", "2")
	copied := filepath.Join(t.TempDir(), "killed")
	for _, suffix := range []string{"", "-wal"} { // as a kill leaves them
		if out, err := exec.Command("cp", path+suffix, copied+suffix).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	before, err := os.ReadFile(copied + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	killed := open(t, engine, copied, "?mode=ro")
	if got := get(t, killed, "b"); got != "2" {
		t.Errorf("of a killed program: b is %q", got)
	}
	closeDB(t, killed)
	if after, err := os.ReadFile(copied + "-wal"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the log of a killed program was changed: %v", err)
	}
	closeDB(t, writer)
	first := open(t, engine, path, "?mode=ro")
	second := open(t, engine, path, "?mode=ro")
	closeDB(t, first)
	if got := get(t, second, "b"); got != "2" {
		t.Errorf("beside a look that has ended: b is %q", got)
	}
	closeDB(t, second)
	closeDB(t, open(t, engine, path, "")) // what they left goes with the next one who writes
	if left := beside(t, path); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
}

func readOnlyReadsWhatAWriterCommits(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	writer := open(t, engine, path, "")
	put(t, writer, "a", "1")
	reader := open(t, engine, path, "?mode=ro")
	put(t, writer, "a", "2")
	if got := get(t, reader, "a"); got != "2" {
		t.Errorf("a: got %s, want 2", got)
	}
}

func immutableNeedsNoCompanionsAndIsRefusedWhereTheyHoldCommits(t *testing.T, engine string) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b%3F#db")
	url := strings.NewReplacer("%", "%25").Replace(path)
	db := open(t, engine, url, "")
	put(t, db, "a", "1")
	_, err := kv.Open(t.Context(), engine+":"+url+"?mode=ro&immutable=true")
	wantKind(t, "immutable beside a log that is not empty", err, kv.Invalid)
	closeDB(t, db)
	reader := open(t, engine, url, "?mode=ro&immutable=true")
	if got := get(t, reader, "a"); got != "1" {
		t.Errorf("a: got %s, want 1", got)
	}
	if got := names(t, dir); got != filepath.Base(path) {
		t.Errorf("the folder holds %q", got)
	}
}

func aWriterWaitsForALockUntilItsTimeIsUp(t *testing.T, engine string) {
	for _, journal := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "db")
		holder := open(t, engine, path, "?journal_mode="+journal)
		hasty := open(t, engine, path, "?wait=0s&journal_mode="+journal)
		patient := open(t, engine, path, "?wait=1h&journal_mode="+journal)
		nothing := func(*kv.Tx) error { return nil }
		released := make(chan error, 1)
		err := holder.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
			wantKind(t, journal+": update", hasty.Update(t.Context(), kv.Flushed, nothing), kv.Busy)
			wantKind(t, journal+": write", hasty.Put(t.Context(), kv.Flushed, []byte("b"), nil), kv.Busy)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			if err := patient.Update(ctx, kv.Flushed, nothing); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: the context of an update has ended: got %v", journal, err)
			}
			go func() { released <- patient.Put(context.Background(), kv.Flushed, []byte("b"), []byte("2")) }()
			return tx.Put([]byte("a"), []byte("1"))
		})
		if err := errors.Join(err, <-released); err != nil {
			t.Fatalf("%s: %v", journal, err)
		}
		if get(t, hasty, "a")+get(t, hasty, "b") != "12" {
			t.Errorf("%s: a commit is lost", journal)
		}
	}
}

// aReaderWaitsForACommitNoLongerThanItsContext has another connection hold the lock that keeps
// readers out. lateDir is t.TempDir for a test that gives an opening up, which goes on by itself
// for a moment and may make files.
func lateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "late")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for tries := 0; os.RemoveAll(dir) != nil; tries++ {
			if time.Sleep(10 * time.Millisecond); tries == 6000 {
				t.Errorf("%s cannot be removed", dir)
				return
			}
		}
	})
	return dir
}

func aReaderWaitsForACommitNoLongerThanItsContext(t *testing.T, engine string) {
	path := filepath.Join(lateDir(t), "db")
	db := open(t, engine, path, "?journal_mode=DELETE&wait=1h")
	put(t, db, "a", "1")
	other := openStoreAt(t, engine, path, map[string]string{"journal_mode": "DELETE"})
	if err := other.Writer().Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(context.Context) error{
		"view": func(ctx context.Context) error { return db.View(ctx, func(*kv.Snapshot) error { return nil }) },
		"update": func(ctx context.Context) error {
			return db.Update(ctx, kv.Flushed,
				func(*kv.Tx) error { return nil })
		},
		"check":  db.Check,
		"backup": func(ctx context.Context) error { return db.Backup(ctx, filepath.Join(t.TempDir(), "copy")) },
		"open": func(ctx context.Context) error {
			_, err := kv.Open(ctx, engine+":"+path+"?journal_mode=DELETE&wait=1h")
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the end of its context", what, err)
		}
		cancel()
	}
	checked := make(chan error, 1)
	go func() { checked <- db.Check(context.Background()) }()
	if err := other.Writer().Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-checked; err != nil {
		t.Errorf("a check that waited for the lock: %v", err)
	}
}

func aCommitThatReadersBlockIsBusyAndLeavesNothing(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, engine, path, "?journal_mode=DELETE&wait=0s")
	patient := open(t, engine, path, "?journal_mode=DELETE&wait=1h")
	put(t, db, "a", "1")
	committed := make(chan error, 2)
	err := db.View(t.Context(), func(*kv.Snapshot) error {
		change := func(tx *kv.Tx) error { return tx.Put([]byte("a"), []byte("2")) }
		wantKind(t, "write", db.Put(t.Context(), kv.Flushed, []byte("a"), []byte("2")), kv.Busy)
		wantKind(t, "update", db.Update(t.Context(), kv.Flushed, change), kv.Busy)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if err := patient.Update(ctx, kv.Flushed, change); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context of a commit has ended: got %v", err)
		}
		if got := get(t, db, "a"); got != "1" {
			t.Errorf("a: got %s, want 1", got)
		}
		tx, err := patient.Begin(t.Context(), kv.Flushed)
		if err != nil {
			return err
		}
		if err := tx.Put([]byte("b"), []byte("3")); err != nil {
			return err
		}
		go func() { committed <- tx.Commit() }() // it waits for this View
		return nil
	})
	if err := errors.Join(err, <-committed); err != nil {
		t.Fatal(err)
	}
	if got := get(t, db, "a") + get(t, db, "b"); got != "13" {
		t.Errorf("a and b: got %s, want 1 and 3", got)
	}
	put(t, db, "a", "4")
}

func aBackupIsAStoreOfItsOwn(t *testing.T, engine string) {
	dir := t.TempDir()
	db := open(t, engine, filepath.Join(dir, "db"), "")
	put(t, db, "a", "1")
	copied := filepath.Join(dir, "it's a copy")
	if err := db.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	put(t, db, "a", "2")
	for _, params := range []string{"?mode=ro", ""} {
		if got := get(t, open(t, engine, copied, params), "a"); got != "1" {
			t.Errorf("a in the copy: got %s, want 1", got)
		}
	}
	if info, err := os.Stat(copied); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v (%v)", info.Mode(), err)
	}
}

func compactShrinksTheFileBesideAReader(t *testing.T, engine string) {
	db := open(t, engine, filepath.Join(t.TempDir(), "db"), "")
	for i := range 20 {
		put(t, db, fmt.Sprint(i), strings.Repeat("x", 100_000))
	}
	err := db.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
		for i := range 19 {
			if err := tx.Delete(fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size, err := db.Size(); err != nil || size.Apparent > 300_000 {
		t.Errorf("size after Compact: %+v, %v", size, err)
	}
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		if err := db.Compact(t.Context()); err != nil {
			t.Errorf("compact beside a reader: %v", err)
		}
		_, err := s.Get([]byte("19"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func aRelativePathHoldsAfterTheProgramChangedItsFolder(t *testing.T, engine string) {
	t.Chdir(t.TempDir())
	db := open(t, engine, "db", "")
	put(t, db, "a", "1")
	err := db.View(t.Context(), func(*kv.Snapshot) error {
		t.Chdir(t.TempDir())
		if got := get(t, db, "a"); got != "1" { // on a second connection
			t.Errorf("a: got %s, want 1", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
}

// workerVar makes TestProcesses run the part of a worker: the URL and the worker's name.
const workerVar = "SQLITE_WORKER"

const workerPuts = 25

func processesThatOpenPutAndCloseLoseNothing(t *testing.T, engine string) {
	shareStore(t, []string{engine})
}

// shareStore runs workers that open one store at once, each with the next of the engines, and looks
// for what they put.
func shareStore(t *testing.T, engines []string) {
	if part, ok := os.LookupEnv(workerVar); ok {
		work(t, part)
		return
	}
	for _, journal := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "db")
		var workers []*exec.Cmd
		for i := range 8 {
			cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%s?wait=1m&journal_mode=%s %d", workerVar,
				engines[i%len(engines)], path, journal, i))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, cmd)
		}
		for i, cmd := range workers {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: worker %d: %v\n%s", journal, i, err, cmd.Stdout)
			}
		}
		db := open(t, engines[0], path, "?journal_mode="+journal)
		for i := range workers {
			for n := range workerPuts {
				if got := get(t, db, fmt.Sprintf("%d-%d", i, n)); got != fmt.Sprint(n) {
					t.Fatalf("%s: put %d of worker %d: got %q", journal, n, i, got)
				}
			}
		}
		closeDB(t, db)
	}
}

// work opens, puts and closes, and reads beside the commits of others. SQLite takes the journal of
// one that has just begun for what a dead process has left.
func work(t *testing.T, part string) {
	url, name, _ := strings.Cut(part, " ")
	for n := range workerPuts {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%s-%d", name, n)
		put(t, db, key, fmt.Sprint(n))
		closeDB(t, db)
		if db, err = kv.Open(t.Context(), url+"&mode=ro"); err != nil { // which removes a log that it has made
			t.Fatal(err)
		}
		if got := get(t, db, key); got != fmt.Sprint(n) {
			t.Errorf("put %s: got %q", key, got)
		}
		closeDB(t, db)
	}
}

// A journal that a dead process has left is undone by one who may write. Who may not is told at
// once, whether it opens the store then or has it open. That of a commit which began behind
// SQLite's look for its lock is waited for.
func whoReadsAloneIsToldOfADeadCommit(t *testing.T, engine string) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "db"), filepath.Join(dir, "left")
	db := open(t, engine, path, "?journal_mode=DELETE")
	put(t, db, "a", "0")
	beside := open(t, engine, path, "?mode=ro").Driver().(*sqlite.Store)
	seen := sqlite.NewError(sqlite.ReadOnlyRollback, "a journal", nil)
	wantKind(t, "a journal that has gone", beside.Abandoned(seen), kv.Busy)
	tx, err := db.Begin(t.Context(), kv.Synced)
	if err == nil {
		err = tx.Put([]byte("a"), []byte("1"))
	}
	wantKind(t, "a journal of a live commit", beside.Abandoned(seen), kv.Busy)
	var journal []byte
	for _, ending := range []string{"", "-journal"} {
		data, failed := os.ReadFile(path + ending)
		if err = errors.Join(err, failed); err == nil && ending == "" {
			err = os.WriteFile(left, data, 0o600)
		}
		journal = data
	}
	if err := errors.Join(err, tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	journal[0] = 0xd9 // the first magic byte, which is there as soon as the journal is synced
	url := engine + ":" + left + "?mode=ro&wait=1m"
	reads, err := kv.Open(t.Context(), url)
	if err == nil {
		err = os.WriteFile(left+"-journal", journal, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = reads.Get(t.Context(), []byte("a"))
	wantKind(t, "a get", err, kv.NotWritable)
	_, err = reads.Snapshot(t.Context())
	wantKind(t, "a snapshot", err, kv.NotWritable)
	_, err = kv.Open(t.Context(), url)
	wantKind(t, "opening", err, kv.NotWritable)
	if hint := kv.HintOf(err); !strings.Contains(hint, "without mode=ro") {
		t.Errorf("hint: %q", hint)
	}
	closeDB(t, open(t, engine, left, "?journal_mode=DELETE"))
	if got := get(t, reads, "a"); got != "0" {
		t.Errorf("got %q", got)
	}
	closeDB(t, reads)
}

// aWriteComesThroughBesideReadersThatNeverPause holds a snapshot at any time: it lets go of one
// when it has the next, or is refused it because a commit keeps new ones out.
func aWriteComesThroughBesideReadersThatNeverPause(t *testing.T, engine string) {
	db := open(t, engine, filepath.Join(t.TempDir(), "db"), "?journal_mode=DELETE&wait=1m")
	put(t, db, "a", "0")
	ctx, stop := context.WithCancel(t.Context())
	held, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		for ctx.Err() == nil {
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			next, err := db.Snapshot(short)
			cancel()
			cerr := held.Close()
			if err != nil {
				next, err = db.Snapshot(context.Background())
			}
			if err := errors.Join(err, cerr); err != nil {
				ended <- err
				return
			}
			held = next
		}
		ended <- held.Close()
	}()
	for i := range 5 {
		put(t, db, "a", fmt.Sprint(i))
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := get(t, db, "a"); got != "4" {
		t.Errorf("a: got %s, want 4", got)
	}
}
