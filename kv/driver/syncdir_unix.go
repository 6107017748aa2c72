//go:build unix

package driver

import (
	"errors"
	"os"
)

// SyncDir makes the entries of a folder durable: a file that was created, renamed or removed in it.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
