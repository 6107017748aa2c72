package mosskv

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

func mustOpen(t *testing.T, path string) *kv.DB {
	t.Helper()
	db, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// made returns a folder with a closed store that holds a=1, and the name of its file.
func made(t *testing.T) (folder, file string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, folder)
	if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return folder, filepath.Join(folder, moss.FormatFName(1))
}

// atItsEnd opens a store's file, and returns its size and where its next footer begins: its last
// one is in the page before.
func atItsEnd(t *testing.T, file string) (f *os.File, size, next int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	page := int64(moss.StorePageSize)
	return f, info.Size(), (info.Size() + page - 1) / page * page
}

func holds(t *testing.T, folder string) {
	t.Helper()
	db := mustOpen(t, folder)
	defer db.Close()
	if v, err := db.Get(t.Context(), []byte("a")); string(v) != "1" {
		t.Errorf("get: got %q, %v, want 1", v, err)
	}
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), nil); err != nil {
		t.Error(err)
	}
}

// A process that dies while moss creates a file leaves some of its first page.
func TestFileWithoutACommitIsSetAside(t *testing.T) {
	for _, size := range []int{0, 100, moss.StorePageSize, moss.StorePageSize + 10} {
		folder, file := made(t)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		torn := filepath.Join(folder, moss.FormatFName(2))
		if err := os.WriteFile(torn, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		holds(t, folder)
		if _, err := os.Stat(torn + ".torn"); err != nil {
			t.Error(err)
		}
	}
}

// A machine that loses power while moss writes a footer may keep a part of it.
func TestTornFooterIsCutOff(t *testing.T) {
	for _, kept := range []int64{10, 100} {
		folder, file := made(t)
		last, _, next := atItsEnd(t, file)
		footer := make([]byte, kept)
		if _, err := last.ReadAt(footer, next-int64(moss.StorePageSize)); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(footer, moss.StoreMagicBeg[:min(6, kept)]) {
			t.Fatalf("no footer where one was expected: %q", footer)
		}
		if _, err := last.WriteAt(footer, next); err != nil {
			t.Fatal(err)
		}
		holds(t, folder)
	}
}

// Of a footer that lies in several sectors, one within may be missing: nothing but zeros is there.
func TestAFooterWithoutItsMiddleIsCutOff(t *testing.T) {
	folder, file := made(t)
	f, size, next := atItsEnd(t, file)
	begin := next - int64(moss.StorePageSize)
	footer := make([]byte, size-begin)
	if _, err := f.ReadAt(footer, begin); err != nil {
		t.Fatal(err)
	}
	end := len(footer) - 2*len(moss.StoreMagicEnd) // before it are its position and its length
	moss.StoreEndian.PutUint64(footer[end-12:], uint64(next))
	clear(footer[len(footer)/2 : len(footer)/2+10])
	if _, err := f.WriteAt(footer, next); err != nil {
		t.Fatal(err)
	}
	holds(t, folder)
}

func TestFileThatWasCompactedIsRemoved(t *testing.T) {
	folder, file := made(t)
	old := filepath.Join(folder, moss.FormatFName(0))
	if err := os.Link(file, old); err != nil {
		t.Fatal(err)
	}
	holds(t, folder)
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old file: %v", err)
	}
}

func TestNoSyncSucceedsAfterAWriteThatFailed(t *testing.T) {
	f, err := opener(nil)(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a file opened for reading was written")
	}
	if err := f.Sync(); err == nil {
		t.Error("the sync succeeds")
	}
}

func TestHandleIsMosssOwn(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"))
	defer db.Close()
	if err := db.Put(t.Context(), kv.Buffered, []byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	c, ok := Handle(db)
	if !ok {
		t.Fatal("no handle")
	}
	if v, err := c.Get([]byte("a"), moss.ReadOptions{}); string(v) != "1" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	other, err := kv.Open(context.Background(), "mem:")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, ok := Handle(other); ok {
		t.Error("a handle of another engine")
	}
}
