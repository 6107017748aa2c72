package pebblekv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
)

func open(t *testing.T, url string, needs ...kv.Option) *kv.DB {
	t.Helper()
	db, err := kv.Open(context.Background(), url, needs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func put(t *testing.T, db *kv.DB, d kv.Durability, n int) {
	t.Helper()
	var b kv.Batch
	for i := range n {
		b.Put([]byte(strings.Repeat("k", 10)+string(rune('0'+i%10))+string(rune('a'+i/10))), make([]byte, 1000))
	}
	if err := db.Write(context.Background(), d, &b); err != nil {
		t.Fatal(err)
	}
}

// The options of a published comparison, which the lab calls "ebuse".
const ebuse = "MemTableSize=134217728&MemTableStopWritesThreshold=8&L0CompactionThreshold=4&L0StopWritesThreshold=20&" +
	"LBaseMaxBytes=536870912&BytesPerSync=1048576&CompactionConcurrencyRange=1,4"

func TestOptionsAreInForceAndToldBack(t *testing.T) {
	db := open(t, "pebble:"+t.TempDir()+"/db?"+ebuse)
	told := map[string]string{}
	for _, s := range db.Settings() {
		told[s.Name] = s.Value
	}
	for _, want := range strings.Split(ebuse, "&") {
		if name, value, _ := strings.Cut(want, "="); told[name] != value {
			t.Errorf("%s: got %s, want %s", name, told[name], value)
		}
	}
}

func TestWrongOptionsAreInvalidAndCreateNothing(t *testing.T) {
	for _, params := range []string{"MemTableSize=1", "MemTableSize=99999999999", "CompactionConcurrencyRange=4",
		"CompactionConcurrencyRange=3,2", "Compression=lzw", "CacheSize=x",
		"L0StopWritesThreshold=1"} {
		path := filepath.Join(t.TempDir(), "db")
		_, err := kv.Open(context.Background(), "pebble:"+path+"?"+params)
		if kv.KindOf(err) != kv.Invalid {
			t.Errorf("%s: got %v, want Invalid", params, err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: the folder was created", params)
		}
	}
}

func TestAStoreKeepsItsFormatUnlessANewerOneIsAskedFor(t *testing.T) {
	path := t.TempDir() + "/db"
	for _, c := range [][2]pebble.FormatMajorVersion{{16, 16}, {0, 16}, {17, 17}, {0, 17}} {
		db, err := pebblekv.Open(t.Context(), path, &pebble.Options{FormatMajorVersion: c[0]})
		if err != nil {
			t.Fatal(err)
		}
		h, _ := pebblekv.Handle(db)
		if got := h.FormatMajorVersion(); got != c[1] {
			t.Errorf("asked for %d: format %d, want %d", c[0], got, c[1])
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h, _ := pebblekv.Handle(open(t, "pebble:"+path+"-new"))
	if got := h.FormatMajorVersion(); got != pebble.FormatNewest {
		t.Errorf("a new store: format %d, want the newest", got)
	}
	for _, wrong := range []pebble.FormatMajorVersion{9999, 1} {
		_, err := pebblekv.Open(t.Context(), path, &pebble.Options{FormatMajorVersion: wrong})
		if kv.KindOf(err) != kv.Invalid {
			t.Errorf("format %d: %v, want Invalid", wrong, err)
		}
	}
}

func TestOneFolderOpensOnceUnderAllItsNames(t *testing.T) {
	dir := t.TempDir()
	open(t, "pebble:"+dir+"/db")
	if err := os.Symlink(filepath.Join(dir, "db"), filepath.Join(dir, "link")); err != nil {
		t.Skipf("NOT TESTED: no symbolic links here: %v", err)
	}
	t.Chdir(dir)
	for _, name := range []string{"db", "./db", "link", dir + "/db/../db"} {
		if _, err := kv.Open(context.Background(), "pebble:"+name, kv.WithWait(0)); kv.KindOf(err) != kv.Busy {
			t.Errorf("%s: got %v, want Busy", name, err)
		}
	}
}

func TestDamagedFilesAreCorrupt(t *testing.T) {
	for _, pattern := range []string{"MANIFEST-*", "*.sst"} {
		dir := filepath.Join(t.TempDir(), "db")
		db := open(t, "pebble:"+dir)
		put(t, db, kv.Synced, 50)
		if err := db.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		spoil(t, filepath.Join(dir, pattern))
		db, err := kv.Open(context.Background(), "pebble:"+dir)
		if err == nil {
			err = db.Check(context.Background())
			db.Close()
		}
		if kv.KindOf(err) != kv.Corrupt {
			t.Errorf("%s spoiled: got %v, want Corrupt", pattern, err)
		}
	}
}

// spoil overwrites the files with bytes that mean nothing.
func spoil(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			b[i] = byte(i*7 + 3)
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadOnlyOpensWhatIsThereAndCreatesNothing(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	for _, missing := range []string{filepath.Join(dir, "missing"), dir} {
		if _, err := kv.Open(ctx, "pebble:"+missing+"?mode=ro"); kv.KindOf(err) != kv.NoStore {
			t.Errorf("%s: got %v, want that there is no store", missing, err)
		}
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("the folder holds %v (%v), want nothing", made, err)
	}
	url := "pebble:" + dir + "/db"
	db := open(t, url)
	put(t, db, kv.Buffered, 20) // stays in the log
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, url+"?mode=ro")
	if err := db.Backup(ctx, dir+"/copy"); err != nil {
		t.Fatal(err)
	}
	for what, db := range map[string]*kv.DB{"read-only": db, "the copy": open(t, "pebble:"+dir+"/copy")} {
		if n := count(t, db); n != 20 {
			t.Errorf("%s: %d pairs, want 20", what, n)
		}
	}
}

func count(t *testing.T, db *kv.DB) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		for range s.Keys(kv.Range{}) {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDeleteRangeWithoutAnEndSeesTheTransactionsOwnKeys(t *testing.T) {
	db := open(t, "pebble:"+t.TempDir()+"/db")
	put(t, db, kv.Buffered, 20)
	err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		if err := tx.Put([]byte("\xff\xff"), nil); err != nil {
			return err
		}
		if err := tx.DeleteRange(kv.Range{}); err != nil {
			return err
		}
		if err := tx.DeleteRange(kv.Range{}); err != nil { // of nothing
			return err
		}
		return tx.Put([]byte("a"), []byte("1"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != 1 {
		t.Errorf("%d pairs are left, want the one put last", n)
	}
}

func TestPebblesOwnOptionsAndDatabases(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "db")
	o := &pebble.Options{MemTableSize: 1 << 20}
	db, err := pebblekv.Open(ctx, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.FS != nil || o.Logger != nil || o.FormatMajorVersion != 0 {
		t.Error("Open has changed the program's options")
	}
	if !slices.Contains(db.Settings(), kv.Setting{Name: "MemTableSize", Value: "1048576"}) {
		t.Errorf("the options are not in force: %v", db.Settings())
	}
	h, ok := pebblekv.Handle(db)
	if !ok {
		t.Fatal("the store has no handle")
	}
	if err := h.Set([]byte("k"), []byte("v"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Get(ctx, []byte("k")); string(v) != "v" || err != nil {
		t.Errorf("what was set through the handle: got %q, %v", v, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	if db, err = pebblekv.Open(ctx, dir, o); err != nil || db.Mode() != kv.ReadOnly {
		t.Fatalf("options that are read-only: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*pebble.Options{{L0StopWritesThreshold: 1}, {DisableWAL: true}} {
		if _, err := pebblekv.Open(ctx, dir, o); kv.KindOf(err) != kv.Invalid {
			t.Errorf("options that are refused: got %v, want Invalid", err)
		}
	}
}

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	path := filepath.Join(dir, "db")
	for _, o := range []*pebble.Options{{}, {ReadOnly: true}} {
		h, err := pebble.Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		db, err := pebblekv.Wrap(h)
		if err != nil {
			t.Fatal(err)
		}
		if db.Path() != path {
			t.Errorf("path: got %s, want %s", db.Path(), path)
		}
		if err := db.Put(ctx, kv.Buffered, []byte("k"), []byte("v")); (kv.KindOf(err) == kv.NotWritable) != o.ReadOnly {
			t.Errorf("put, read-only %v: %v", o.ReadOnly, err)
		}
		copied := filepath.Join(dir, fmt.Sprintf("copy-%v", o.ReadOnly))
		if err := errors.Join(db.Check(ctx), db.Backup(ctx, copied), db.Close()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, open(t, "pebble:"+copied)); n != 1 {
			t.Errorf("the copy holds %d pairs", n)
		}
		if v, closer, err := h.Get([]byte("k")); err != nil || string(v) != "v" {
			t.Errorf("after the store was closed: got %q, %v", v, err)
		} else if err := closer.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALargeBlockIsFoundDamagedByLooking damages bytes of two large values, one of them stored as
// it is and one compressed: Pebble's own error comes after a minute's search.
func TestALargeBlockIsFoundDamagedByLooking(t *testing.T) {
	for _, compression := range []string{"none", "zstd"} {
		ctx, path := t.Context(), filepath.Join(t.TempDir(), "db")
		db, err := kv.Open(ctx, "pebble:"+path+"?Compression="+compression)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.NewChaCha8([32]byte{2})
		for _, k := range []string{"a", "b", "c"} {
			value := make([]byte, 1<<20)
			_, _ = rng.Read(value) // never fails
			err = errors.Join(err, db.Put(ctx, kv.Synced, []byte(k), value))
		}
		if err := errors.Join(err, db.Compact(ctx), db.Close()); err != nil {
			t.Fatal(err)
		}
		damaged := 0
		for _, name := range tables(t, path) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) < 3<<20 {
				continue
			}
			damaged++
			copy(data[len(data)/2:], "not what was written")
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if damaged != 1 {
			t.Fatalf("%d tables were damaged", damaged)
		}
		if db, err = kv.Open(ctx, "pebble:"+path+"?mode=ro"); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"a", "c"} {
			if v, err := db.Get(ctx, []byte(k)); err != nil || len(v) != 1<<20 {
				t.Errorf("%s, a block that is whole: %d bytes, %v", compression, len(v), err)
			}
		}
		if _, err := db.Get(ctx, []byte("b")); !errors.Is(err, kv.Corrupt) || !strings.Contains(err.Error(), "another sum") {
			t.Errorf("%s: %v", compression, err)
		}
		if err := db.Check(ctx); !errors.Is(err, kv.Corrupt) {
			t.Errorf("%s, check: %v", compression, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// tables returns the tables of a store.
func tables(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(path, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
