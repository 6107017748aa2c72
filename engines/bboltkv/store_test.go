package bboltkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

var ctx = context.Background()

func open(t *testing.T, path, params string) *kv.DB {
	t.Helper()
	db, err := kv.Open(ctx, "bbolt:"+path+params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fill(t *testing.T, db *kv.DB, from, to int) {
	t.Helper()
	var b kv.Batch
	for i := from; i < to; i++ {
		b.Put(fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte{byte(i)}, 100))
	}
	if err := db.Write(ctx, kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
}

func count(s *kv.Snapshot) (n int) {
	for range s.Scan(kv.Range{}) {
		n++
	}
	return n
}

func TestPairsAreInABucketThatBboltReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	fill(t, db, 0, 10)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	err = raw.View(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bucketName).Stats().KeyN; n != 10 {
			t.Errorf("bucket kv holds %d pairs, want 10", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASnapshotOutlivesACompaction(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not rename over an open file; bboltkv declares Compacts false there")
	}
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?PageSize=1024&FillPercent=0.9")
	fill(t, db, 0, 2000)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprint(db.Settings())
	err := db.View(ctx, func(s *kv.Snapshot) error {
		done := make(chan error)
		go func() { done <- db.Compact(ctx) }()
		if err := <-done; err != nil {
			return err
		}
		fill(t, db, 2000, 2100)
		if n := count(s); n != 2000 {
			t.Errorf("the old snapshot holds %d pairs, want 2000", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	db.View(ctx, func(s *kv.Snapshot) error {
		if n := count(s); n != 2100 {
			t.Errorf("a new snapshot holds %d pairs, want 2100", n)
		}
		return nil
	})
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(db.Settings()); got != settings {
		t.Errorf("settings after a compaction: got %s, want %s", got, settings)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the new file: %v, %v, want mode 0640", info.Mode(), err)
	}
	if _, err := kv.Open(ctx, "bbolt:"+path, kv.WithWait(0)); !errors.Is(err, kv.Busy) {
		t.Errorf("open beside the compacted store: got %v, want busy", err)
	}
}

// A process that waits for the lock gets it on the old file, once the one that compacted lets go.
// It must not take that for the store: what it wrote would be lost.
func TestAReplacedFileIsNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows replaces no open file")
	}
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	fill(t, db, 0, 10)
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	opened := make(chan error)
	go func() {
		second, err := kv.Open(ctx, "bbolt:"+path)
		if err == nil {
			err = second.View(ctx, func(s *kv.Snapshot) error {
				if n := count(s); n != 20 {
					return fmt.Errorf("the second process sees %d pairs, want 20", n)
				}
				return nil
			})
			err = errors.Join(err, second.Close())
		}
		opened <- err
	}()
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	fill(t, db, 10, 20)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestAFileShorterThanItsHeaderSaysIsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	fill(t, db, 0, 2000)
	db.Close()
	if err := os.Truncate(path, 64<<10); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exclusive", "ro"} {
		if _, err := kv.Open(ctx, "bbolt:"+path+"?mode="+mode); !errors.Is(err, kv.Corrupt) {
			t.Errorf("mode %s: got %v, want corrupt", mode, err)
		}
	}
}

// A bit of the page that names the buckets changes: such a file is damaged, and not another
// program's, unless the name itself was changed into another one.
func TestADamagedRootPageIsNotAnotherProgramsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?PageSize=1024")
	fill(t, db, 0, 80)
	must(t, db.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	// A page's head has 16 bytes, 2 of them flags at 8; that of a leaf's element has 16, too:
	// flags, position, and the sizes of key and value.
	root := -1
	for at := 0; at < len(data); at += 1024 {
		if page := data[at : at+1024]; page[8] == 2 && page[10] == 1 && string(page[32:34]) == "kv" {
			root = at // the last is as good as any other: all are tried
			data, found := bytes.Clone(data), 0
			for bit := 8 * 8; bit < 50*8; bit++ {
				data[at+bit/8] ^= 1 << (bit % 8)
				must(t, os.WriteFile(path, data, 0o600))
				data[at+bit/8] ^= 1 << (bit % 8)
				db, err := kv.Open(ctx, "bbolt:"+path+"?mode=ro")
				switch {
				case err == nil:
					must(t, db.Close())
				case errors.Is(err, kv.Corrupt):
					found++
				case bit/8 != 32 && bit/8 != 33:
					t.Errorf("byte %d, bit %d: %v", bit/8, bit%8, err)
				}
			}
			t.Logf("page %d: %d changes were found", at/1024, found)
		}
	}
	if root < 0 {
		t.Fatal("no page names the bucket")
	}
}

// A bit of a page's head, or of its first elements, changes: what bbolt would follow out of the
// file, or in a circle, is damage to Check, and not the end of the program.
func TestCheckFollowsNoDamagedPageOutOfTheFile(t *testing.T) {
	const pageSize, looked = 1024, 16 + 2*16
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?PageSize=1024")
	fill(t, db, 0, 40)
	must(t, db.Check(ctx))
	must(t, db.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	kinds, found, step := map[byte]int{}, 0, 1
	if testing.Short() {
		step = 7
	}
	for at := 2 * pageSize; at < len(data); at += pageSize {
		kinds[data[at+8]]++
		for bit := 0; bit < looked*8; bit += step {
			damaged := bytes.Clone(data)
			damaged[at+bit/8] ^= 1 << (bit % 8)
			must(t, os.WriteFile(path, damaged, 0o600))
			db, err := kv.Open(ctx, "bbolt:"+path)
			if err == nil {
				err = errors.Join(db.Check(ctx), db.Close())
			}
			switch {
			case errors.Is(err, kv.Corrupt):
				found++
			case err != nil && !errors.Is(err, kv.Invalid): // another name of the bucket
				t.Errorf("page %d, byte %d, bit %d: %v", at/pageSize, bit/8, bit%8, err)
			}
		}
	}
	if kinds[1] == 0 || kinds[2] == 0 || found < 1000/step {
		t.Errorf("pages of each kind: %v, found %d changes: want branches, leaves and a thousand", kinds, found)
	}
}

// What meets a damaged page lets go of the lock, too: a program may then move the file out of the
// way, or restore it.
func TestADamagedFileIsNotKeptLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	fill(t, db, 0, 2000)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2 * os.Getpagesize(); page < len(data); page += os.Getpagesize() {
		data[page+8] ^= 0xff // what the page is
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(ctx, "bbolt:"+path+"?mode=ro"); !errors.Is(err, kv.Corrupt) {
		t.Errorf("open for reading: got %v, want Corrupt", err)
	}
	if db, err := kv.Open(ctx, "bbolt:"+path, kv.WithWait(0)); err == nil {
		db.Close()
	} else if !errors.Is(err, kv.Corrupt) {
		t.Errorf("open for writing: got %v, want Corrupt, or a store", err)
	}
}

func TestAnEmptyFileOpenedReadOnlyIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kv.Open(ctx, "bbolt:"+path+"?mode=ro")
	if !errors.Is(err, kv.NoStore) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want missing with a hint", err)
	}
}

func TestAFileWithoutTheBucketIsEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	open(t, path, "").Close()
	db := open(t, path, "?mode=ro")
	err := db.View(ctx, func(s *kv.Snapshot) error {
		if n := count(s); n != 0 {
			t.Errorf("got %d pairs", n)
		}
		if _, err := s.Get([]byte("a")); !errors.Is(err, kv.NotFound) {
			t.Errorf("get: %v, want not found", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
}

func TestNoSyncRefusesSynced(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), "?NoSync=true")
	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("a"), nil) })
	if !errors.Is(err, kv.Unsupported) {
		t.Errorf("synced: got %v, want unsupported", err)
	}
	fill(t, db, 0, 1)
}

func TestMaxSizeIsFull(t *testing.T) {
	db, err := bboltkv.Open(ctx, filepath.Join(t.TempDir(), "db"), &bolt.Options{MaxSize: 262144})
	must(t, err)
	defer db.Close()
	var b kv.Batch
	b.Put([]byte("a"), make([]byte, 1<<20))
	if err := db.Write(ctx, kv.Flushed, &b); !errors.Is(err, kv.Full) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want full with a hint", err)
	}
	fill(t, db, 0, 1)
}

func TestOptionsAreChecked(t *testing.T) {
	for _, params := range []string{"PageSize=1000", "FreelistType=tree", "FillPercent=1.5", "FillPercent=0",
		"InitialMmapSize=-1", "NoSync=maybe"} {
		path := filepath.Join(t.TempDir(), "db")
		_, err := kv.Open(ctx, "bbolt:"+path+"?"+params)
		if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%s: got %v, want invalid with a hint", params, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was created", params)
		}
	}
}

func TestFilesAreForThisUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "new", "folder", "db")
	open(t, path, "")
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", p, info.Mode().Perm(), err, want)
		}
	}
}

func TestAStoreWithoutAStoredFreeListKeepsItsPairs(t *testing.T) {
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store.db")) + "?NoFreelistSync=true"
	for round := range 5 {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
			for i := range 500 {
				key := kv.AppendUint64(nil, uint64(i))
				if got, err := tx.Get(key); round > 0 && (err != nil || !bytes.Equal(got, []byte{byte(round - 1)})) {
					t.Fatalf("round %d: key %d is %v, %v", round, i, got, err)
				}
				if err := tx.Put(key, []byte{byte(round)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, db.Check(t.Context()), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
