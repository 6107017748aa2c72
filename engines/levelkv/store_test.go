package levelkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// watched is a storage that counts what happens to journals, and fails their writes or syncs when
// told to, or tables.
type watched struct {
	storage.Storage
	writes, syncs                  atomic.Int64
	failWrite, failSync, failTable atomic.Bool
}

func (w *watched) Create(fd storage.FileDesc) (storage.Writer, error) {
	if fd.Type == storage.TypeTable && w.failTable.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := w.Storage.Create(fd)
	if err != nil || fd.Type != storage.TypeJournal {
		return f, err
	}
	return &watchedJournal{f, w}, nil
}

type watchedJournal struct {
	storage.Writer
	w *watched
}

func (j *watchedJournal) Write(p []byte) (int, error) {
	if j.w.failWrite.Load() {
		return 0, syscall.ENOSPC
	}
	j.w.writes.Add(1)
	return j.Writer.Write(p)
}

func (j *watchedJournal) Sync() error {
	if j.w.failSync.Load() {
		return syscall.EIO
	}
	j.w.syncs.Add(1)
	return j.Writer.Sync()
}

func openWatched(t *testing.T, params map[string]string) (*store, *watched, string) {
	t.Helper()
	o := new(opt.Options)
	if err := table.Read(params, o); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	below, err := storage.OpenFile(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Storage: below}
	s, err := open(&files{Storage: w}, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, w, dir
}

// TestCurrentNeverNamesAManifestThatIsNotSynced was a store lost to a power cut.
func TestCurrentNeverNamesAManifestThatIsNotSynced(t *testing.T) {
	disk := &metaWatch{Storage: storage.NewMemStorage(), synced: map[storage.FileDesc]bool{}}
	s, err := open(&files{Storage: disk}, t.TempDir(), new(opt.Options))
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if disk.named == 0 || disk.unsynced > 0 {
		t.Errorf("CURRENT was set %d times, %d of them to a manifest that is not synced", disk.named, disk.unsynced)
	}
}

// metaWatch is a storage that notes which manifests are synced when CURRENT comes to name them.
type metaWatch struct {
	storage.Storage
	synced          map[storage.FileDesc]bool
	named, unsynced int
}

func (m *metaWatch) Create(fd storage.FileDesc) (storage.Writer, error) {
	w, err := m.Storage.Create(fd)
	return &noteSync{w, func() { m.synced[fd] = true }}, err
}

func (m *metaWatch) SetMeta(fd storage.FileDesc) error {
	m.named++
	if !m.synced[fd] {
		m.unsynced++
	}
	return m.Storage.SetMeta(fd)
}

type noteSync struct {
	storage.Writer
	note func()
}

func (n *noteSync) Sync() error { n.note(); return n.Writer.Sync() }

func closeStore(t *testing.T, s *store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, s *store, d driver.Durability, key, value string) error {
	t.Helper()
	return driver.Apply(t.Context(), s, []driver.Op{{Key: []byte(key), Value: []byte(value)}}, d)
}

func TestEveryCommitIsWrittenAndOnlySyncedOnesAreSynced(t *testing.T) {
	s, w, _ := openWatched(t, nil)
	defer closeStore(t, s)
	for _, c := range []struct {
		class driver.Durability
		syncs int64
	}{{driver.Synced, 1}, {driver.Flushed, 0}, {driver.Buffered, 0}} {
		writes, syncs := w.writes.Load(), w.syncs.Load()
		if err := apply(t, s, c.class, "a", c.class.String()); err != nil {
			t.Fatal(err)
		}
		if w.writes.Load() == writes || w.syncs.Load() != syncs+c.syncs {
			t.Errorf("%v: %d writes and %d syncs of the journal, want some and %d", c.class,
				w.writes.Load()-writes, w.syncs.Load()-syncs, c.syncs)
		}
	}
}

func TestAFailedCommitEndsTheStoresCommitsAndNotItsReads(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(w *watched)
		kind driver.Kind
	}{
		"write": {func(w *watched) { w.failWrite.Store(true) }, driver.Full},
		"sync":  {func(w *watched) { w.failSync.Store(true) }, driver.Other},
	} {
		s, w, path := openWatched(t, nil)
		if err := apply(t, s, driver.Synced, "a", "1"); err != nil {
			t.Fatal(err)
		}
		c.fail(w)
		if err := apply(t, s, driver.Synced, "b", "2"); driver.KindOf(err) != c.kind || !driver.IsInDoubt(err) {
			t.Errorf("%s: got %v, want %v", name, err, c.kind)
		}
		w.failWrite.Store(false)
		w.failSync.Store(false)
		if err := apply(t, s, driver.Flushed, "c", "3"); driver.KindOf(err) != driver.Stopped {
			t.Errorf("%s: a commit after the failed one: got %v, want stopped", name, err)
		}
		if _, err := s.Begin(t.Context(), driver.Synced); driver.KindOf(err) != driver.Stopped {
			t.Errorf("%s: a transaction after the failed commit: got %v, want stopped", name, err)
		}
		r, err := s.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Get(nil, []byte("a")); string(got) != "1" || err != nil {
			t.Errorf("%s: a: got %q, %v", name, got, err)
		}
		if _, err := r.Get(nil, []byte("b")); !errors.Is(err, driver.NotFound) {
			t.Errorf("%s: b, whose commit failed: got %v, want not found", name, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		again := openURL(t, "leveldb:"+path)
		if got := get(t, again, "a"); got != "1" {
			t.Errorf("%s: a after reopening: got %q", name, got)
		}
	}
}

// TestCloseComesBackWhenALargeCommitMetAFailure was a Close that waited for the lock of the writers
// for ever.
func TestCloseComesBackWhenALargeCommitMetAFailure(t *testing.T) {
	s, w, _ := openWatched(t, map[string]string{"WriteBuffer": "8192"})
	if err := apply(t, s, driver.Flushed, "a", "1"); err != nil {
		t.Fatal(err)
	}
	w.failTable.Store(true)
	err := apply(t, s, driver.Flushed, "large", strings.Repeat("x", 20_000))
	t.Logf("the commit: %v", err)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		t.Logf("close: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("Close hangs")
	}
}

func openURL(t *testing.T, url string, needs ...kv.Option) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), url, needs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
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

func fill(t *testing.T, url string) {
	t.Helper()
	db := openURL(t, url)
	var b kv.Batch
	b.Put([]byte("a"), []byte("1"))
	if err := errors.Join(db.Write(t.Context(), kv.Flushed, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAStoreThatLostItsManifestIsRefusedAndKeepsItsFiles(t *testing.T) {
	for _, lost := range []string{"CURRENT", "MANIFEST-*"} {
		path := filepath.Join(t.TempDir(), "db")
		fill(t, "leveldb:"+path)
		fill(t, "leveldb:"+path) // the second opening puts what the journal held into a table
		found, err := filepath.Glob(filepath.Join(path, lost))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", lost, found, err)
		}
		for _, name := range found {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		_, err = kv.Open(t.Context(), "leveldb:"+path)
		if kv.KindOf(err) != kv.Corrupt {
			t.Errorf("without %s: got %v, want corrupt", lost, err)
		}
		if tables, _ := filepath.Glob(filepath.Join(path, "*.ldb")); len(tables) == 0 {
			t.Errorf("without %s: opening removed the tables", lost)
		}
	}
}

func TestAStoreWhoseCreationWasCutOpens(t *testing.T) {
	for name, left := range map[string][]string{
		"in the manifest":    {"MANIFEST-000000"},
		"in CURRENT":         {"MANIFEST-000000", "CURRENT.0"},
		"before the journal": nil,
	} {
		path := filepath.Join(t.TempDir(), "db")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range left {
			if err := os.WriteFile(filepath.Join(path, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, "leveldb:"+path)
		if got := get(t, openURL(t, "leveldb:"+path), "a"); got != "1" {
			t.Errorf("cut %s: a: got %q", name, got)
		}
	}
}

func TestOptionsAreInForceAndToldBack(t *testing.T) {
	const asked = "BlockCacheCapacity=1000000&BlockSize=8192&CompactionTableSize=100000&CompactionTotalSize=1000000&" +
		"Compression=none&WriteBuffer=100000"
	db := openURL(t, "leveldb:"+t.TempDir()+"/db?"+asked, kv.WithWeakest(kv.Flushed))
	told := map[string]string{}
	for _, s := range db.Settings() {
		told[s.Name] = s.Value
	}
	for _, want := range strings.Split(asked, "&") {
		if name, value, _ := strings.Cut(want, "="); told[name] != value {
			t.Errorf("%s: got %q, want %q", name, told[name], value)
		}
	}
	if len(told) != len(options) {
		t.Errorf("%d settings are told of %d options", len(told), len(options))
	}
}

func TestWrongOptionsAreInvalidAndCreateNothing(t *testing.T) {
	for _, params := range []string{"WriteBuffer=1", "Compression=zstd"} {
		path := filepath.Join(t.TempDir(), "db")
		_, err := kv.Open(t.Context(), "leveldb:"+path+"?"+params)
		if kv.KindOf(err) != kv.Invalid {
			t.Errorf("%s: got %v, want invalid", params, err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: the folder was created", params)
		}
	}
}

func TestCompactGivesSpaceBack(t *testing.T) {
	db := openURL(t, "leveldb:"+t.TempDir()+"/db?WriteBuffer=65536&Compression=none")
	ctx := context.Background()
	var b kv.Batch
	for i := range 1000 {
		b.Put([]byte{byte(i >> 8), byte(i)}, make([]byte, 1000))
	}
	if err := db.Write(ctx, kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	for i := range 1000 {
		b.Delete([]byte{byte(i >> 8), byte(i)})
	}
	if err := errors.Join(db.Write(ctx, kv.Flushed, &b), db.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	if size, err := db.Size(); err != nil || size.Apparent > 300_000 {
		t.Errorf("size after Compact: %+v, %v", size, err)
	}
}

func TestLevelDBsOwnOptionsAndDatabases(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "db")
	o := &opt.Options{WriteBuffer: 1 << 20, NoSync: true, Filter: filter.NewBloomFilter(12)}
	if _, err := Open(ctx, dir, o); kv.KindOf(err) != kv.Invalid {
		t.Errorf("without any sync: %v, want Invalid", err)
	}
	o.NoSync = false
	db, err := Open(ctx, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := (kv.Setting{Name: "WriteBuffer", Value: "1048576"}); !slices.Contains(db.Settings(), want) {
		t.Errorf("the settings are %v, want %v among them", db.Settings(), want)
	}
	h, ok := Handle(db)
	if !ok {
		t.Fatal("the store has no handle")
	}
	if err := h.Put([]byte("k"), []byte("v"), nil); err != nil {
		t.Fatal(err)
	}
	if got := get(t, db, "k"); got != "v" {
		t.Errorf("what was put through the handle: got %q", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = Open(ctx, dir, &opt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if db.Mode() != kv.ReadOnly || get(t, db, "k") != "v" {
		t.Errorf("options that are read-only opened in mode %v", db.Mode())
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	h, err := leveldb.OpenFile(filepath.Join(dir, "db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	db, err := Wrap(h)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy")
	err = errors.Join(db.Put(ctx, kv.Synced, []byte("k"), []byte("v")), db.Check(ctx), db.Backup(ctx, copied),
		db.Close())
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, openURL(t, "leveldb:"+copied), "k"); got != "v" {
		t.Errorf("the copy: got %q", got)
	}
	if v, err := h.Get([]byte("k"), nil); string(v) != "v" || err != nil {
		t.Errorf("after the store was closed: got %q, %v", v, err)
	}
}

// TestATransactionSeeksAmongItsOwnWrites compares a transaction whose writes overlap those of the
// store with a list.
func TestATransactionSeeksAmongItsOwnWrites(t *testing.T) {
	db := openURL(t, "leveldb:"+t.TempDir()+"/db")
	key := func(i int) []byte { return fmt.Appendf(nil, "%02d", i) }
	var b kv.Batch
	for i := 0; i < 60; i += 2 {
		b.Put(key(i), []byte("stored"))
	}
	if err := db.Write(t.Context(), kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
	err := db.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
		want := map[string]string{}
		for i := range 60 {
			var err error
			switch i % 6 {
			case 0:
				err = tx.Delete(key(i))
			case 2, 3:
				want[string(key(i))] = "own"
				err = tx.Put(key(i), []byte("own"))
			case 4:
				want[string(key(i))] = "stored"
			}
			if err != nil {
				return err
			}
		}
		for _, reverse := range []bool{false, true} {
			keys := slices.Sorted(maps.Keys(want))
			if reverse {
				slices.Reverse(keys)
			}
			it := tx.Iter(kv.Range{Reverse: reverse})
			for n := range 300 {
				target := string(key(n * 37 % 60))
				it.Seek([]byte(target))
				at := slices.IndexFunc(keys, func(k string) bool { return k == target || k > target != reverse })
				for _, k := range keys[max(at, 0):min(max(at, 0)+n%5+1, len(keys))] {
					if at >= 0 && (!it.Next() || string(it.Key()) != k || string(it.Value()) != want[k]) {
						t.Fatalf("reverse %v, sought %s: got %s=%s, want %s=%s", reverse, target, it.Key(), it.Value(),
							k, want[k])
					}
				}
				if at < 0 && it.Next() {
					t.Fatalf("reverse %v, sought %s: got %s, want the end", reverse, target, it.Key())
				}
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
