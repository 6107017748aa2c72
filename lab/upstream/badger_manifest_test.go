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
// sectors, and takes each of them away.
func TestBadgerDoesNotOpenOverATornRecord(t *testing.T) {
	const sector = 512
	dir := t.TempDir()
	manifest := filepath.Join(dir, badger.ManifestFilename)
	open := func() (*badger.DB, error) {
		return badger.Open(badger.DefaultOptions(dir).WithSyncWrites(true).WithLogger(nil))
	}
	var m []byte
	last := 0 // where the last record begins
	for i := 0; len(m) == 0 || last/sector == (len(m)-1)/sector; i++ {
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
		for at := 8; at < len(m); at += 8 + int(binary.BigEndian.Uint32(m[at:])) {
			last = at
		}
	}
	middle := last/sector*sector + sector
	for what, lost := range map[string][]byte{"first": m[last:middle], "second": m[middle:]} {
		kept := append([]byte(nil), lost...)
		clear(lost)
		if err := os.WriteFile(manifest, m, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := open()
		if err == nil {
			_ = db.Close() // it was opened to see
		}
		badgerRefusesATornRecord.report(t, err != nil, fmt.Sprintf("the record of %d bytes at %d lacks the %s sector: %v",
			len(m)-last, last, what, err))
		copy(lost, kept)
	}
}
