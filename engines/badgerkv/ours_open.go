package badgerkv

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	badgertable "github.com/dgraph-io/badger/v4/table"
)

// mend prepares the folder for Badger, or returns what is wrong with it.
func (r *room) mend(o badger.Options) error {
	if o.ReadOnly {
		return checkTables(o)
	}
	return errors.Join(removeLeftovers(o), r.take(0), checkTables(o))
}

// checkTables finds tables whose footer makes no sense. Badger loads tables in goroutines of its
// own and, where the lengths in a footer reach outside the file, panics there or calls os.Exit:
// neither can be turned into an error. Only tables that the manifest lists are looked at; a killed
// process may leave parts of others, which Badger removes. It also reports what cannot be opened.
func checkTables(o badger.Options) (err error) {
	f, err := os.Open(filepath.Join(o.Dir, badger.ManifestFilename))
	if err != nil {
		return nil
	}
	defer f.Close()
	manifest, _, _ := badger.ReplayManifestFile(f, o.ExternalMagicVersion, o) // an error is opening's to tell
	for id := range manifest.Tables {
		if t, oerr := os.Open(badgertable.NewFilename(id, o.Dir)); oerr == nil {
			err = errors.Join(err, checkFooter(t), t.Close())
		}
	}
	return err
}

// checkFooter reads a table's lengths from its end: … index, length of index (4 bytes), checksum,
// length of checksum (4 bytes).
func checkFooter(t *os.File) error {
	at, err := t.Seek(0, io.SeekEnd)
	for n := 0; n < 2 && err == nil; n++ {
		var length [4]byte
		_, err = t.ReadAt(length[:], at-4)
		at -= 4 + int64(binary.BigEndian.Uint32(length[:]))
	}
	if err != nil || at < 0 {
		return corrupt("%s does not end like a table: %w", t.Name(), cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}
