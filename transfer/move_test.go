package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// open opens the store that was at from before.
func open(t *testing.T, to string, o *transfer.MoveOptions, from ...string) *kv.DB {
	t.Helper()
	db, err := transfer.Open(t.Context(), to, from, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closed(t *testing.T, db *kv.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// change puts a pair into a store as a program does that knows nothing of a move.
func change(t *testing.T, rawURL, key, value string) {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Put(t.Context(), db.Caps().Strongest(), []byte(key), []byte(value)),
		db.Close()); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, db *kv.DB, key, want string) {
	t.Helper()
	if got, err := db.Get(t.Context(), []byte(key)); err != nil || string(got) != want {
		t.Errorf("%s of %s: got %q, %v, want %q", key, db.Path(), got, err, want)
	}
}

// same fails unless both stores are equal.
func same(t *testing.T, a, b string) {
	t.Helper()
	c, err := transfer.Verify(t.Context(), a, b, nil)
	if err != nil || c.Differing != 0 || c.A.Pairs == 0 {
		t.Fatalf("%s and %s: %d of %d pairs differ, %v", a, b, c.Differing, c.A.Pairs, err)
	}
}

// TestOpenMoves: the first opening moves the store, and keeps or removes the old one; a later one
// has nothing to do.
func TestOpenMoves(t *testing.T) {
	for _, from := range engines {
		for _, keep := range []transfer.Old{transfer.Keep, transfer.Remove} {
			t.Run(fmt.Sprint(from, " ", keep), func(t *testing.T) {
				dir, old := small(t, from)
				to := "bbolt:" + filepath.Join(dir, "new")
				o := &transfer.MoveOptions{Old: keep}
				db := open(t, to, o, "pebble:"+filepath.Join(dir, "never"), old)
				holds(t, db, "07", "value 7")
				closed(t, db)
				_, err := os.Lstat(filepath.Join(dir, "old"))
				if there := err == nil; there != (keep == transfer.Keep) {
					t.Fatalf("the old store: %v", err)
				}
				if keep == transfer.Keep {
					same(t, old, to)
				}
				change(t, to, "new", "1")
				db = open(t, to, o, old)
				defer closed(t, db)
				holds(t, db, "new", "1")
				holds(t, db, "99", "value 99")
				if left := hidden(dir); left != ".new.moved" {
					t.Errorf("beside the store: %s", left)
				}
			})
		}
	}
}

// TestOpenWithoutAnOldStore makes the new one, as kv.Open does.
func TestOpenWithoutAnOldStore(t *testing.T) {
	dir := t.TempDir()
	to := "pebble:" + filepath.Join(dir, "new")
	closed(t, open(t, to, nil, "bbolt:"+filepath.Join(dir, "none")))
	closed(t, open(t, to, nil))
	if _, err := transfer.Migrate(t.Context(), "bbolt:"+filepath.Join(dir, "none"), to, nil); !errors.Is(err,
		kv.NoStore) {
		t.Errorf("Migrate of a store that is not there: %v", err)
	}
}

// TestOlderProgramWritesAfterTheMove: the new store gets it as long as it was not changed itself;
// then it is a conflict, and neither store is touched.
func TestOlderProgramWritesAfterTheMove(t *testing.T) {
	for i, from := range engines {
		for n, to := range []string{"pebble", "sqlite", "bbolt"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				if testing.Short() && i%3 != n {
					t.Skip("each engine moves to one of the three: without -short")
				}
				dir, old := small(t, from)
				to := to + ":" + filepath.Join(dir, "new")
				closed(t, open(t, to, nil, old))
				change(t, old, "07", "of the older program")
				change(t, old, "later", "of the older program")
				remove(t, old, "50")
				done, err := transfer.Migrate(t.Context(), old, to, nil)
				if err != nil || done.Outcome != transfer.Caught || done.Pairs != 100 {
					t.Fatalf("what an older program has changed: %+v, %v", done, err)
				}
				same(t, old, to)
				db := open(t, to, nil, old)
				holds(t, db, "07", "of the older program")
				closed(t, db)

				change(t, to, "mine", "1")
				closed(t, open(t, to, nil, old)) // the old one was not changed
				change(t, old, "later", "again")
				_, err = transfer.Open(t.Context(), to, []string{old}, nil)
				if !errors.Is(err, kv.Conflict) || kv.HintOf(err) == "" {
					t.Fatalf("both were changed: %v", err)
				}
				for url, want := range map[string]string{to: "of the older program", old: "again"} {
					db, err := transfer.OpenExisting(t.Context(), url, transfer.Look)
					if err != nil {
						t.Fatal(err)
					}
					holds(t, db, "later", want)
					closed(t, db)
				}
			})
		}
	}
}

func remove(t *testing.T, rawURL, key string) {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Delete(t.Context(), db.Caps().Strongest(), []byte(key)), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOldStoresOfOldStores: a store that was moved twice is not taken for what it was first, when
// that is still there.
func TestOldStoresOfOldStores(t *testing.T) {
	dir, first := small(t, "bbolt")
	second, third := "leveldb:"+filepath.Join(dir, "second"), "pebble:"+filepath.Join(dir, "third")
	closed(t, open(t, second, nil, first))
	change(t, second, "07", "changed")
	for range 2 {
		db := open(t, third, &transfer.MoveOptions{Old: transfer.Remove}, second, first)
		holds(t, db, "07", "changed")
		closed(t, db)
		change(t, third, "08", "changed, too")
	}
	if _, err := os.Lstat(filepath.Join(dir, "old")); err != nil {
		t.Errorf("the first store: %v", err)
	}
}

// TestTwoStoresThatNobodyMoved are a conflict unless they are equal.
func TestTwoStoresThatNobodyMoved(t *testing.T) {
	dir, old := small(t, "bbolt")
	to := "pebble:" + filepath.Join(dir, "new")
	copied(t, old, to, nil) // by assay copy
	done, err := transfer.Migrate(t.Context(), old, to, &transfer.MoveOptions{Old: transfer.Remove})
	if err != nil || done.Outcome != transfer.Stayed || done.Kept {
		t.Errorf("equal ones: %+v, %v", done, err)
	}
	_, old = small(t, "bbolt")
	change(t, to, "mine", "1")
	if _, err := transfer.Migrate(t.Context(), old, to, nil); !errors.Is(err, kv.Conflict) {
		t.Errorf("different ones: %v", err)
	}
}

// TestNotWithin: who removes the old store must not remove the new one with it.
func TestNotWithin(t *testing.T) {
	for _, engine := range []string{"bbolt", "leveldb", "pebble"} {
		t.Run(engine, func(t *testing.T) {
			dir, from := small(t, engine)
			old := filepath.Join(dir, "old")
			if err := os.Symlink(old, filepath.Join(dir, "link")); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			for _, to := range []string{"old", "link", "old/new", "old/deep/er/new", "link/new"} {
				to := "bbolt:" + filepath.Join(dir, filepath.FromSlash(to))
				_, err := transfer.Migrate(t.Context(), from, to, &transfer.MoveOptions{Old: transfer.Remove})
				_, planned := transfer.Plan(t.Context(), from, to, nil)
				_, copied := transfer.Copy(t.Context(), from, to, nil)
				for _, err := range []error{err, planned, copied} {
					if !errors.Is(err, kv.Invalid) {
						t.Errorf("%s to %s: error %v, want one of kind %v", from, to, err, kv.Invalid)
					}
				}
			}
			to := "bbolt:" + filepath.Join(dir, "old-new") // beside it, however alike the names are
			if _, err := transfer.Copy(t.Context(), from, to, nil); err != nil {
				t.Fatal(err)
			}
			same(t, from, to)
		})
	}
}

// TestADamagedStoreIsNeitherCopiedNorRemoved: Badger's reads end at a block that they cannot read,
// without an error, so that a copy would lack all behind it.
func TestADamagedStoreIsNeitherCopiedNorRemoved(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	from, to := "badger:"+old, "bbolt:"+filepath.Join(dir, "new")
	fill(t, from, 5000)
	tables, err := filepath.Glob(filepath.Join(old, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		clear(data[len(data)/3 : len(data)/3*2])
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := "pebble:" + filepath.Join(dir, "empty")
	fill(t, empty, 0)
	if c, err := transfer.Verify(t.Context(), empty, from, nil); !errors.Is(err, kv.Corrupt) {
		t.Errorf("verify: error %v after %+v, want one of kind %v", err, c, kv.Corrupt)
	}
	if done, err := transfer.Copy(t.Context(), from, to, nil); !errors.Is(err, kv.Corrupt) {
		t.Errorf("copy: error %v after %+v, want one of kind %v", err, done, kv.Corrupt)
	}
	for _, what := range []transfer.Old{transfer.Keep, transfer.Remove} {
		done, err := transfer.Migrate(t.Context(), from, to, &transfer.MoveOptions{Old: what})
		if !errors.Is(err, kv.Corrupt) {
			t.Errorf("error %v after %+v, want one of kind %v", err, done, kv.Corrupt)
		}
	}
	for path, want := range map[string]bool{old: true, filepath.Join(dir, "new"): false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	nothingBeside(t, filepath.Join(dir, "new"))
}

// TestOlderProgramHasItOpen: a writer of the old store keeps the move waiting; while the store is
// moved it cannot commit.
func TestOlderProgramHasItOpen(t *testing.T) {
	for _, from := range []string{"bbolt", "pebble"} {
		dir, old := small(t, from)
		to := "sqlite:" + filepath.Join(dir, "new")
		db, err := kv.Open(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transfer.Open(t.Context(), to, []string{old},
			&transfer.MoveOptions{Wait: time.Nanosecond}); !errors.Is(err, kv.Busy) {
			t.Errorf("%s that a process has open: %v", from, err)
		}
		closed(t, db)
		closed(t, open(t, to, nil, old))
		same(t, old, to)
	}
	dir, old := small(t, "sqlite")
	to := "pebble:" + filepath.Join(dir, "new")
	older, err := kv.Open(t.Context(), old+"?wait=0")
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, older)
	change(t, old, "before", "1")
	refused := 0
	o := &transfer.MoveOptions{Old: transfer.Remove}
	o.Change = func(k, v []byte) ([]byte, []byte, bool) {
		if err := older.Put(t.Context(), kv.Synced, []byte("meanwhile"), nil); errors.Is(err, kv.Busy) {
			refused++
		}
		return k, v, true
	}
	done, err := transfer.Migrate(t.Context(), old, to, o)
	if err != nil || !done.Kept || done.Pairs != 101 || refused < 101 {
		t.Errorf("a store that others have open: %+v, %d writes were refused, %v", done, refused, err)
	}
	if err := older.Put(t.Context(), kv.Synced, []byte("after"), nil); err != nil {
		t.Fatal(err)
	}
	db := open(t, to, nil, old)
	holds(t, db, "after", "")
	closed(t, db)
}

// TestReadOld: who does not want to wait reads the old store.
func TestReadOld(t *testing.T) {
	for _, from := range []string{"bbolt", "sqlite", "badger", "bunt", "leveldb"} {
		t.Run(from, func(t *testing.T) {
			dir, old := small(t, from)
			to := "pebble:" + filepath.Join(dir, "new")
			read := 0
			o := &transfer.MoveOptions{}
			o.Change = func(k, v []byte) ([]byte, []byte, bool) {
				if string(k) != "50" {
					return k, v, true
				}
				db := open(t, to, &transfer.MoveOptions{Meanwhile: transfer.ReadOld}, old)
				defer closed(t, db)
				if holds(t, db, "99", "value 99"); db.Mode() == kv.ReadOnly {
					read++
				}
				return k, v, true
			}
			closed(t, open(t, to, o, old))
			if read == 0 {
				t.Error("the old store was not read")
			}
			db := open(t, to, &transfer.MoveOptions{Meanwhile: transfer.ReadOld}, old)
			defer closed(t, db)
			if db.Mode() == kv.ReadOnly {
				t.Error("the old store was opened when it had been moved")
			}
		})
	}
}

// TestMoveIsNotLeftHalfDone: an ended context leaves the old store alone, and the next call goes
// on.
func TestMoveIsNotLeftHalfDone(t *testing.T) {
	dir := t.TempDir()
	old, to := "bbolt:"+filepath.Join(dir, "old"), "sqlite:"+filepath.Join(dir, "new")
	fill(t, old, 40_000)
	ctx, cancel := context.WithCancel(t.Context())
	o := &transfer.MoveOptions{Old: transfer.Remove}
	o.Progress = func(p transfer.Progress) {
		if p.Phase == "copy" && p.Bytes > 4<<20 {
			cancel()
		}
	}
	if _, err := transfer.Open(ctx, to, []string{old}, o); !errors.Is(err, kv.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Fatal("the new store is there")
	}
	done, err := transfer.Migrate(t.Context(), old, to, nil)
	if err != nil || done.Resumed == 0 || done.Outcome != transfer.Moved {
		t.Fatalf("the next call: %+v, %v", done, err)
	}
	same(t, old, to)
}

// TestNothingToDoReadsNothing: an old store whose files are as they were is not read again, and one
// whose files are not is.
func TestNothingToDoReadsNothing(t *testing.T) {
	for _, from := range engines {
		t.Run(from, func(t *testing.T) {
			dir, old := small(t, from)
			ago := time.Now().Add(-time.Hour)
			err := filepath.WalkDir(filepath.Join(dir, "old"), func(path string, _ os.DirEntry, err error) error {
				return errors.Join(err, os.Chtimes(path, ago, ago))
			})
			if err != nil {
				t.Fatal(err)
			}
			to := "pebble:" + filepath.Join(dir, "new")
			read := 0
			o := &transfer.MoveOptions{}
			o.Change = func(k, v []byte) ([]byte, []byte, bool) { read++; return k, v, true }
			for opening, want := range []bool{true, false, false} {
				read = 0
				closed(t, open(t, to, o, old))
				if (read > 0) != want {
					t.Errorf("opening %d: %d pairs of the old store were read", opening+1, read)
				}
			}
			change(t, old, "later", "1")
			db := open(t, to, o, old)
			defer closed(t, db)
			if holds(t, db, "later", "1"); read < 100 {
				t.Errorf("the old store was changed, and %d pairs of it were read", read)
			}
		})
	}
}

// TestCarriedElsewhere: old and new store may be carried to another folder together.
func TestCarriedElsewhere(t *testing.T) {
	dir, old := small(t, "bbolt")
	closed(t, open(t, "pebble:"+filepath.Join(dir, "new"), nil, old))
	change(t, "pebble:"+filepath.Join(dir, "new"), "mine", "1")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(dir, elsewhere); err != nil {
		t.Fatal(err)
	}
	db := open(t, "pebble:"+filepath.Join(elsewhere, "new"), nil, "bbolt:"+filepath.Join(elsewhere, "old"))
	defer closed(t, db)
	holds(t, db, "mine", "1")
}

// TestOldStoreOfAKilledProcess: what a killed process has left is recovered and moved.
func TestOldStoreOfAKilledProcess(t *testing.T) {
	for _, from := range engines {
		t.Run(from, func(t *testing.T) {
			dir := t.TempDir()
			old, to := from+":"+filepath.Join(dir, "old"), "bbolt:"+filepath.Join(dir, "new")
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), writeTask+"="+old)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			var acknowledged int
			if _, err := fmt.Fscan(out, &acknowledged); err != nil {
				t.Fatal(err)
			}
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // it was killed
			done, err := transfer.Migrate(t.Context(), old, to, &transfer.MoveOptions{Old: transfer.Remove})
			if err != nil || int(done.Pairs) != acknowledged || done.Kept {
				t.Errorf("%+v, %v, want %d pairs", done, err, acknowledged)
			}
		})
	}
}
