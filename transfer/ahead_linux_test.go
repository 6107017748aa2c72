package transfer_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// TestAFileThatIsNotInMemoryIsReadAhead: bbolt maps its file and asks the system not to read ahead,
// so that a walk over a file that was not in memory waited for each of its pages: a copy of 12 GB
// took 450 s, where the system had let go of the source meanwhile.
func TestAFileThatIsNotInMemoryIsReadAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old")
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		var b kv.Batch
		for j := range 1000 {
			b.Put(kv.AppendUint64(nil, uint64(1000*i+j)), make([]byte, 1000))
		}
		if err := db.Write(t.Context(), kv.Synced, &b); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, db)
	pages := forget(t, path)
	before := waited(t)
	c, err := transfer.OpenExisting(context.Background(), "bbolt:"+path, transfer.Look)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = c.View(t.Context(), func(s *kv.Snapshot) error {
		return s.Each(kv.Range{}, func(_, v []byte) error {
			n += len(v)
			return nil
		})
	})
	if err != nil || n != 20_000_000 {
		t.Fatalf("%d bytes, error %v", n, err)
	}
	closed(t, c)
	if faults := waited(t) - before; faults > pages/4 {
		t.Errorf("the walk waited %d times for the disk, the file has %d pages", faults, pages)
	} else {
		t.Logf("the walk waited %d times for the disk, the file has %d pages", faults, pages)
	}
}

// forget has the system drop what it keeps of a file in memory, and returns how many pages it has.
func forget(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() / int64(os.Getpagesize())
}

// waited is how often this process waited for a page of the disk.
func waited(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Majflt
}
