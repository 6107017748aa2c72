package kv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// Size is the space that a store takes on disk.
type Size struct {
	Allocated int64 `json:"allocated"` // bytes in allocated blocks; what the store really takes
	Apparent  int64 `json:"apparent"`  // bytes by the lengths of the files; sparse files look larger than they are
	Files     int   `json:"files"`
}

// Compact gives space that is no longer needed back to the file system, as far as the engine can while open.
// Writers wait meanwhile.
func (db *DB) Compact(ctx context.Context) error {
	if err := db.enterWriting(ctx, "compact", db.caps.Weakest()); err != nil {
		return err
	}
	defer db.leaveWriting()
	if err := db.store.Compact(ctx); err != nil {
		return db.wrap("compact", err)
	}
	return nil
}

// Check runs the engine's own check of the stored data. A fault is Corrupt. Where Caps.Checks is false it reads every
// pair, which finds less.
func (db *DB) Check(ctx context.Context) error {
	if err := db.enter(ctx, "check"); err != nil {
		return err
	}
	defer db.leave()
	if err := db.store.Check(ctx); err != nil {
		return db.wrap("check", err)
	}
	return nil
}

// Size returns the space that the store takes on disk now, companion files included.
func (db *DB) Size() (Size, error) {
	if err := db.enter(context.Background(), "size"); err != nil {
		return Size{}, err
	}
	defer db.leave()
	paths, err := db.store.Files()
	if err != nil {
		return Size{}, db.wrap("size", err)
	}
	size, err := SizeOf(paths...)
	if err != nil {
		return Size{}, db.wrap("size", err)
	}
	return size, nil
}

// SizeOf returns the space that files, and folders with all that is in them, take on disk. What does not exist takes
// none.
func SizeOf(paths ...string) (size Size, err error) {
	for _, path := range paths {
		err = errors.Join(err, size.add(path))
	}
	return size, err
}

// add walks path. Files that vanish meanwhile (an engine's compaction) are passed over.
func (s *Size) add(path string) error {
	return filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				s.Allocated += allocated(info)
				s.Apparent += info.Size()
				s.Files++
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// Backup writes a consistent copy of the last committed state to path, which must not exist. The copy is written
// beside its place, synced and renamed, so that path is the whole copy or nothing. It opens with the same engine.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	if err := db.enter(ctx, "backup"); err != nil {
		return err
	}
	defer db.leave()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &Error{Kind: Invalid, Err: fmt.Errorf("%s exists", path), Hint: "name a file that does not exist"}
		}
		return db.wrap("backup", err)
	}
	partial := path + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return db.wrap("backup", err)
	}
	defer func() {
		if err != nil {
			err = db.wrap("backup", errors.Join(err, os.RemoveAll(partial)))
		}
	}()
	if err := db.store.Backup(ctx, partial); err != nil {
		return err
	}
	if err := syncTree(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(path))
}

// syncTree syncs every file and folder at and below path.
func syncTree(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return driver.SyncDir(path)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
