//go:build unix

package badgerkv

import (
	"errors"
	"os"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// removeLeftovers cleans the folder. It holds Badger's own lock meanwhile, so that it meets no
// process that is just making such a file.
func removeLeftovers(o badger.Options) (err error) {
	folder, err := os.Open(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }() // which frees the lock
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &driver.Error{Op: "open", Kind: driver.Busy, Err: err}
	}
	return clean(o)
}
