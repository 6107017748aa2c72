package sqlite

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// A system takes what a failed sync would have written for clean: no later sync writes it, though
// everybody still reads it. In the log that is a hole, behind which a power loss ends what is
// there, even if it was synced. Commits that are synced one by one leave none, as a failed one is
// overwritten by the next. Those that are not synced before it may.

// defaultCheckpoint is SQLite's own wal_autocheckpoint.
const defaultCheckpoint = 1000

func (o *Options) checkpointAt() int { return cmp.Or(o.WALAutocheckpoint, defaultCheckpoint) }

// Checkpointed returns what a commit must tell of its checkpoint, which ended with rc: that a sync
// failed. All else is tried again by the next one. SQLite's own passes over a failed sync too, so
// that the commits after it would stand behind the hole.
func Checkpointed(rc int32) int32 {
	if rc == IOErrFsync {
		return rc
	}
	return OK
}

// patience is how long rewriteLog waits for other writers.
const patience = time.Second

// rewriteLog writes the log once more, as it is, and syncs it, after a commit in doubt: a sync may
// have failed, of which other handles and processes know nothing. Nobody else writes meanwhile.
// What fails is tried again before this handle writes.
func (s *Store) rewriteLog() (err error) {
	if s.hole = false; s.journal != wal {
		return nil
	}
	defer func() { s.hole = err != nil }()
	deadline := time.Now().Add(patience)
	t, err := s.Begin(context.Background(), driver.Flushed)
	for driver.KindOf(err) == driver.Busy && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		t, err = s.Begin(context.Background(), driver.Flushed)
	}
	if err != nil {
		return err
	}
	return errors.Join(rewrite(s.path+"-wal"), t.Close())
}

// rewrite writes the file at path once more and syncs it.
func rewrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for at, n := int64(0), 0; err == nil; at += int64(n) {
		if n, err = f.ReadAt(buf, at); n == 0 {
			break
		}
		if _, failed := f.WriteAt(buf[:n], at); failed != nil {
			err = failed
		}
	}
	if err == io.EOF {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
