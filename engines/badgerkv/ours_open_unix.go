//go:build unix

package badgerkv

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

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

// clean removes the empty log files that a process leaves which was killed between making one and
// giving it its size: they hold nothing, and Badger does not open a folder that has one ("Create a
// new file"). It makes the file that Badger ends the process over when it cannot make it. Badger's
// lock is held.
func clean(o badger.Options) error {
	entries, err := os.ReadDir(o.Dir)
	if err == nil {
		err = cutManifest(filepath.Join(o.Dir, badger.ManifestFilename))
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		ext := filepath.Ext(e.Name())
		if err == nil && info.Size() == 0 && (ext == ".vlog" || ext == ".mem") {
			err = os.Remove(filepath.Join(o.Dir, e.Name()))
		}
		if err == nil && info.Size() > 0 && ext == ".mem" {
			err = renew(filepath.Join(o.Dir, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	if info, err := os.Stat(filepath.Join(o.ValueDir, "DISCARD")); err == nil && info.Size() > 0 {
		return nil
	}
	if err := driver.MakeDirs(o.ValueDir); err != nil {
		return err
	}
	discards, err := badger.InitDiscardStats(o)
	if err != nil {
		return err
	}
	return discards.Close(-1)
}

// renew writes and syncs once more what is in the log of a table in memory, which a process leaves
// that was killed: it may have died of a sync that failed. The system then still shows what the
// disk lacks, and no later sync writes it: commits that follow would be kept, and it would not,
// until Badger has written it out as a table.
func renew(name string) (err error) {
	const header, longest = 20, 2 << 20 // no entry is longer, nor are the zeros in one
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	first := make([]byte, 2*header)
	if _, err := f.ReadAt(first, 0); err != nil || len(bytes.TrimRight(first, "\x00")) <= header {
		return nil // it holds nothing
	}
	part := make([]byte, longest)
	for at := int64(0); ; at += longest {
		n, err := f.ReadAt(part, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		used := bytes.TrimRight(part[:n], "\x00") // the file is longer than what was written
		if len(used) == 0 {
			return f.Sync()
		}
		if _, err := f.WriteAt(used, at); err != nil {
			return err
		}
	}
}
