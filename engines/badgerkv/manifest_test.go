package badgerkv_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/kv"
)

// TestATornRecordOfTheManifestIsCutOff has a store whose manifest ends with a record that lies in
// two sectors, with its length in the first, and takes away each of them, as a power loss may
// before the record is synced. What is damaged otherwise stays Corrupt.
func TestATornRecordOfTheManifestIsCutOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not repaired on Windows: Badger's lock cannot be held meanwhile")
	}
	const sector, length = 512, 4
	dir := filepath.Join(t.TempDir(), "store")
	manifest := filepath.Join(dir, badger.ManifestFilename)
	var before, last int // where the last records begin
	var m []byte
	for i := 0; (last+length)/sector == max(length, len(m)-1)/sector; i++ {
		db, err := kv.Open(t.Context(), "badger:"+dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Put(t.Context(), kv.Synced, fmt.Append(nil, i), nil); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil { // which writes a table
			t.Fatal(err)
		}
		if m, err = os.ReadFile(manifest); err != nil {
			t.Fatal(err)
		}
		for at := 8; at < len(m); at += badgerkv.Record(m[at:]) {
			before, last = last, at
		}
	}
	middle := (last+length)/sector*sector + sector
	zeros := func(from, to int) []byte {
		return bytes.Join([][]byte{m[:from], make([]byte, to-from), m[to:]}, nil)
	}
	flipped := bytes.Clone(m)
	flipped[len(m)-1] ^= 1
	for _, c := range []struct {
		what string
		m    []byte
		cut  bool
	}{
		{"the first sector is lost", zeros(last, middle), true},
		{"the second sector is lost", zeros(middle, len(m)), true},
		{"a bit is another one", flipped, false},
		{"a sector is lost, and others follow", append(zeros(middle, len(m)), m[before:last]...), false},
	} {
		left := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, badger.ManifestFilename), c.m, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := kv.Open(t.Context(), "badger:"+left)
		if !c.cut {
			if !errors.Is(err, kv.Corrupt) {
				t.Errorf("%s: %v, want Corrupt", c.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if _, err := db.Get(t.Context(), []byte("0")); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
