package state_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
	"github.com/assaydb/assay/stores/state/sqlitelegacy"
)

func lineStore(t *testing.T, dir string, wait time.Duration) *state.Store {
	t.Helper()
	store, err := state.New("bbolt:"+dir, &state.Options{Wait: wait, Buckets: []state.Bucket{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A writer that waits for readers is not passed by readers that come later: one after the other
// would keep it out.
func TestReadersThatComeLaterDoNotPassAWriter(t *testing.T) {
	dir, key := t.TempDir(), []byte("k")
	patient := lineStore(t, dir, time.Minute)
	if err := patient.Put(t.Context(), "a", key, []byte("old")); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	err := patient.View(t.Context(), "a", func(*state.View) error {
		go func() { written <- patient.Put(t.Context(), "a", key, []byte("new")) }()
		for {
			if _, err := os.Lstat(filepath.Join(dir, ".sign-state")); err == nil {
				break
			}
			select {
			case err := <-written:
				t.Errorf("the writer did not wait: %v", err)
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		if v, err := lineStore(t, dir, time.Millisecond).Get(t.Context(), "a", key); !errors.Is(err, kv.Busy) {
			t.Errorf("a reader passed the writer that waits: it got %q, %v", v, err)
		}
		return nil
	})
	if err = errors.Join(err, <-written); err != nil {
		t.Fatal(err)
	}
	if v, err := patient.Get(t.Context(), "a", key); string(v) != "new" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestASignThatAKilledWriterLeftIsTakenDown(t *testing.T) {
	dir := t.TempDir()
	store := lineStore(t, dir, time.Minute)
	sign := filepath.Join(dir, ".sign-state")
	err := errors.Join(store.Put(t.Context(), "a", []byte("k"), []byte("v")), os.WriteFile(sign, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("k")); string(v) != "v" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	if _, err := os.Lstat(sign); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sign is still there: %v", err)
	}
}

// What lies beside a file and is not the store's is left alone, whatever it is called.
func TestSettingAsideTouchesItsOwnFilesOnly(t *testing.T) {
	dir := t.TempDir()
	store, err := state.New("bbolt:"+dir, &state.Options{Files: map[state.Kind]string{state.Cache: "mytool",
		state.State: "mytool-state"},
		Buckets: []state.Bucket{{Name: "a"}, {Name: "c", Kind: state.Cache}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(store.Put(t.Context(), "a", []byte("k"), []byte("kept")),
		store.Put(t.Context(), "c", []byte("k"), []byte("v")))
	for _, name := range []string{"mytool.new", "mytool-notes", "mytool-state.new"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "mytool"), []byte("damage"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "c", []byte("k"), []byte("w")); err != nil {
		t.Fatal(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("k")); string(v) != "kept" || err != nil {
		t.Errorf("the state: got %q, %v", v, err)
	}
	for _, name := range []string{"mytool.new", "mytool-notes", "mytool-state.new"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != name {
			t.Errorf("%s of another program: %q, %v", name, data, err)
		}
	}
}

// A process that waits in line has the file open already. If the file was replaced meanwhile it
// changes the new one.
func TestAWriterInLineDoesNotChangeAFileThatWasReplaced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only here the test can tell who waits")
	}
	ctx, dir := t.Context(), t.TempDir()
	store, err := state.New("sqlite:"+dir, &state.Options{Durability: kv.Flushed, Wait: time.Minute,
		Buckets: []state.Bucket{{Name: "b"}}})
	if err == nil {
		err = store.Put(ctx, "b", []byte("before"), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	line := flock.New(filepath.Join(dir, ".lock-state"))
	if err := line.Lock(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- store.Put(ctx, "b", []byte("after"), nil) }()
	for opened(line.Path()) < 2 {
		select {
		case err := <-done:
			t.Fatalf("the writer did not wait: %v", err)
		default:
		}
	}
	path := filepath.Join(dir, "state.db")
	whole, err := os.ReadFile(path)
	if err == nil {
		err = errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, whole, 0o600), line.Unlock())
	}
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"before", "after"} {
		if _, err := store.Get(ctx, "b", []byte(key)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// opened returns how often this process has a file open.
func opened(path string) (n int) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == path {
			n++
		}
	}
	return n
}

// An older program that has its file open keeps the log and the index of it beside it. They go
// before the file gets another name: whoever opens the new one would take them for its own.
func TestCompanionsOfAnOlderFileGoBeforeItsName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it removes no file that a program has open")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tool.db")
	older, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	if _, err := older.Exec(`CREATE TABLE kv (k TEXT, v TEXT); INSERT INTO kv VALUES ('a', 'b')`); err != nil {
		t.Fatal(err)
	}
	there := func(ending string) bool {
		_, err := os.Lstat(path + ending)
		return err == nil
	}
	if !there("-wal") || !there("-shm") {
		t.Fatal("the older program has no log")
	}
	last := ""
	store, err := state.New("bbolt:"+dir, &state.Options{Older: "tool.db",
		Buckets: []state.Bucket{{Name: "a"}},
		Legacy:  sqlitelegacy.Tables(sqlitelegacy.Table{Bucket: "a", Name: "kv", Key: "k", Value: "v"}),
		Now: func() time.Time { // is asked right before the file is renamed, for the name of one that is in the way
			if there("") {
				last = fmt.Sprint(there("-wal"), there("-shm"))
			}
			return time.Now()
		}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("a")); err != nil || string(v) != "b" {
		t.Fatalf("got %q, %v", v, err)
	}
	if there("") || last != "false false" {
		t.Errorf("the file is there: %v; before its last name -wal and -shm were there: %s", there(""), last)
	}
}
