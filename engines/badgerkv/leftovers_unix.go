//go:build unix

package badgerkv

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// removeLeftovers removes the empty log files that a process leaves which was killed between making
// one and giving it its size. They hold nothing, and Badger does not open a folder that has one
// ("Create a new file").
//
// It holds Badger's own lock on the folder meanwhile, so that it meets no process that is just
// making such a file.
func removeLeftovers(dir string) (err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }() // which frees the lock
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err}
	}
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".vlog" && ext != ".mem" {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Size() == 0 {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
