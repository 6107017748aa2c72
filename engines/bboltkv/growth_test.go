package bboltkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

// tight is a store whose memory map must grow with the file.
const tight = "?InitialMmapSize=1"

// With a snapshot open, the file grows a thousandfold.
func TestWritersDoNotWaitForSnapshots(t *testing.T) {
	if runtime.GOOS == "windows" || strconv.IntSize < 64 {
		t.Skip("NOT TESTED: no addresses to spare")
	}
	db := open(t, filepath.Join(t.TempDir(), "db"), "")
	fill(t, db, 0, 10)
	s, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if err := db.Put(ctx, kv.Flushed, fmt.Appendf(nil, "large%d", i), make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(s); n != 10 {
		t.Errorf("the snapshot holds %d pairs, want 10", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The file of a small store stays small, though its map is large.
func TestASmallStoreTakesLittleSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	fill(t, open(t, path, ""), 0, 10)
	if info, err := os.Stat(path); err != nil || info.Size() > 256<<10 {
		t.Errorf("ten pairs take %d bytes, %v", info.Size(), err)
	}
}

// snapshots opens some.
func snapshots(t *testing.T, db *kv.DB, n int) (all []*kv.Snapshot) {
	t.Helper()
	for range n {
		s, err := db.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestACommitThatWaitsForSnapshotsIsInDoubtAtLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := kv.Open(ctx, "bbolt:"+path+tight, kv.WithWait(0))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, db, 0, 10)
	held := snapshots(t, db, 3)
	var b kv.Batch
	b.Put([]byte("large"), bytes.Repeat([]byte("x"), 4<<20))
	bboltkv.SetPatience(t, 50*time.Millisecond)
	err = db.Write(ctx, kv.Flushed, &b)
	if !errors.Is(err, kv.InDoubt) || kv.HintOf(err) == "" {
		t.Errorf("the commit: %v, want in doubt with a hint", err)
	}
	b.Reset() // the program may use its memory again
	b.Put([]byte("large"), bytes.Repeat([]byte("y"), 4<<20))
	if _, err := db.Snapshot(ctx); !errors.Is(err, kv.Busy) {
		t.Errorf("a snapshot meanwhile: %v, want busy", err)
	}
	if err := db.Put(ctx, kv.Flushed, []byte("a"), nil); !errors.Is(err, kv.Stopped) {
		t.Errorf("a commit meanwhile: %v, want stopped", err)
	}
	if err := db.Check(ctx); !errors.Is(err, kv.Busy) {
		t.Errorf("a check meanwhile: %v, want busy", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.View(short, func(*kv.Snapshot) error { return nil }); !errors.Is(err, kv.Canceled) {
		t.Errorf("a view meanwhile, canceled: %v", err)
	}
	for _, s := range held { // one after another: none may wait for the next
		if n := count(s); n != 10 {
			t.Errorf("a snapshot holds %d pairs, want 10", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	db = open(t, path, "")
	if v, err := db.Get(ctx, []byte("large")); err != nil || string(v) != strings.Repeat("x", 4<<20) {
		t.Errorf("the commit that went on: %d bytes %.9q, %v", len(v), v, err)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
}

// Snapshots that end in time are only waited for.
func TestACommitWaitsForSnapshotsThatEnd(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), tight)
	fill(t, db, 0, 10)
	for round := range 6 {
		held := snapshots(t, db, 2)
		done := make(chan error)
		go func() { done <- db.Put(ctx, kv.Flushed, []byte("large"), make([]byte, 1<<(16+round))) }()
		for _, s := range held {
			if n := count(s); n != 10+min(round, 1) {
				t.Errorf("a snapshot holds %d pairs", n)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
}

// A scan goes on in other goroutines than the one that began it, and ends in any order.
func TestAScanMovesBetweenGoroutines(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), "")
	fill(t, db, 0, 100)
	s := snapshots(t, db, 1)[0]
	var its []*kv.Iterator
	for range 3 {
		its = append(its, s.Iter(kv.Range{}))
	}
	for i := range 100 {
		for _, it := range its {
			moved := make(chan bool)
			go func() { moved <- it.Next() }()
			if !<-moved || string(it.Key()) != fmt.Sprintf("%06d", i) {
				t.Fatalf("step %d: %q, %v", i, it.Key(), it.Err())
			}
		}
	}
	for _, i := range []int{1, 0, 2} {
		if err := its[i].Close(); err != nil {
			t.Error(err)
		}
	}
	next, stop := iter.Pull2(s.Scan(kv.Range{}))
	defer stop()
	if k, _, ok := next(); !ok || string(k) != "000000" {
		t.Errorf("a new scan: %q", k)
	}
	stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A length that reaches beyond the file must not be lent to a program, where touching it would end
// the process.
func TestAValueBeyondTheFileIsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?PageSize=4096")
	fill(t, db, 0, 100)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A leaf's elements are flags, position, and the sizes of key and value, of four bytes each.
	leaf := []byte{6, 0, 0, 0, 100, 0, 0, 0}
	damaged := bytes.ReplaceAll(data, leaf, []byte{6, 0, 0, 0, 100, 0, 0, 0x10})
	if bytes.Equal(data, damaged) {
		t.Fatal("no leaf was found")
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = kv.Open(ctx, "bbolt:"+path)
	if err != nil {
		t.Skipf("it is found earlier: %v", err)
	}
	defer db.Close()
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for _, v := range s.Scan(kv.Range{}) {
			if v[len(v)-1] == 'x' {
				t.Log("touched")
			}
		}
		return nil
	})
	if !errors.Is(err, kv.Corrupt) {
		t.Errorf("a scan: %v, want Corrupt", err)
	}
}
