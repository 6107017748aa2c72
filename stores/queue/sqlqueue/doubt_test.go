package sqlqueue_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// A sync that fails leaves a hole in SQLite's log where jobs were that nobody had synced. What is
// acknowledged after that must not stand behind the hole: the power may fail.
func TestNothingIsAcknowledgedBehindAFailedSync(t *testing.T) {
	for name, drafts := range map[string][]queue.Draft{"one statement": {{}}, "a transaction": {{}, {}}} {
		t.Run(name, func(t *testing.T) {
			disk := powertest.NewDisk(t, nil)
			open := func(dir string) (*queue.Store, *queue.Queue) {
				t.Helper()
				s, err := sqlqueue.Open(t.Context(), filepath.Join(dir, "queue.db"), nil)
				if err != nil {
					t.Fatal(err)
				}
				q, err := s.Queue("q", nil)
				if err != nil {
					t.Fatal(err)
				}
				return s, q
			}
			s, q := open(disk.Dir())
			for _, d := range []kv.Durability{kv.Synced, kv.Synced, kv.Flushed} { // the first takes ids
				if _, err := q.Publish(t.Context(), d, drafts...); err != nil {
					t.Fatal(err)
				}
			}
			disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "*-wal"})
			if _, err := q.Publish(t.Context(), kv.Synced, drafts...); !errors.Is(err, kv.InDoubt) {
				t.Errorf("the publish whose sync failed: %v, want in doubt", err)
			}
			disk.Heal()
			acknowledged := uint64(0)
			if ids, err := q.Publish(t.Context(), kv.Synced, drafts...); err == nil {
				acknowledged = ids[0]
			} else if !errors.Is(err, kv.Stopped) {
				t.Errorf("the publish after that: %v, want stopped", err)
			}
			left, found := open(disk.Cut(t))
			defer left.Close()
			if acknowledged > 0 {
				if _, err := found.Find(t.Context(), acknowledged); err != nil {
					t.Errorf("a job that was acknowledged as synced: %v", err)
				}
			}
			_ = s.Close() // what it holds is not known
			s, q = open(disk.Dir())
			defer s.Close()
			if _, err := q.Publish(t.Context(), kv.Synced, drafts...); err != nil {
				t.Errorf("a publish after opening it again: %v", err)
			}
		})
	}
}
