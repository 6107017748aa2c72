package upstream

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

var badgerRefusesATornRecord = fault{module: "github.com/dgraph-io/badger/v4",
	defence: "engines/badgerkv/ours_manifest.go",
	sentence: "a power cut before the manifest is synced may leave one of the two sectors of its last record: " +
		"the store does not open again"}

// TestBadgerDoesNotOpenOverATornRecord makes tables until a record of the manifest lies in two
// sectors, with its length in the first, and takes the second away.
func TestBadgerDoesNotOpenOverATornRecord(t *testing.T) {
	const sector, length, header = 512, 4, 8
	dir := t.TempDir()
	manifest := filepath.Join(dir, badger.ManifestFilename)
	open := func() (*badger.DB, error) {
		return badger.Open(badger.DefaultOptions(dir).WithSyncWrites(true).WithLogger(nil))
	}
	var m []byte
	last := 0 // where the last record begins
	for i := 0; len(m) == 0 || (last+length)/sector == len(m)/sector; i++ {
		db, err := open()
		if err == nil {
			err = db.Update(func(tx *badger.Txn) error { return tx.Set(fmt.Append(nil, i), nil) })
		}
		if err == nil {
			err = db.Close() // which writes a table
		}
		if err == nil {
			m, err = os.ReadFile(manifest)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := header; at < len(m); at += header + int(binary.BigEndian.Uint32(m[at:])) {
			last = at
		}
	}
	middle := (last+length)/sector*sector + sector
	clear(m[middle:])
	if err := os.WriteFile(manifest, m, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := open()
	if err == nil {
		_ = db.Close() // it was opened to see
	}
	badgerRefusesATornRecord.report(t, err != nil, fmt.Sprintf("the record of %d bytes at %d lacks the sector at %d: %v",
		len(m)-last, last, middle, err))
}
