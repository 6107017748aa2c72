package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/transfer"
	"github.com/assaydb/assay/transfer/sqltable"
)

// interrupted begins a copy of a store of some megabytes, and ends it amid.
func interrupted(t *testing.T, from, to string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := &transfer.Options{Progress: func(p transfer.Progress) {
		if p.Phase == "copy" && p.Bytes > 4<<20 { // more than can wait: some is committed
			cancel()
		}
	}}
	if _, err := transfer.Copy(ctx, from, to, o); !errors.Is(err, kv.Canceled) {
		t.Fatalf("an ended copy: %v", err)
	}
}

// TestARefusedPairLeavesNothing: the next copy would be refused as well, so that it would go on
// with nothing.
func TestARefusedPairLeavesNothing(t *testing.T) {
	dir, from := small(t, "bbolt")
	to := filepath.Join(dir, "new")
	table := sqltable.URL(to, sqltable.Table{Name: "t", Key: []sqltable.Column{{Name: "k"}},
		Value: []sqltable.Column{{Name: "a", Type: sqltable.Int}, {Name: "b"}}})
	if _, err := transfer.Copy(t.Context(), from, table, nil); !errors.Is(err, kv.Invalid) {
		t.Fatalf("values that are no objects, in tables: %v, want Invalid", err)
	}
	nothingBeside(t, to)
	backwards := func(k, v []byte) ([]byte, []byte, bool) { return []byte{'9' - k[0], '9' - k[1]}, v, true }
	_, err := transfer.Copy(t.Context(), from, "pebble:"+to, &transfer.Options{Change: backwards})
	if !errors.Is(err, kv.Invalid) {
		t.Fatalf("keys out of order: %v, want Invalid", err)
	}
	nothingBeside(t, to)
}

// TestAnotherURLKeepsWhatWasCopied: an option that is mistaken, or a look at what another engine
// would hold, does not cost what was copied.
func TestAnotherURLKeepsWhatWasCopied(t *testing.T) {
	dir := t.TempDir()
	from, to := "bbolt:"+filepath.Join(dir, "old"), filepath.Join(dir, "new")
	fill(t, from, 40_000)
	interrupted(t, from, "pebble:"+to)
	if _, err := transfer.Plan(t.Context(), from, "sqlite:"+to, nil); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"pebble:" + to + "?nosuch=1", "nosuch:" + to} {
		if _, err := transfer.Copy(t.Context(), from, wrong, nil); !errors.Is(err, kv.Invalid) {
			t.Fatalf("%s: %v", wrong, err)
		}
	}
	report := copied(t, from, "pebble:"+to, nil)
	if report.Resumed == 0 {
		t.Error("no pairs were there")
	}
	equal(t, from, "pebble:"+to, nil, report)
}

// TestGoesOnWithItsOwnAlone: what a copy to another engine, or with other options, has left is not
// gone on with.
func TestGoesOnWithItsOwnAlone(t *testing.T) {
	dir := t.TempDir()
	from, to := "bbolt:"+filepath.Join(dir, "old"), filepath.Join(dir, "new")
	fill(t, from, 40_000)
	for _, c := range [][2]string{{"pebble", "badger"}, {"badger", "sqlite"}, {"sqlite", "bunt"}, {"bbolt", "leveldb"},
		{"sqlite", "sqlite-wasm"}} {
		t.Run(c[0]+" to "+c[1], func(t *testing.T) {
			if testing.Short() && c[0] != "pebble" {
				t.Skip("it is the same with each engine: without -short")
			}
			to := to + c[0] + c[1]
			interrupted(t, from, c[0]+":"+to)
			report := copied(t, from, c[1]+":"+to, nil)
			if report.Resumed != 0 {
				t.Errorf("%d pairs were taken from a copy to %s", report.Resumed, c[0])
			}
			equal(t, from, c[1]+":"+to, nil, report)
		})
	}
	t.Run("another size of pages", func(t *testing.T) {
		to := "sqlite:" + to
		interrupted(t, from, to+"?page_size=1024")
		copied(t, from, to+"?page_size=8192", nil)
		db, err := transfer.OpenExisting(t.Context(), to, transfer.Look)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range db.Settings() {
			if s.Name == "page_size" && s.Value != "8192" {
				t.Errorf("pages of %s bytes", s.Value)
			}
		}
		closed(t, db)
	})
}

// TestNotIntoAStore: a place in the folder of a store, of whatever engine, is refused before
// anything is made.
func TestNotIntoAStore(t *testing.T) {
	for _, engine := range []string{"pebble", "badger", "leveldb"} {
		t.Run(engine, func(t *testing.T) {
			dir, store := small(t, engine)
			from := "bbolt:" + filepath.Join(t.TempDir(), "from")
			fill(t, from, 10)
			link := filepath.Join(dir, "link")
			if err := os.Symlink(filepath.Join(dir, "old"), link); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			before, err := os.ReadDir(filepath.Join(dir, "old"))
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{"old/new", "old/below/new", "link/new"} {
				to := "sqlite:" + filepath.Join(dir, filepath.FromSlash(at))
				_, err := transfer.Copy(t.Context(), from, to, nil)
				if !errors.Is(err, kv.Invalid) || !strings.Contains(err.Error(), "store of "+engine) || kv.HintOf(err) == "" {
					t.Errorf("a copy to %s: %v, want Invalid that names the store", at, err)
				}
				if _, err := transfer.Migrate(t.Context(), from, to, nil); !errors.Is(err, kv.Invalid) {
					t.Errorf("a move to %s: %v, want Invalid", at, err)
				}
				if _, err := transfer.Plan(t.Context(), from, to, nil); !errors.Is(err, kv.Invalid) {
					t.Errorf("a plan of %s: %v, want Invalid", at, err)
				}
			}
			after, err := os.ReadDir(filepath.Join(dir, "old"))
			if err != nil || len(after) != len(before) {
				t.Errorf("the folder has %d files, and had %d; %v", len(after), len(before), err)
			}
			db, err := kv.Open(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, db, "99", "value 99")
			closed(t, db)
		})
	}
}

// TestNamesOfTheFolder: a destination may be called as what is in the copy's folder.
func TestNamesOfTheFolder(t *testing.T) {
	for _, name := range []string{"lock", "record", "store", "sort", "trial"} {
		for _, engine := range []string{"bbolt", "pebble"} {
			dir, from := small(t, "sqlite")
			to := engine + ":" + filepath.Join(dir, name)
			if _, err := transfer.Plan(t.Context(), from, to, nil); err != nil {
				t.Errorf("a plan of %s: %v", to, err)
			}
			if _, err := transfer.Migrate(t.Context(), from, to, nil); err != nil {
				t.Errorf("a move to %s: %v", to, err)
				continue
			}
			same(t, from, to)
			if left := hidden(dir); left != "."+name+".moved" {
				t.Errorf("beside %s: %s", to, left)
			}
		}
	}
}

// TestFoldersThatWereMadeForNothing go again.
func TestFoldersThatWereMadeForNothing(t *testing.T) {
	dir, from := small(t, "bbolt")
	to := filepath.Join(dir, "a", "b", "new")
	backwards := func(k, v []byte) ([]byte, []byte, bool) { return []byte{'9' - k[0], '9' - k[1]}, v, true }
	if _, err := transfer.Copy(t.Context(), from, "pebble:"+to, &transfer.Options{Change: backwards}); err == nil {
		t.Fatal("keys out of order were copied")
	}
	if _, err := transfer.Plan(t.Context(), from, "pebble:"+to, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestACopyIsNotTakenForAMove: the record of a store that was moved to a path says nothing of
// another one that is copied there later.
func TestACopyIsNotTakenForAMove(t *testing.T) {
	dir, old := small(t, "sqlite")
	to := "bbolt:" + filepath.Join(dir, "new")
	earlier := time.Now().Add(-time.Hour) // times of this moment prove nothing
	if err := os.Chtimes(filepath.Join(dir, "old"), earlier, earlier); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Migrate(t.Context(), old, to, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	other := "pebble:" + filepath.Join(dir, "other")
	fill(t, other, 10)
	copied(t, other, to, nil)
	if _, err := transfer.Open(t.Context(), to, []string{old}, nil); !errors.Is(err, kv.Conflict) {
		t.Errorf("another store is in the place of the one that was moved: %v, want Conflict", err)
	}
}

// TestVerifyOfAPart compares keys under a prefix with those under another one, and sees no others.
func TestVerifyOfAPart(t *testing.T) {
	dir, from := small(t, "bbolt")
	to := "pebble:" + filepath.Join(dir, "new")
	fill(t, to, 100)
	db, err := kv.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 10 {
		b.Put(fmt.Appendf(nil, "one/%d", i), fmt.Appendf(nil, "value 1%d", i))
	}
	b.Put([]byte("one/x"), nil)
	if err := errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	o := &transfer.Options{Range: kv.Prefix([]byte("1")), Into: kv.Prefix([]byte("one/")),
		Change: func(k, v []byte) ([]byte, []byte, bool) { return append([]byte("one/"), k[1:]...), v, true }}
	c, err := transfer.Verify(t.Context(), from, to, o)
	if err != nil || c.Differing != 1 || len(c.First) != 1 || string(c.First[0].Key) != "one/x" || c.B.Pairs != 11 {
		t.Errorf("%+v, %v; want one key that differs, one/x", c, err)
	}
}

// remote is the engine "remote": stores in memory that are, as far as it says, on another machine.
type remote struct{ driver.Driver }

var remotes = struct {
	sync.Mutex
	stores map[string]driver.Store
}{stores: map[string]driver.Store{}}

func init() {
	d, _ := driver.Lookup("mem")
	driver.Register(remote{d})
}

func (r remote) Info() driver.Info {
	info := r.Driver.Info()
	info.Name, info.Caps.Remote = "remote", true
	info.Caps.Modes = []driver.Mode{driver.Shared, driver.ReadOnly}
	return info
}

func (r remote) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	remotes.Lock()
	defer remotes.Unlock()
	s, ok := remotes.stores[c.Path]
	if !ok {
		if c.Mode == driver.ReadOnly {
			return nil, &driver.Error{Kind: driver.NoStore, Err: errors.New("there is no table")}
		}
		var err error
		if s, err = r.Driver.Open(ctx, c); err != nil {
			return nil, err
		}
		s = unclosed{s}
		remotes.stores[c.Path] = s
	}
	return s, nil
}

// unclosed is a store that stays when it is closed.
type unclosed struct{ driver.Store }

func (unclosed) Close() error { return nil }

// TestFromAnotherMachine: the path of a store on another machine is only a name.
func TestFromAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if _, err := transfer.Copy(t.Context(), "remote:app", "bbolt:app", nil); !errors.Is(err, kv.NoStore) {
		t.Errorf("a copy of a table that is not there: %v", err)
	}
	if _, err := transfer.OpenExisting(t.Context(), "remote:app", transfer.Change); !errors.Is(err, kv.NoStore) {
		t.Errorf("a table that is not there was made to be changed: %v", err)
	}
	db, err := kv.Open(t.Context(), "remote:app", kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 100 {
		b.Put(fmt.Append(nil, i), fmt.Append(nil, i))
	}
	if err := errors.Join(db.Write(t.Context(), kv.Buffered, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	equal(t, "remote:app", "bbolt:app", nil, copied(t, "remote:app", "bbolt:app", nil))
	for name, try := range map[string]func() error{
		"a move":           func() error { _, err := transfer.Migrate(t.Context(), "remote:app", "bbolt:b", nil); return err },
		"a copy to itself": func() error { _, err := transfer.Copy(t.Context(), "remote:app", "remote:app", nil); return err },
	} {
		if err := try(); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%s: %v, want Invalid with a hint", name, err)
		}
	}
}
