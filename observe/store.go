package observe

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// companions are the endings of files that engines keep beside a store's own.
var companions = []string{"-wal", "-shm", "-journal", ".wal"}

// measure looks at the files of the store, and returns a mark that differs when one was changed,
// made or removed. It opens none: to close a file of SQLite drops the locks of this process.
func (s *Store) measure() (mark uint64) {
	roots := s.roots()
	if _, err := os.Lstat(roots[0]); errors.Is(err, fs.ErrNotExist) {
		s.Missing = true
	}
	h := fnv.New64a()
	for _, root := range roots {
		// What vanishes meanwhile is passed over, and what cannot be read is not there for us.
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if isLog(name) {
				s.Log += info.Size()
			}
			if !strings.HasSuffix(name, "-shm") { // readers write to it
				fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	s.Size, _ = kv.SizeOf(roots...)
	return h.Sum64()
}

// roots are the file or folder of the store, and what may lie beside it.
func (s *Store) roots() []string {
	path := s.Path
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	roots := []string{path}
	for _, ending := range companions {
		roots = append(roots, path+ending)
	}
	return roots
}

// isLog reports whether a file is one that an engine reads when it recovers, by its name: SQLite's
// and DuckDB's logs, and the numbered ones of Pebble, LevelDB and Badger.
func isLog(name string) bool {
	for _, ending := range []string{"-wal", "-journal", ".wal"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	base := filepath.Base(name)
	number := strings.TrimSuffix(strings.TrimSuffix(base, ".log"), ".mem")
	return number != base && number != "" && strings.Trim(number, "0123456789") == ""
}

// Outside looks at the store at path without opening it, and changes nothing: its size, and who
// holds locks of it, where the system tells (Linux, for the processes that this one may see). The
// mark differs from an earlier one if a file was changed, made or removed in between.
func Outside(path string) (s Store, holders []Holder, mark uint64, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return s, nil, 0, err
	}
	s.Path = path
	mark = s.measure()
	s.At, s.Disk = time.Now(), diskOf(path)
	holders, err = holdersOf(s.roots())
	return s, holders, mark, err
}

// Holder is a process that has a lock of a store's files.
type Holder struct {
	PID     int    `json:"pid"`     // -1 if the system does not tell
	Program string `json:"program"` // "" likewise
	File    string `json:"file"`
	Write   bool   `json:"write"` // the lock excludes others
}
