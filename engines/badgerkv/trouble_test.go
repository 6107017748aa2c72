package badgerkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// The sync of the value log fails, which Badger logs before it acknowledges the commit.
func TestAFailedSyncOfTheValueLogIsNoSuccess(t *testing.T) {
	for params, size := range map[string]int{"": 2 << 20, "?ValueThreshold=256": 1000} {
		disk := powertest.NewDisk(t, nil)
		db, err := kv.Open(t.Context(), "badger:"+filepath.Join(disk.Dir(), "db")+params)
		if err != nil {
			t.Fatal(err)
		}
		value := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, size) }
		put := func(i int) error { return db.Put(t.Context(), kv.Synced, fmt.Append(nil, i), value(i)) }
		if err := put(0); err != nil {
			t.Fatal(err)
		}
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "*.vlog"})
		if err := put(1); !errors.Is(err, kv.InDoubt) {
			t.Errorf("%q: the commit: %v, want InDoubt", params, err)
		}
		if disk.Failed() != 1 {
			t.Fatalf("%q: %d syncs of the value log failed", params, disk.Failed())
		}
		if err := put(2); !errors.Is(err, kv.Stopped) {
			t.Errorf("%q: the next commit: %v, want Stopped", params, err)
		}
		if v, err := db.Get(t.Context(), []byte("0")); !bytes.Equal(v, value(0)) {
			t.Errorf("%q: the value before: %d bytes, %v", params, len(v), err)
		}
		left, err := kv.Open(t.Context(), "badger:"+filepath.Join(disk.Cut(t), "db")+params)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := left.Get(t.Context(), []byte("0")); !bytes.Equal(v, value(0)) {
			t.Errorf("%q: the value before, after a power cut: %d bytes, %v", params, len(v), err)
		}
		if err := errors.Join(left.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// within fails the test if call does not return.
func within(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute): // far above the limits of the driver
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// No table can be written out any more: Badger tries for ever.
func TestNothingHangsForEverWhenTheDiskFails(t *testing.T) {
	if testing.Short() {
		badgerkv.SetPatience(t, time.Second)
	}
	disk := powertest.NewDisk(t, nil)
	o := badger.DefaultOptions("").WithMemTableSize(1 << 20).WithNumMemtables(1).WithValueLogFileSize(1 << 20).WithValueThreshold(1 << 17)
	db, err := badgerkv.Open(t.Context(), filepath.Join(disk.Dir(), "db"), &o)
	if err != nil {
		t.Fatal(err)
	}
	disk.Arm(powerfs.Fault{Nth: 1, Err: syscall.EIO, Sticky: true, Match: "*.sst"})
	ended := make(chan error, 4)
	for g := range cap(ended) {
		go func() {
			for i := 0; ; i++ {
				if err := db.Put(context.Background(), kv.Flushed, fmt.Append(nil, g, "/", i),
					make([]byte, 10_000)); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range cap(ended) {
		err := within(t, "a commit", func() error { return <-ended })
		if k := kv.KindOf(err); k != kv.InDoubt && k != kv.Stopped {
			t.Errorf("a commit: %v, want InDoubt or Stopped", err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = within(t, "a Get", func() error { _, err := db.Get(short, []byte("0/0")); return err })
	t.Logf("a Get: %v", err)
	err = within(t, "Compact", func() error { return db.Compact(t.Context()) })
	t.Logf("Compact: %v", err)
	if err := within(t, "Close", db.Close); err == nil {
		t.Error("Close worked, and the tables are not on the disk")
	}
	disk.Heal()
	// Badger writes the table out now, through a map: it must be done before the disk goes.
	_ = within(t, "what Badger still does", func() error {
		for {
			again, err := kv.Open(t.Context(), "badger:"+filepath.Join(disk.Dir(), "db"))
			if kv.KindOf(err) != kv.Busy {
				if err == nil {
					err = again.Close()
				}
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestOpenTakesBadgersOptions(t *testing.T) {
	dir := t.TempDir()
	o := badger.DefaultOptions("").WithMemTableSize(1 << 20).WithValueThreshold(1 << 10).WithSyncWrites(true)
	db, err := badgerkv.Open(t.Context(), dir, &o, kv.MustDeliver(kv.Synced))
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, kv.Synced, 1)
	h, ok := badgerkv.Handle(db)
	if !ok || h.Opts().MemTableSize != 1<<20 || h.Opts().Dir != dir {
		t.Fatalf("the handle: %v", ok)
	}
	err = h.View(func(tx *badger.Txn) error { _, err := tx.Get([]byte("key0")); return err })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Error(err)
	}
	if o.Dir != "" {
		t.Error("the program's options were changed")
	}
	o = o.WithInMemory(true)
	if _, err := badgerkv.Open(t.Context(), dir, &o); kv.KindOf(err) != kv.Invalid {
		t.Errorf("in memory: %v", err)
	}
	db, err = badgerkv.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	mem := open(t, "mem:", kv.WithWeakest(kv.Buffered))
	if _, ok := badgerkv.Handle(mem); ok {
		t.Error("a handle of another engine")
	}
}

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	for name, o := range map[string]badger.Options{
		"synced":   badger.DefaultOptions(t.TempDir()).WithSyncWrites(true).WithValueThreshold(1 << 10),
		"unsynced": badger.DefaultOptions(t.TempDir()),
	} {
		h, err := badger.Open(o.WithLogger(nil).WithMemTableSize(8 << 20))
		if err != nil {
			t.Fatal(err)
		}
		db, err := badgerkv.Wrap(h)
		if err != nil {
			t.Fatal(err)
		}
		d := db.Caps().Cheapest()
		want := map[string]kv.Durability{"synced": kv.Synced, "unsynced": kv.Flushed}[name]
		if p := db.Caps().Promise(d); p.Class != want || db.Caps().Promise(kv.Synced).Supported != (name == "synced") {
			t.Errorf("%s promises %+v", name, db.Caps().Promises)
		}
		err = db.Put(t.Context(), d, []byte("large"), make([]byte, 1<<10))
		if large := kv.KindOf(err) == kv.TooLarge; large != (name == "synced") || !large && err != nil {
			t.Errorf("%s, a value for the value log: %v", name, err)
		}
		err = db.Put(t.Context(), d, []byte("a"), []byte("1"))
		if err := errors.Join(err, db.Check(t.Context()), db.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err = h.View(func(tx *badger.Txn) error { _, err := tx.Get([]byte("a")); return err })
		if err := errors.Join(err, h.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Compact starts several compactions of the same tables, of which one finds them free. That is no
// failure of the disk: commits go on.
func TestCompactionsThatMeetAreNoTrouble(t *testing.T) {
	url := "badger:" + filepath.Join(t.TempDir(), "db") + "?MemTableSize=1310720"
	for i := range 8 { // closing writes a table; so many are merged
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Put(t.Context(), kv.Synced, fmt.Append(nil, i), []byte("v"))
		if err == nil && i > 5 {
			err = db.Compact(t.Context())
		}
		if err == nil {
			err = db.Put(t.Context(), kv.Synced, []byte("last"), fmt.Append(nil, i))
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatalf("opening %d: %v", i, err)
		}
	}
}
