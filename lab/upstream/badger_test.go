package upstream

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var badgerDropsASync = fault{module: "github.com/dgraph-io/badger/v4", defence: "engines/badgerkv",
	sentence: "with SyncWrites, a failed sync of the value log is logged and dropped: the commit is " +
		"acknowledged, and its value lost after a power cut"}

// TestBadgerAcknowledgesWhatTheValueLogLost commits a value that goes to the value log, whose sync
// fails.
func TestBadgerAcknowledgesWhatTheValueLogLost(t *testing.T) {
	for name, c := range map[string]struct {
		threshold int64
		size      int
	}{
		"a value above the default threshold of 1 MiB": {1 << 20, 2 << 20},
		"a small value and a threshold of 256":         {256, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fails := range []bool{false, true} {
				lost := badgerLoses(t, c.threshold, c.size, fails)
				if fails {
					badgerDropsASync.report(t, lost != nil, fmt.Sprintf("after the cut: %v", lost))
				} else if lost != nil {
					t.Fatalf("without a failure: %v", lost)
				}
			}
		})
	}
}

// badgerLoses commits a value and another one, whose sync fails or not, cuts the power, and returns
// how what was acknowledged is lost, nil if it is not.
func badgerLoses(t *testing.T, threshold int64, size int, fails bool) error {
	t.Helper()
	disk := powertest.NewDisk(t, nil)
	options := func(dir string) badger.Options {
		return badger.DefaultOptions(filepath.Join(dir, "badger")).WithSyncWrites(true).
			WithValueThreshold(threshold).WithLogger(nil)
	}
	db, err := badger.Open(options(disk.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	values := map[string]string{"first": strings.Repeat("1", size), "second": strings.Repeat("2", size)}
	set := func(k string) error {
		return db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(k), []byte(values[k])) })
	}
	if err := set("first"); err != nil {
		t.Fatal(err)
	}
	if fails {
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Match: "*.vlog"})
	}
	err = set("second")
	if disk.Failed() != map[bool]int{true: 1}[fails] {
		t.Fatalf("%d calls failed: the value is not in the value log", disk.Failed())
	}
	if err != nil {
		if !fails {
			t.Fatal(err)
		}
		delete(values, "second") // it was not acknowledged
	}
	return badgerLacks(options(disk.Cut(t)), values)
}

// badgerLacks returns what is wrong with a store that must hold the values.
func badgerLacks(o badger.Options, values map[string]string) error {
	db, err := badger.Open(o)
	if err != nil {
		return err
	}
	err = db.View(func(tx *badger.Txn) error {
		for k, want := range values {
			item, err := tx.Get([]byte(k))
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			got, err := item.ValueCopy(nil)
			if err != nil || string(got) != want {
				return fmt.Errorf("%s: Get returns %d bytes and the error %v, want %d bytes", k, len(got), err,
					len(want))
			}
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

var badgerNamesWhatIsGone = fault{module: "github.com/dgraph-io/badger/v4", defence: "engines/badgerkv",
	sentence: "a table whose entry in the manifest could not be synced is removed, and the manifest names it: the " +
		"store does not open again, though Close returned no error"}

// TestBadgerDoesNotOpenAfterAFailedSyncOfItsManifest fails that sync once, while Close writes out
// the table in memory. No power is cut.
func TestBadgerDoesNotOpenAfterAFailedSyncOfItsManifest(t *testing.T) {
	for _, fails := range []bool{false, true} {
		disk := powertest.NewDisk(t, nil)
		o := badger.DefaultOptions(filepath.Join(disk.Dir(), "badger")).WithSyncWrites(true).WithLogger(nil)
		db, err := badger.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *badger.Txn) error { return tx.Set([]byte("key"), []byte("value")) })
		if err != nil {
			t.Fatal(err)
		}
		if fails {
			disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Match: badger.ManifestFilename})
		}
		closed := db.Close()
		if disk.Failed() != map[bool]int{true: 1}[fails] {
			t.Fatalf("%d calls failed", disk.Failed())
		}
		lost := badgerLacks(o, map[string]string{"key": "value"})
		how := fmt.Sprintf("Close returned %v; then: %v", closed, lost)
		if fails {
			badgerNamesWhatIsGone.report(t, closed == nil && lost != nil, how)
		} else if lost != nil {
			t.Fatalf("without a failure: %s", how)
		}
	}
}

var badgerLosesATable = fault{module: "github.com/dgraph-io/badger/v4",
	defence: "nothing: Badger's promise (driver.Promise.DiskMayBreak)",
	sentence: "a compaction passes over a table that it could not write: it gives up what that one replaces, " +
		"and pairs that were synced long before are gone, without an error or a line in the log"}

// TestBadgerCompactionPassesOverATableThatFailed compacts tables of synced pairs, while the table
// that is to replace them cannot be made, once. No power is cut. It compacts when it is told to.
func TestBadgerCompactionPassesOverATableThatFailed(t *testing.T) {
	for _, fails := range []bool{false, true} {
		disk := powertest.NewDisk(t, nil)
		o := badger.DefaultOptions(filepath.Join(disk.Dir(), "badger")).WithSyncWrites(true).WithLogger(nil).
			WithNumCompactors(0)
		values := map[string]string{}
		open := func() *badger.DB {
			db, err := badger.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			return db
		}
		for i := range o.NumLevelZeroTables + 1 { // Close makes a table of each pair
			db, key := open(), fmt.Sprint("key ", i)
			values[key] = fmt.Sprint("value ", i)
			err := db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), []byte(values[key])) })
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		db := open()
		if fails {
			disk.Arm(powerfs.Fault{Op: powerfs.OnCreate, Nth: 1, Match: "*.sst"})
		}
		flattened := db.Flatten(1)
		if disk.Failed() != map[bool]int{true: 1}[fails] {
			t.Fatalf("%d calls failed", disk.Failed())
		}
		closed := db.Close()
		lost := badgerLacks(o, values)
		how := fmt.Sprintf("Flatten returned %v, Close %v; then: %v", flattened, closed, lost)
		if fails {
			badgerLosesATable.report(t, flattened == nil && closed == nil && lost != nil, how)
		} else if lost != nil {
			t.Fatalf("without a failure: %s", how)
		}
	}
}
