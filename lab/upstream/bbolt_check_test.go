package upstream

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var bboltCheckFaults = fault{module: "go.etcd.io/bbolt", defence: "engines/bboltkv/ours_pages.go",
	sentence: "Tx.Check of a damaged file ends the program, where a key lies outside of the file: it runs in a " +
		"goroutine of its own, where the caller cannot catch the fault"}

const bboltCheckRole = childRole + "-check"

// checkBbolt checks a file as a careful caller would: a fault is a panic, and a panic is caught.
func checkBbolt(path string) error {
	return caught(func() error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.View(func(tx *bolt.Tx) (err error) {
			for fault := range tx.Check() {
				err = fault
			}
			return err
		})
	})
}

// TestBboltCheckEndsTheProgram has each leaf say that its second key begins far behind the file.
func TestBboltCheckEndsTheProgram(t *testing.T) {
	const leaf, secondElement, far = 2, 16 + 16, 1 << 30
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := bboltStore{db: db}
	if err := s.set(0, bboltKeys, "c"); err != nil {
		t.Fatal(err)
	}
	page := db.Info().PageSize
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func() (string, error) {
		out, err := exec.Command(os.Args[0], bboltCheckRole, path).CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Fatalf("the file as it was: %v\n%s", err, out)
	}
	for at := 2 * page; at < len(data); at += page {
		head := data[at : at+page]
		if binary.NativeEndian.Uint16(head[8:]) == leaf && binary.NativeEndian.Uint16(head[10:]) > 1 {
			binary.NativeEndian.PutUint32(head[secondElement+4:], far)
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := check()
	bboltCheckFaults.report(t, err != nil && strings.Contains(out, "fatal error: fault"), firstLines(out, 3))
}

// firstLines returns the first n lines of text.
func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
