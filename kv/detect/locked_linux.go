package detect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/assaydb/assay/kv/detect/locks"
)

// locked reports whether a process has a lock on the file, or on the folder or a file in it, by the
// kernel's list. Unlike a try to take the lock it keeps nobody out meanwhile.
func locked(path string) (bool, error) {
	held, err := locks.Held()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil // this system does not tell
	}
	if err != nil {
		return false, err
	}
	names := []string{path, path + "-shm"} // the second is where SQLite locks in WAL mode
	if inside, err := os.ReadDir(path); err == nil {
		for _, e := range inside {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		id := locks.ID(name)
		return id != "" && slices.ContainsFunc(held, func(l locks.Lock) bool { return l.File == id })
	}), nil
}
