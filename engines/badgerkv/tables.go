package badgerkv

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	badgertable "github.com/dgraph-io/badger/v4/table"
)

// checkTables finds tables whose footer makes no sense. Badger loads tables in goroutines of its
// own and, where the lengths in a footer reach outside the file, panics there or calls os.Exit:
// neither can be turned into an error. Only tables that the manifest lists are looked at; a killed
// process may leave parts of others, which Badger removes.
func checkTables(o badger.Options) error {
	f, err := os.Open(filepath.Join(o.Dir, badger.ManifestFilename))
	if err != nil {
		return nil // a new store, or an error that Badger finds too
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, o.ExternalMagicVersion, o)
	if err != nil {
		return nil // which Badger reports
	}
	for id := range manifest.Tables {
		if err := checkFooter(badgertable.NewFilename(id, o.Dir)); err != nil {
			return err
		}
	}
	return nil
}

// checkFooter reads a table's lengths from its end: … index, length of index (4 bytes), checksum,
// length of checksum (4 bytes).
func checkFooter(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil // Badger reports a table that is missing
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at := info.Size()
	for range 2 {
		var length [4]byte
		if at -= 4; at < 0 {
			return corrupt("%s is cut short", name)
		}
		if _, err := f.ReadAt(length[:], at); err != nil {
			return &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if at -= int64(binary.BigEndian.Uint32(length[:])); at < 0 {
			return corrupt("%s does not end like a table", name)
		}
	}
	return nil
}
