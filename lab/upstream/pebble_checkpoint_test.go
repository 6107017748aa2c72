package upstream

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var pebbleNoManifest = fault{module: "github.com/cockroachdb/pebble/v2", defence: "engines/pebblekv",
	sentence: "a Checkpoint before the first change of a table since an Open that found no log copies no byte of the " +
		"manifest, returns no error, and does not open"}

// TestPebbleWritesACheckpointWithoutAManifest lets an Open fail when it makes the new log, and
// takes a checkpoint once the store is open again.
func TestPebbleWritesACheckpointWithoutAManifest(t *testing.T) {
	for _, fails := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "pebble")
		db := openedPebble(t, dir)
		if err := db.Set([]byte("a"), []byte("1"), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if fails {
			full := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".log") {
					return syscall.ENOSPC
				}
				return nil
			}))
			if db, err := pebble.Open(dir, &pebble.Options{FS: full}); err == nil {
				t.Fatal("opened without a log:", db.Close())
			}
		}
		db = openedPebble(t, dir)
		if err := db.Set([]byte("b"), []byte("2"), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		copied := dir + "-checkpoint"
		if err := db.Checkpoint(copied, pebble.WithFlushedWAL()); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := pebble.Open(copied, &pebble.Options{})
		if err == nil {
			err = db.Close()
		}
		if fails {
			pebbleNoManifest.report(t, err != nil, fmt.Sprint("opening it: ", err))
		} else if err != nil {
			t.Fatalf("without a failure: %v", err)
		}
	}
}

func openedPebble(t *testing.T, dir string) *pebble.DB {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}
