package pebblekv_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"CompactionConcurrencyRange=3,2", "Compression=lzw", "FormatMajorVersion=9999", "FormatMajorVersion=1", "CacheSize=x"} {
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
	path := "pebble:" + t.TempDir() + "/db"
	format := func(url string) (v string) {
		db := open(t, url)
		for _, s := range db.Settings() {
			if s.Name == "FormatMajorVersion" {
				v = s.Value
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range [][2]string{{"?FormatMajorVersion=16", "16"}, {"", "16"}, {"?FormatMajorVersion=17", "17"}, {"", "17"}} {
		if got := format(path + c[0]); got != c[1] {
			t.Errorf("opened with %q: format %s, want %s", c[0], got, c[1])
		}
	}
}

func TestOneFolderOpensOnceUnderAllItsNames(t *testing.T) {
	dir := t.TempDir()
	open(t, "pebble:"+dir+"/db")
	if err := os.Symlink(filepath.Join(dir, "db"), filepath.Join(dir, "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	t.Chdir(dir)
	for _, name := range []string{"db", "./db", "link", dir + "/db/../db"} {
		if _, err := kv.Open(context.Background(), "pebble:"+name, kv.WithWait(0)); kv.KindOf(err) != kv.Busy {
			t.Errorf("%s: got %v, want Busy", name, err)
		}
	}
}

func TestWithoutALogOnlyBufferedIsDelivered(t *testing.T) {
	url := "pebble:" + t.TempDir() + "/db?DisableWAL=true"
	db := open(t, url)
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed} {
		if p := db.Caps().Promise(d); p.Supported {
			t.Errorf("%v: got %+v, want it unsupported", d, p)
		}
	}
	put(t, db, kv.Buffered, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	size := 0
	err := open(t, url).View(context.Background(), func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{}) {
			size++
		}
		return nil
	})
	if err != nil || size != 1 {
		t.Errorf("after a clean Close: %d pairs (%v), want 1", size, err)
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
