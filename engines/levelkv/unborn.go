package levelkv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// removeUnborn removes what a process that died while it created a store left: a manifest that
// CURRENT does not name yet. goleveldb would refuse the folder for ever. There is no data: the
// first journal is created after CURRENT.
func removeUnborn(disk storage.Storage, path string) error {
	if _, err := os.Stat(filepath.Join(path, "CURRENT")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	manifests, err := disk.List(storage.TypeManifest)
	if err != nil {
		return err
	}
	for _, fd := range manifests {
		if err := disk.Remove(fd); err != nil {
			return err
		}
	}
	names, err := os.ReadDir(path)
	for _, n := range names {
		// The next CURRENT is written under such a name and renamed.
		if number, ok := strings.CutPrefix(n.Name(), "CURRENT."); ok && strings.Trim(number, "0123456789") == "" {
			err = errors.Join(err, os.Remove(filepath.Join(path, n.Name())))
		}
	}
	return err
}
