package pebblekv

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// checkpoint writes a checkpoint to path. Pebble copies as much of its manifest as it has written
// since it was opened. That is nothing where it found no log, because who opened the store before
// failed, or died, when he had put the old log into tables and was to make the next; and nothing
// was put into a table since. Such a checkpoint does not open. Its manifest is the store's as it
// was found.
func (s checkpointed) checkpoint(path string) error {
	if err := s.db.Checkpoint(path, pebble.WithFlushedWAL()); err != nil {
		return err
	}
	made, err := pebble.Peek(path, vfs.Default)
	if err != nil {
		return err
	}
	info, err := os.Stat(made.ManifestFilename)
	if err != nil || info.Size() > 0 {
		return err
	}
	if s.o == nil {
		return &driver.Error{Op: "backup", Kind: driver.Unsupported, Err: errors.New("pebble wrote no manifest"),
			Hint: "commit something and call Compact, then try again"}
	}
	return vfs.Copy(s.o.FS, filepath.Join(s.fence.folder, filepath.Base(made.ManifestFilename)), made.ManifestFilename)
}
