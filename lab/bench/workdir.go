package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
)

// workdir is a run's own folder, locked as long as the run lives.
type workdir struct {
	path string
	lock *flock.Flock
	made string // the parent, if the run made it; "" otherwise
}

const (
	workdirPattern = "assay-run-*"
	workdirLock    = "lock"
)

// DefaultDir returns the folder for the data of runs: one in the user's cache, since the temporary folder is often a
// tmpfs, where nothing can be synced.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &kv.Error{Op: "find a folder for data", Kind: kv.Missing, Err: err, Hint: "name one with --dir"}
	}
	return filepath.Join(cache, "assay", "work"), nil
}

// newWorkdir makes a folder in parent, and removes those that runs which were killed have left there.
func newWorkdir(parent string) (*workdir, error) {
	fail := func(err error) (*workdir, error) {
		return nil, &kv.Error{Op: "make a folder for data in", Path: parent, Kind: kv.KindOf(err), Err: err,
			Hint: "name a folder that you may write to with --dir"}
	}
	made := ""
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		made = parent
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fail(err)
	}
	if err := removeStale(parent); err != nil {
		return fail(err)
	}
	path, err := os.MkdirTemp(parent, workdirPattern)
	if err != nil {
		return fail(err)
	}
	lock := flock.New(filepath.Join(path, workdirLock))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return fail(errors.Join(err, os.RemoveAll(path)))
	}
	return &workdir{path: path, lock: lock, made: made}, nil
}

// removeStale removes the folders of runs that no longer live.
func removeStale(parent string) error {
	paths, err := filepath.Glob(filepath.Join(parent, workdirPattern))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := filepath.Join(path, workdirLock)
		if _, err := os.Stat(name); err != nil {
			continue // not a run's, or one that is just being made
		}
		lock := flock.New(name)
		ok, err := lock.TryLock()
		if err != nil || !ok {
			continue // lives, or belongs to another user
		}
		if err := errors.Join(lock.Close(), os.RemoveAll(path)); err != nil {
			return err
		}
	}
	return nil
}

// cell returns a path in the folder for the cell with the given number. It does not exist yet.
func (w *workdir) cell(n int) string { return filepath.Join(w.path, fmt.Sprintf("cell-%d", n)) }

func (w *workdir) remove() error {
	err := errors.Join(w.lock.Close(), os.RemoveAll(w.path))
	if w.made != "" {
		_ = os.Remove(w.made) // not if another run has begun there meanwhile
	}
	return err
}
