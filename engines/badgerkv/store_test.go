package badgerkv_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/badgerkv"
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
		b.Put(fmt.Appendf(nil, "key%d", i), make([]byte, 1000))
	}
	if err := db.Write(context.Background(), d, &b); err != nil {
		t.Fatal(err)
	}
}

func TestDurabilityIsFixedByTheWeakestClass(t *testing.T) {
	const refused = "refused"
	cases := []struct {
		params string
		want   [3]string // what is delivered for each class
	}{
		{"", [3]string{"synced", "synced", "synced"}},
		{"?durability=synced", [3]string{"synced", "synced", "synced"}},
		{"?durability=flushed", [3]string{refused, "flushed", "flushed"}},
		{"?durability=buffered", [3]string{refused, "flushed", "flushed"}},
		{"?durability=flushed&SyncWrites=true", [3]string{"synced", "synced", "synced"}},
		{"?SyncWrites=false", [3]string{refused, "flushed", "flushed"}},
	}
	for _, c := range cases {
		db := open(t, "badger:"+t.TempDir()+"/db"+c.params)
		for d, want := range c.want {
			got := refused
			if p := db.Caps().Promise(kv.Durability(d)); p.Supported {
				got = p.Class.String()
				if p.Intact != (p.Class == kv.Synced) {
					t.Errorf("%q, %v: intact is %v", c.params, kv.Durability(d), p.Intact)
				}
			}
			if got != want {
				t.Errorf("%q, %v: got %s, want %s", c.params, kv.Durability(d), got, want)
			}
		}
		if c.want[kv.Synced] == refused {
			var b kv.Batch
			b.Put([]byte("k"), nil)
			if err := db.Write(context.Background(), kv.Synced, &b); kv.KindOf(err) != kv.Unsupported ||
				kv.HintOf(err) == "" {
				t.Errorf("%q: Synced got %v, want Unsupported with a hint", c.params, err)
			}
		}
	}
}

func TestOptionsAreInForceAndToldBack(t *testing.T) {
	const params = "Compression=zstd&MemTableSize=1048576&ValueThreshold=1024&ValueLogFileSize=2097152&" +
		"BlockCacheSize=1048576&SyncWrites=false"
	db := open(t, "badger:"+t.TempDir()+"/db?"+params)
	told := map[string]string{}
	for _, s := range db.Settings() {
		told[s.Name] = s.Value
	}
	for _, want := range strings.Split(params, "&") {
		if name, value, _ := strings.Cut(want, "="); told[name] != value {
			t.Errorf("%s: got %s, want %s", name, told[name], value)
		}
	}
}

func TestWrongOptionsAreInvalidAndCreateNothing(t *testing.T) {
	for _, params := range []string{"BlockCacheSize=0", "ValueLogFileSize=1",
		"ValueLogFileSize=2147483648", "ValueThreshold=1048577", "MemTableSize=1048576&ValueThreshold=200000",
		"Compression=lzw", "MemTableSize=4000000000"} {
		path := filepath.Join(t.TempDir(), "db")
		_, err := kv.Open(context.Background(), "badger:"+path+"?"+params)
		if kv.KindOf(err) != kv.Invalid {
			t.Errorf("%s: got %v, want Invalid", params, err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: the folder was created", params)
		}
	}
}

func TestATransactionThatIsTooLargeFailsAsAWhole(t *testing.T) {
	ctx := context.Background()
	db := open(t, "badger:"+t.TempDir()+"/db?MemTableSize=1048576&SyncWrites=false")
	var b kv.Batch
	for i := range 1000 {
		b.Put(fmt.Appendf(nil, "key%d", i), make([]byte, 1000))
	}
	if err := db.Write(ctx, kv.Flushed, &b); kv.KindOf(err) != kv.TooLarge {
		t.Errorf("write: got %v, want TooLarge", err)
	}
	err := db.View(ctx, func(s *kv.Snapshot) error {
		for k := range s.Scan(kv.Range{}) {
			t.Fatalf("%q is there", k)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBadgersOwnKeysAreInvalid(t *testing.T) {
	db := open(t, "badger:"+t.TempDir()+"/db")
	err := db.Update(context.Background(), kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("!badger!x"), nil) })
	if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
		t.Errorf("got %v, want Invalid with a hint", err)
	}
	for _, k := range []string{"!", "!badger", "!badgerx"} {
		if err := db.Put(context.Background(), kv.Synced, []byte(k), nil); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}

func TestAStoreThatWasNotClosedOpensReadOnlyOnceItWasRecovered(t *testing.T) {
	dir := t.TempDir()
	db := open(t, "badger:"+dir+"/db?MemTableSize=1048576&ValueLogFileSize=1048576") // the copy is not sparse
	put(t, db, kv.Synced, 10)
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "db"))); err != nil {
		t.Fatal(err)
	}
	_, err := kv.Open(context.Background(), "badger:"+dir+"/copy", kv.WithMode(kv.ReadOnly))
	if kv.KindOf(err) != kv.NotWritable || kv.HintOf(err) == "" {
		t.Errorf("got %v, want NotWritable with a hint", err)
	}
	if err := open(t, "badger:"+dir+"/copy").Close(); err != nil {
		t.Fatal(err)
	}
	open(t, "badger:"+dir+"/copy", kv.WithMode(kv.ReadOnly))
}

func TestDamagedFilesAreCorrupt(t *testing.T) {
	for _, pattern := range []string{"MANIFEST", "*.sst", "*.vlog", "KEYREGISTRY"} {
		dir := filepath.Join(t.TempDir(), "db")
		db := open(t, "badger:"+dir)
		put(t, db, kv.Synced, 50)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		spoil(t, filepath.Join(dir, pattern))
		db, err := kv.Open(context.Background(), "badger:"+dir)
		if err == nil {
			err = db.Check(context.Background())
			db.Close()
		}
		if kv.KindOf(err) != kv.Corrupt {
			t.Errorf("%s spoiled: got %v, want Corrupt", pattern, err)
		}
	}
}

// A value that is gone from the value log must not read as an empty one.
func TestALostLargeValueIsCorrupt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	url := "badger:" + dir + "?ValueThreshold=100"
	db := open(t, url)
	put(t, db, kv.Synced, 5)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "000001.vlog")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, url)
	lost := 0
	err = db.View(context.Background(), func(s *kv.Snapshot) error {
		for i := range 5 { // in which order they lie in the log is Badger's choice
			v, err := s.Get(fmt.Appendf(nil, "key%d", i))
			switch {
			case kv.KindOf(err) == kv.Corrupt:
				lost++
			case err != nil || len(v) != 1000:
				t.Errorf("key%d: got %d bytes, %v", i, len(v), err)
			}
		}
		return nil
	})
	if err != nil || lost == 0 {
		t.Errorf("%d of 5 values are Corrupt (%v), want some", lost, err)
	}
	if err := db.Check(context.Background()); kv.KindOf(err) != kv.Corrupt {
		t.Errorf("check: got %v, want Corrupt", err)
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

// TestALoadMergesEachPairOnce: filled as a copy fills it, a store has tables on the first and on
// the last level alone.
func TestALoadMergesEachPairOnce(t *testing.T) {
	url := "badger:" + filepath.Join(t.TempDir(), "db") + "?NumLevelZeroTables=1&NumLevelZeroTablesStall=2"
	for name, value := range (badgerkv.Driver{}).Info().Bulk {
		if !strings.HasPrefix(name, "NumLevelZero") {
			url += "&" + name + "=" + value
		}
	}
	db, err := kv.Open(t.Context(), url, kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	handle, ok := badgerkv.Handle(db)
	if !ok {
		t.Fatal("no handle")
	}
	rng := rand.NewChaCha8([32]byte{3})
	value := make([]byte, 1000)
	for i := range 80 {
		var b kv.Batch
		for j := range 1000 {
			_, _ = rng.Read(value) // never fails
			b.Put(fmt.Appendf(nil, "%04d/%04d", i, j), value)
		}
		if err := db.Write(t.Context(), kv.Buffered, &b); err != nil {
			t.Fatal(err)
		}
	}
	merged := 0
	for _, l := range handle.Levels() {
		if l.NumTables > 0 && l.Level > 0 && l.Level < 6 {
			t.Errorf("%d tables on level %d", l.NumTables, l.Level)
		}
		if l.Level == 6 {
			merged = l.NumTables
		}
	}
	if merged == 0 {
		t.Error("there is no table on the last level")
	}
}

// TestCheckReadsATableOnce: its blocks have all pairs, unless a value is in the value log.
func TestCheckReadsATableOnce(t *testing.T) {
	for _, c := range []struct {
		params string
		again  bool // the pairs are read, too
	}{{"", false}, {"?ValueThreshold=100", true}} {
		url := "badger:" + filepath.Join(t.TempDir(), "db")
		db := open(t, url+c.params)
		put(t, db, kv.Synced, 300)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open(t, url, kv.WithMode(kv.ReadOnly))
		handle, _ := badgerkv.Handle(db)
		asked := func() uint64 { return handle.BlockCacheMetrics().Hits() + handle.BlockCacheMetrics().Misses() }
		began := asked()
		if err := handle.VerifyChecksum(); err != nil {
			t.Fatal(err)
		}
		once := asked() - began
		if err := db.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := asked() - began - once; once == 0 || (n > once) != c.again {
			t.Errorf("%q: %d blocks were asked for, and the tables have %d", c.params, n, once)
		}
	}
}
