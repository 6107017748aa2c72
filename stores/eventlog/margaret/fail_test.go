package margaret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// failing is a file whose changes fail from the n-th on, that of all files that share left.
type failing struct {
	file
	left *int
	half bool // a write that fails has written half, unless it is that of the journal, which lies in one sector
}

var errDisk = errors.New("the disk is gone")

func (f failing) fail() bool { *f.left--; return *f.left < 0 }

func (f failing) WriteAt(p []byte, at int64) (int, error) {
	if f.fail() {
		if f.half && len(p) > journalSize {
			_, _ = f.file.WriteAt(p[:len(p)/2], at)
		}
		return 0, errDisk
	}
	return f.file.WriteAt(p, at)
}

func (f failing) Sync() error {
	if f.fail() {
		return errDisk
	}
	return f.file.Sync()
}

func (f failing) Truncate(size int64) error {
	if f.fail() {
		return errDisk
	}
	return f.file.Truncate(size)
}

// The n-th change of the files and all after it fail, for every n until nothing fails: the append
// says so, and the log holds what it acknowledged when it is opened again.
func TestAFailedWriteLosesNothingThatWasAcknowledged(t *testing.T) {
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed} {
		for _, half := range []bool{false, true} {
			for n := 0; ; n++ {
				if failAfter(t, d, half, n) {
					break
				}
			}
		}
	}
}

// failAfter reports whether nothing failed.
func failAfter(t *testing.T, d kv.Durability, half bool, n int) (whole bool) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	log, err := Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*file{&log.b.data, &log.b.offsets, &log.b.journal, &log.b.unsynced} {
		*f = failing{*f, &n, half}
	}
	var acknowledged [][]byte
	for i := range 4 {
		messages := [][]byte{fmt.Appendf(nil, "message %d", 2*i), fmt.Appendf(nil, "message %d", 2*i+1)}
		if _, err := log.Append(ctx, d, messages...); err != nil {
			if !errors.Is(err, errDisk) {
				t.Fatalf("append: %v, want the disk's error", err)
			}
			if _, err := log.Append(ctx, d, messages...); err == nil {
				t.Fatal("an append on a disk that is gone succeeded")
			}
			break
		}
		acknowledged = append(acknowledged, messages...)
	}
	whole = log.Close() == nil && n >= 0
	log, err = Open(ctx, dir, nil)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer log.Close()
	var got [][]byte
	if err := log.View(ctx, func(s *feed.Snapshot) error {
		for _, m := range s.Scan(0, s.Len()) {
			got = append(got, bytes.Clone(m))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// The append whose journal could not be synced is there or not.
	if len(got)%2 != 0 || len(got) < len(acknowledged) || !slices.EqualFunc(got[:len(acknowledged)], acknowledged,
		bytes.Equal) {
		t.Fatalf("got %q, acknowledged were %q", got, acknowledged)
	}
	return whole
}
