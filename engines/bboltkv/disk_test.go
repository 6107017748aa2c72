package bboltkv_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "bbolt"}, powertest.NewDisk(t, nil))
}

// A snapshot from before a failed sync goes on reading right pairs, and what was acknowledged is
// there after a power cut: bbolt by itself would go on, and write into the pages that both need.
func TestNothingIsCommittedAfterASyncThatFailed(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	for nth := uint64(1); nth <= 2; nth++ { // the sync of the pages, and of the one that names them
		name := fmt.Sprint("db", nth)
		db := open(t, filepath.Join(disk.Dir(), name), "")
		put := func(round int) error {
			return db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
				var err error
				for i := range 200 {
					err = errors.Join(err, tx.Put(fmt.Appendf(nil, "%03d", i), fmt.Appendf(nil, "%0100d", round)))
				}
				return err
			})
		}
		for round := range 3 {
			if err := put(round); err != nil {
				t.Fatal(err)
			}
		}
		s, err := db.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: nth})
		if err := put(3); !errors.Is(err, kv.InDoubt) {
			t.Errorf("the commit whose sync failed: %v, want in doubt", err)
		}
		for round := 4; round < 8; round++ {
			if err := put(round); !errors.Is(err, kv.Stopped) {
				t.Errorf("a commit after it: %v, want stopped", err)
			}
		}
		for k, v := range s.Scan(kv.Range{}) {
			if string(v) != fmt.Sprintf("%0100d", 2) {
				t.Fatalf("the snapshot shows %s=%s", k, v)
			}
		}
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			t.Error(err)
		}
		disk.Heal()
		left := open(t, filepath.Join(disk.Cut(t), name), "")
		v, err := left.Get(ctx, []byte("100"))
		if round := strings.TrimLeft(string(v), "0"); err != nil || round != "2" && round != "3" {
			t.Errorf("after a power cut: %s, %v", v, err)
		}
		must(t, left.Check(ctx))
	}
}

// Nothing is there of a commit for which the disk was full, and the store goes on once there is
// room within it.
func TestAFullDiskStopsNobody(t *testing.T) {
	const space = 1 << 20
	disk := powertest.NewDisk(t, &powertest.DiskOptions{Space: space})
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed} {
		db := open(t, filepath.Join(disk.Dir(), "db"), "")
		put := func(name string, size int) error {
			return db.Put(ctx, d, []byte(name), make([]byte, size))
		}
		if err := errors.Join(put("small", 100), put("large", space/3)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := put("too large", 2*space); !errors.Is(err, kv.Full) || errors.Is(err, kv.InDoubt) {
				t.Fatalf("%v: more than the disk has room for: %v, want no space left", d, err)
			}
			if _, err := db.Get(ctx, []byte("too large")); !errors.Is(err, kv.NotFound) {
				t.Errorf("%v: what there was no room for: %v, want not found", d, err)
			}
			must(t, errors.Join(put("small", 200), db.Delete(ctx, d, []byte("large")), put("large", space/3)))
			must(t, db.Check(ctx))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Half of the page that names all others is enough to make a commit visible.
func TestAFullDiskLeavesInDoubtWhatIsVisible(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	for nth := uint64(1); ; nth++ {
		db := open(t, path, "")
		if err := db.Put(ctx, kv.Synced, []byte("a"), []byte("old")); err != nil {
			t.Fatal(err)
		}
		disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: nth, Short: true, Err: syscall.ENOSPC})
		failed := disk.Failed()
		err := db.Put(ctx, kv.Synced, []byte("a"), []byte("new"))
		disk.Heal()
		if disk.Failed() == failed {
			break
		}
		v, gerr := db.Get(ctx, []byte("a"))
		if gerr != nil {
			t.Fatal(gerr)
		}
		if k := kv.KindOf(err); k == kv.Full && string(v) != "old" || k != kv.Full && k != kv.InDoubt {
			t.Errorf("write %d failed: the commit says %v, and the store holds %q", nth, err, v)
		}
		t.Logf("write %d failed: %v, %s", nth, kv.KindOf(err), v)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The new file's name must be durable before anything is committed to it.
func TestACompactionWhoseNameIsNotDurableIsTheLastWord(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, filepath.Join(disk.Dir(), "folder", "db"), "")
	fill(t, db, 0, 100)
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Match: "folder"})
	if err := db.Compact(ctx); err == nil {
		t.Error("the folder's sync failed, and Compact says nothing")
	}
	disk.Heal()
	if err := db.Put(ctx, kv.Synced, []byte("a"), nil); !errors.Is(err, kv.Stopped) {
		t.Errorf("a commit afterwards: %v, want stopped", err)
	}
	if v, err := db.Get(ctx, []byte("000042")); err != nil || len(v) != 100 {
		t.Errorf("a get afterwards: %d bytes, %v", len(v), err)
	}
}

// A commit whose sync failed is what everybody sees of the file, and not what is on the disk.
// Opened again, the store must not build on it: wherever power fails then, all that was
// acknowledged is there.
func TestAStoreIsSafeWhenOpenedAgainAfterASyncThatFailed(t *testing.T) {
	for _, how := range []struct {
		nth  uint64 // the sync of the pages, and of the one that names them
		dies bool
	}{{1, false}, {2, false}, {1, true}, {2, true}} {
		from, seeds := uint64(0), uint64(4)
		if testing.Short() {
			from, seeds = how.nth-1, how.nth
		}
		for seed := from; seed < seeds; seed++ {
			cuts := 0
			for cutAfterReopening(t, how.nth, how.dies, seed, cuts+1) {
				cuts++
			}
			t.Logf("sync %d failed, the process died: %t: %d cuts", how.nth, how.dies, cuts)
		}
	}
}

// cutAfterReopening fails the nth sync of a commit, by a process that closes the store or one that
// dies at once, opens the store again, and has power fail before the cut-th call from then on,
// within the opening or the next commit. Of what was not synced nothing survives, or some pages by
// a seed. It reports whether there were so many calls.
func cutAfterReopening(t *testing.T, nth uint64, dies bool, seed uint64, cut int) bool {
	t.Helper()
	disk := powertest.NewDisk(t, nil)
	if seed > 0 {
		disk.Rule, disk.Seed = powerfs.Rule{Survivors: powerfs.Pages}, seed
	}
	path := filepath.Join(disk.Dir(), "db")
	put := func(db *kv.DB, from, to int, letter string) error {
		return db.Update(ctx, kv.Synced, func(tx *kv.Tx) (err error) {
			for i := from; i < to; i++ {
				err = errors.Join(err, tx.Put(fmt.Appendf(nil, "%03d", i), bytes.Repeat([]byte(letter), 100)))
			}
			return err
		})
	}
	db := open(t, path, "")
	must(t, errors.Join(put(db, 0, 200, "c"), put(db, 0, 200, "c")))
	fault := powerfs.Fault{Op: powerfs.OnSync, Nth: nth, Match: "db"}
	if dies { // bbolt alone does what the driver has done until then, and nothing after it
		must(t, db.Close())
		dieAtSync(t, disk, path, fault)
	} else {
		disk.Arm(fault)
		if err := put(db, 0, 5, "d"); !errors.Is(err, kv.InDoubt) {
			t.Fatalf("the commit whose sync failed: %v, want in doubt", err)
		}
		must(t, db.Close())
	}
	before := disk.Calls()
	disk.CutBefore(cut)
	db = open(t, path, "")
	must(t, put(db, 195, 200, "e"))
	must(t, db.Check(ctx))
	must(t, db.Close())
	if info, err := os.Stat(path); err != nil || info.Size()%int64(os.Getpagesize()) != 0 {
		t.Errorf("the file keeps its mark: %d bytes, %v", info.Size(), err)
	}
	if disk.Calls()-before < cut {
		return false
	}
	left := open(t, filepath.Join(disk.Cut(t), "db"), "")
	must(t, left.Check(ctx))
	var got strings.Builder
	must(t, left.View(ctx, func(s *kv.Snapshot) error {
		for _, v := range s.Scan(kv.Range{}) {
			got.WriteByte(v[0])
		}
		return nil
	}))
	for _, first := range []string{"ccccc", "ddddd"} {
		for _, last := range []string{"ccccc", "eeeee"} {
			if got.String() == first+strings.Repeat("c", 190)+last {
				return true
			}
		}
	}
	t.Errorf("sync %d failed, power cut before call %d after opening again: the store holds %s", nth, cut, got.String())
	return true
}

// A sync that fails takes with it what Flushed commits have left to it, too. Whoever opens the
// store behind a process that died then makes that durable with its own first Synced commit, also
// if those commits were made before the one that died had opened the file, and no seal is there.
func TestFlushedCommitsAreSafeBehindASyncThatFailed(t *testing.T) {
	for _, how := range []struct {
		name         string
		nth          uint64 // the sync that fails
		closes, dies bool   // between the Flushed commits and the one that syncs
	}{
		{name: "in one process", nth: 1},
		{name: "of the page that names all others", nth: 2},
		{name: "the store is closed between", nth: 1, closes: true},
		{name: "the process dies between", nth: 1, dies: true},
		{name: "the process dies between, and the next one's second sync fails", nth: 2, dies: true},
	} {
		t.Run(how.name, func(t *testing.T) {
			disk := powertest.NewDisk(t, nil)
			path := filepath.Join(disk.Dir(), "db")
			put := func(db *kv.DB, d kv.Durability, from, to int, letter string) error {
				return db.Update(ctx, d, func(tx *kv.Tx) (err error) {
					for i := from; i < to; i++ {
						err = errors.Join(err, tx.Put(fmt.Appendf(nil, "%03d", i), bytes.Repeat([]byte(letter), 100)))
					}
					return err
				})
			}
			db := open(t, path, "")
			must(t, errors.Join(put(db, kv.Synced, 0, 200, "c"), put(db, kv.Synced, 0, 200, "c")))
			must(t, put(db, kv.Flushed, 0, 200, "f"))
			if how.closes {
				must(t, db.Close())
				db = open(t, path, "")
			}
			if how.dies { // the seal is in one of the first two pages
				data, err := os.ReadFile(path)
				must(t, errors.Join(err, db.Close()))
				file, ferr := os.OpenFile(path, os.O_RDWR, 0)
				must(t, errors.Join(err, ferr))
				_, err = file.WriteAt(data[:2*os.Getpagesize()], 0)
				must(t, errors.Join(err, file.Close()))
				db = open(t, path, "")
			}
			disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: how.nth, Match: "db"})
			if err := put(db, kv.Synced, 0, 5, "d"); err == nil {
				t.Fatal("the commit whose sync failed says nothing")
			}
			must(t, db.Close())
			info, err := os.Stat(path)
			must(t, errors.Join(err, os.Truncate(path, info.Size()-1))) // it has died before it marked the file

			disk.Heal()
			db = open(t, path, "")
			must(t, put(db, kv.Synced, 195, 200, "e"))
			left := open(t, filepath.Join(disk.Cut(t), "db"), "")
			must(t, left.Check(ctx))
			for key, want := range map[string]string{"100": "f", "197": "e"} {
				if v, err := left.Get(ctx, []byte(key)); err != nil || string(v[:1]) != want {
					t.Errorf("%s holds %.1s, %v, want %s", key, v, err, want)
				}
			}
			must(t, left.Close())
			writes := disk.CallsOf(powerfs.OnWrite)
			must(t, db.Close())
			db = open(t, path, "")
			must(t, put(db, kv.Synced, 0, 1, "g"))
			if n := disk.CallsOf(powerfs.OnWrite) - writes; n > 20 {
				t.Errorf("a file that was mended is mended again: %d writes", n)
			}
		})
	}
}

// dieAtSync changes the first five pairs by a commit whose sync fails.
func dieAtSync(t *testing.T, disk *powertest.Disk, path string, fault powerfs.Fault) {
	t.Helper()
	raw, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	disk.Arm(fault)
	err = raw.Update(func(tx *bolt.Tx) (err error) {
		for i := range 5 {
			err = errors.Join(err, tx.Bucket(bucketName).Put(fmt.Appendf(nil, "%03d", i),
				bytes.Repeat([]byte("d"), 100)))
		}
		return err
	})
	if !errors.Is(err, syscall.EIO) {
		t.Fatalf("the commit whose sync fails: %v", err)
	}
	must(t, raw.Close())
}

// A file that was closed is sealed: the next commit takes two syncs, as any other. The first after
// a process that died takes one more, and so does that behind another program's commit.
func TestACommitTakesASyncMoreInAFileThatWasNotClosed(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	syncs := func(db *kv.DB) int {
		before := disk.CallsOf(powerfs.OnSync)
		must(t, db.Put(ctx, kv.Synced, []byte("a"), []byte("b")))
		return disk.CallsOf(powerfs.OnSync) - before
	}
	expect := func(what string, got, want int) {
		if got != want {
			t.Errorf("%s: a commit takes %d syncs, want %d", what, got, want)
		}
	}
	db := open(t, path, "")
	for range 2 { // with the folder, and the file as it grows
		syncs(db)
	}
	expect("an open file", syncs(db), 2)
	copied := filepath.Join(disk.Dir(), "as if its process had died")
	data, err := os.ReadFile(path)
	must(t, errors.Join(err, os.WriteFile(copied, data, 0o600)))
	for range 2 {
		must(t, db.Close())
		db = open(t, path, "")
		expect("a file that was closed", syncs(db), 2)
	}
	must(t, db.Close())
	before := disk.CallsOf(powerfs.OnWrite)
	db = open(t, path, "")
	if _, err := db.Get(ctx, []byte("a")); err != nil {
		t.Error(err)
	}
	must(t, db.Close())
	if n := disk.CallsOf(powerfs.OnWrite) - before; n != 0 {
		t.Errorf("opening, reading and closing write %d times, want 0", n)
	}
	db = open(t, path, "")
	must(t, db.Compact(ctx))
	expect("a compacted file", syncs(db), 2)
	must(t, db.Close())
	raw, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	err = raw.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketName).Put([]byte("c"), nil) })
	must(t, errors.Join(err, raw.Close()))
	for _, name := range []string{path, copied} {
		db := open(t, name, "")
		expect("a file that the driver did not close", syncs(db), 3)
		expect("the next", syncs(db), 2)
		must(t, db.Close())
	}
}

// Flushed commits sync nothing, though they make the file longer: nobody would tell the next
// process of a sync that failed there, and earlier commits' pages be lost.
func TestFlushedCommitsThatMakeTheFileLongerSyncNothing(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db, err := kv.Open(ctx, "bbolt:"+filepath.ToSlash(path), kv.WithWeakest(kv.Flushed))
	must(t, err)
	must(t, db.Put(ctx, kv.Synced, []byte("a"), nil))
	info, err := os.Stat(path)
	must(t, err)
	before := disk.CallsOf(powerfs.OnSync)
	for n := range byte(40) {
		must(t, db.Put(ctx, kv.Flushed, []byte{n}, make([]byte, 10_000)))
	}
	if n := disk.CallsOf(powerfs.OnSync) - before; n != 0 {
		t.Errorf("flushed commits have synced %d times", n)
	}
	longer, err := os.Stat(path)
	must(t, err)
	if longer.Size() < info.Size()+400_000 {
		t.Errorf("the file has %d bytes after %d", longer.Size(), info.Size())
	}
	must(t, db.Put(ctx, kv.Synced, []byte("b"), nil))
	left, err := kv.Open(ctx, "bbolt:"+filepath.ToSlash(filepath.Join(disk.Cut(t), "db")))
	must(t, err)
	for n := range byte(40) {
		if v, err := left.Get(ctx, []byte{n}); err != nil || len(v) != 10_000 {
			t.Errorf("a power loss has left %d bytes of pair %d, %v", len(v), n, err)
		}
	}
	must(t, errors.Join(left.Check(ctx), left.Close(), db.Close()))
}
