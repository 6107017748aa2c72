package bboltkv_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/assaydb/assay/kv"
)

func compacts(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not rename over an open file; bboltkv declares Compacts false there")
	}
}

func TestCompactReplacesTheFileThatALinkLeadsTo(t *testing.T) {
	compacts(t)
	dir := t.TempDir()
	real, link := filepath.Join(dir, "disk2", "real.db"), filepath.Join(dir, "link.db")
	db := open(t, real, "")
	fill(t, db, 0, 2000)
	if err := errors.Join(db.Close(), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(real)
	if err != nil {
		t.Fatal(err)
	}
	db = open(t, link, "")
	must(t, db.Update(ctx, kv.Flushed, func(tx *kv.Tx) error {
		return tx.DeleteRange(kv.Range{Start: []byte("000010")})
	}))
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	fill(t, db, 10, 20)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if after, err := os.Stat(real); err != nil || after.Size() >= before.Size() {
		t.Errorf("the file has %d bytes, had %d; %v", after.Size(), before.Size(), err)
	}
	db = open(t, real, "")
	if err := db.View(ctx, func(s *kv.Snapshot) error {
		if n := count(s); n != 20 {
			t.Errorf("the file holds %d pairs, want 20", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestCompactIsNotMisledByAnotherFolder(t *testing.T) {
	compacts(t)
	first, second := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(second, "db"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(first)
	db := open(t, "db", "")
	fill(t, db, 0, 100)
	t.Chdir(second)
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	fill(t, db, 100, 200)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(second, "db")); string(got) != "precious" {
		t.Errorf("the other folder's file was overwritten: %d bytes, %v", len(got), err)
	}
	db = open(t, filepath.Join(first, "db"), "")
	if _, err := db.Get(ctx, []byte("000150")); err != nil {
		t.Error(err)
	}
}

func TestCompactRefusesWhenAnotherFileHasTheName(t *testing.T) {
	compacts(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	db := open(t, path, "")
	fill(t, db, 0, 100)
	err := errors.Join(os.Rename(path, filepath.Join(dir, "moved")), os.WriteFile(path, []byte("precious"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(ctx); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want invalid with a hint", err)
	}
	if got, err := os.ReadFile(path); string(got) != "precious" {
		t.Errorf("the other file was overwritten: %d bytes, %v", len(got), err)
	}
	fill(t, db, 100, 200)
}
