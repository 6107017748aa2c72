package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDirs creates the folder dir and its missing parents, for this user only, and makes their
// entries durable, so that a file synced in dir is found again after power loss. Folders that exist
// are left as they are.
func MakeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MakeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDir(parent)
}
