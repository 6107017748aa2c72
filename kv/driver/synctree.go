package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// SyncTree makes every file and folder at and below path durable. The entry of path itself is that
// of its parent: see [SyncDir].
func SyncTree(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return SyncDir(path)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
