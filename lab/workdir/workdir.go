// Package workdir gives a run a folder of its own and removes the folders that killed runs have
// left.
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// Dir is a run's own folder, locked as long as the run lives.
type Dir struct {
	Path string
	lock *flock.Flock
	made string // the parent, if the run made it; "" otherwise
}

const (
	pattern  = "assay-run-*"
	lockName = "lock"
)

// Default returns the folder for the data of runs: one in the user's cache, since the temporary
// folder is often a tmpfs, where nothing can be synced.
func Default() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &kv.Error{Op: "find a folder for data", Kind: kv.NoStore, Err: err, Hint: "name one with --dir"}
	}
	return filepath.Join(cache, "assay", "work"), nil
}

// New makes a folder in parent, and removes those that runs which were killed have left there.
func New(parent string) (*Dir, error) {
	fail := func(err error) (*Dir, error) {
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
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return fail(err)
	}
	lock := flock.New(filepath.Join(path, lockName))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return fail(errors.Join(err, os.RemoveAll(path)))
	}
	return &Dir{Path: path, lock: lock, made: made}, nil
}

// Inherit removes the folder of a run at path once that has ended, in whatever way, and what it had
// mounted below. It returns when nothing is left, or with what keeps it from that.
func Inherit(path string) error {
	const patience = 20 * time.Second // a process that was killed may take a while to end
	var last error
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case time.Since(began) > patience:
			return errors.Join(fmt.Errorf("%s is left", path), last)
		}
		last = removeStale(filepath.Dir(path))
		// Processes of the run that end by themselves may still write: then the lock is gone, by
		// which others know a run's folder, and the folder is not.
		if _, err := os.Stat(filepath.Join(path, lockName)); errors.Is(err, fs.ErrNotExist) {
			last = os.RemoveAll(path)
		}
	}
}

// removeStale removes the folders of runs that no longer live. A disk that such a run had mounted
// below its folder is detached first: nobody answers for it any more.
func removeStale(parent string) error {
	paths, err := filepath.Glob(filepath.Join(parent, pattern))
	if err != nil {
		return err
	}
	// The lock of a run that was killed is free only once nothing of it waits for its disks any
	// more.
	detached, err := powerfs.DetachStale(parent)
	if err != nil {
		return err
	}
	patience := time.Now()
	if detached > 0 {
		patience = patience.Add(5 * time.Second)
	}
	for _, path := range paths {
		name := filepath.Join(path, lockName)
		if _, err := os.Stat(name); err != nil {
			continue // not a run's, or one that is just being made
		}
		lock := flock.New(name)
		ok, err := lock.TryLock()
		for err == nil && !ok && time.Now().Before(patience) {
			time.Sleep(20 * time.Millisecond)
			ok, err = lock.TryLock()
		}
		if err != nil || !ok {
			continue // lives, or belongs to another user
		}
		if err := errors.Join(lock.Close(), os.RemoveAll(path)); err != nil {
			return err
		}
	}
	return nil
}

// Remove gives the folder up and removes it with all that is in it.
func (d *Dir) Remove() error {
	err := errors.Join(d.lock.Close(), os.RemoveAll(d.Path))
	if d.made != "" {
		_ = os.Remove(d.made) // not if another run has begun there meanwhile
	}
	return err
}
