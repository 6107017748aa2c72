package mosskv_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// syncs counts what is told.
type syncs struct{ n atomic.Int64 }

func (s *syncs) Start(ctx context.Context, _ string) context.Context { return ctx }

func (s *syncs) End(_ context.Context, e kv.Event) {
	if e.Op == "sync" && e.Err == nil {
		s.n.Add(1)
	}
}

func TestSyncsAreThoseThatTheDiskCounts(t *testing.T) {
	disk, told := powertest.NewDisk(t, nil), new(syncs)
	db, err := kv.Open(t.Context(), "moss:"+filepath.Join(disk.Dir(), "db"), kv.WithTracer(told))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const commits = 10
	commit := func() {
		for range commits {
			if err := db.Put(t.Context(), kv.Synced, []byte("key"), []byte("value")); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit() // the first one also makes the file
	events, counted := told.n.Load(), disk.CallsOf(powerfs.OnSync)
	commit()
	events, counted = told.n.Load()-events, disk.CallsOf(powerfs.OnSync)-counted
	if int(events) != counted || events < commits {
		t.Errorf("%d commits: %d syncs are told, and the disk counts %d", commits, events, counted)
	}
}
