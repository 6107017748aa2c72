package sqllog_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// A sync that fails leaves a hole in SQLite's log where events were that nobody had synced. What is
// acknowledged after that must not stand behind the hole: the power may fail.
func TestNothingIsAcknowledgedBehindAFailedSync(t *testing.T) {
	for name, drafts := range map[string][]eventlog.Draft{"one statement": {{Type: "t"}},
		"a transaction": {{Type: "t"}, {Type: "t"}}} {
		t.Run(name, func(t *testing.T) {
			disk := powertest.NewDisk(t, nil)
			log, err := sqllog.Open(t.Context(), filepath.Join(disk.Dir(), "log.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			commit := func(d kv.Durability) (uint64, error) {
				done, err := log.Append(t.Context(), d, "", eventlog.Any, drafts...)
				return done.Last, err
			}
			if _, err := commit(kv.Synced); err != nil {
				t.Fatal(err)
			}
			if _, err := commit(kv.Flushed); err != nil {
				t.Fatal(err)
			}
			disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "*-wal"})
			if _, err := commit(kv.Synced); !errors.Is(err, kv.InDoubt) {
				t.Errorf("the append whose sync failed: %v, want in doubt", err)
			}
			disk.Heal()
			acknowledged := uint64(0)
			if last, err := commit(kv.Synced); err == nil {
				acknowledged = last
			} else if !errors.Is(err, kv.Stopped) {
				t.Errorf("the append after that: %v, want stopped", err)
			}
			left, err := sqllog.Open(t.Context(), filepath.Join(disk.Cut(t), "log.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer left.Close()
			if last, err := left.LastPosition(t.Context()); err != nil || last < acknowledged {
				t.Errorf("the log ends at %d, %v; event %d was acknowledged as synced", last, err, acknowledged)
			}
			_ = log.Close() // what it holds is not known
			log, err = sqllog.Open(t.Context(), filepath.Join(disk.Dir(), "log.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if _, err := commit(kv.Synced); err != nil {
				t.Errorf("an append after opening it again: %v", err)
			}
		})
	}
}
