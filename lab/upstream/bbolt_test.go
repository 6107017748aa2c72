package upstream

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var bboltGoesOn = fault{module: "go.etcd.io/bbolt", defence: "engines/bboltkv",
	sentence: "after the fdatasync of its meta page has failed, the next commit is accepted, and writes over pages " +
		"that the durable meta page, and read transactions that are open, still refer to"}

// The store is 200 keys in one bucket; a value is one letter, many times.
const bboltKeys = 200

type bboltStore struct {
	disk *powertest.Disk
	db   *bolt.DB
}

// newBbolt returns a store whose values are all of the letter c, in the second generation: there
// are free pages.
func newBbolt(t *testing.T) *bboltStore {
	t.Helper()
	s := &bboltStore{disk: powertest.NewDisk(t, nil)}
	s.open(t)
	t.Cleanup(func() { s.db.Close() })
	for range 2 {
		if err := s.set(0, bboltKeys, "c"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// open opens the file, as large as never to be mapped anew, which would wait for transactions.
func (s *bboltStore) open(t *testing.T) {
	t.Helper()
	var err error
	s.db, err = bolt.Open(filepath.Join(s.disk.Dir(), "db"), 0o600, &bolt.Options{InitialMmapSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *bboltStore) set(from, to int, letter string) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		for i := from; i < to && err == nil; i++ {
			err = b.Put(bboltKey(i), []byte(strings.Repeat(letter, 100)))
		}
		return err
	})
}

func bboltKey(i int) []byte { return fmt.Appendf(nil, "%03d", i) }

// letters returns the letter of each key, ? where there is none. It gets one by one: a cursor over
// a damaged tree need not end.
func letters(tx *bolt.Tx) string {
	var found strings.Builder
	b := tx.Bucket([]byte("b"))
	for i := range bboltKeys {
		letter := "?"
		if b != nil {
			if v := b.Get(bboltKey(i)); len(v) > 0 {
				letter = string(v[:1])
			}
		}
		found.WriteString(letter)
	}
	return found.String()
}

// setFailing commits the letter d for the first five keys. If it fails, then because the second
// sync of the commit did, that of the meta page.
func (s *bboltStore) setFailing(t *testing.T, fails bool) {
	t.Helper()
	var want error
	if fails {
		want = syscall.EIO
		s.disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 2, Match: "db"})
	}
	if err := s.set(0, 5, "d"); !errors.Is(err, want) {
		t.Fatalf("the commit returned %v, want %v", err, want)
	}
}

// TestBboltReadTransactionReadsWhatCameAfterIt reads in a transaction that is older than a commit
// whose sync fails, and a commit after that.
func TestBboltReadTransactionReadsWhatCameAfterIt(t *testing.T) {
	found := map[bool]string{}
	for _, fails := range []bool{false, true} {
		s := newBbolt(t)
		tx, err := s.db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		s.setFailing(t, fails)
		if err := s.set(195, 200, "e"); err != nil {
			bboltGoesOn.report(t, false, fmt.Sprintf("the next commit returned %v", err))
			return
		}
		err = caught(func() error { found[fails] = letters(tx); return nil })
		if err != nil {
			found[fails] = err.Error()
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Repeat("c", bboltKeys)
	if found[false] != want {
		t.Fatalf("without a failure the older transaction reads %s", found[false])
	}
	bboltGoesOn.report(t, found[true] != want, "the transaction, begun when all were c, reads "+found[true])
}

// TestBboltLosesKeysAfterAFailedSync cuts the power before each call of the commit that follows
// the one that failed.
func TestBboltLosesKeysAfterAFailedSync(t *testing.T) {
	for _, c := range []struct {
		name           string
		fails, reopens bool
	}{
		{"without a failure", false, false},
		{"the next commit", true, false},
		{"the file is closed and opened before the next commit", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cuts, lacking, closed := 0, 0, 0
			example := ""
			for n := 1; ; n++ {
				got, err := cutBbolt(t, n, c.fails, c.reopens)
				if errors.Is(err, errNoCut) {
					break
				}
				cuts++
				switch {
				case err != nil:
					closed++
					example = err.Error()
				case !bboltAllows(got, c.fails):
					lacking++
					example = got
				}
			}
			how := fmt.Sprintf("of %d power cuts, %d left a file that opens and lacks committed keys, "+
				"%d one that does not open: %s", cuts, lacking, closed, example)
			if c.fails {
				bboltGoesOn.report(t, lacking > 0, how)
				return
			}
			t.Log(how)
			if lacking+closed > 0 || cuts == 0 {
				t.Error("the control failed")
			}
		})
	}
}

// errNoCut is that the commit had fewer calls, or was refused.
var errNoCut = errors.New("no cut")

// cutBbolt returns the letters that are left if power fails before the nth call of a commit that
// follows another one, which failed or not.
func cutBbolt(t *testing.T, n int, fails, reopens bool) (string, error) {
	t.Helper()
	s := newBbolt(t)
	s.setFailing(t, fails)
	if reopens {
		if err := s.db.Close(); err != nil {
			t.Fatal(err)
		}
		s.open(t)
	}
	before := s.disk.Calls()
	s.disk.CutBefore(n)
	if err := s.set(195, 200, "e"); err != nil {
		return "", fmt.Errorf("%w: %w", errNoCut, err)
	}
	if n > s.disk.Calls()-before {
		return "", errNoCut
	}
	return readBbolt(s.disk.Cut(t))
}

// bboltAllows reports whether a file may hold these letters: of the commit under way all or
// nothing, and the same of the one that failed.
func bboltAllows(got string, failed bool) bool {
	c := strings.Repeat("c", bboltKeys-10)
	for _, last := range []string{"ccccc", "eeeee"} {
		if got == "ddddd"+c+last || failed && got == "ccccc"+c+last {
			return true
		}
	}
	return false
}

// readBbolt returns the letters of the file that a cut has left.
func readBbolt(dir string) (found string, err error) {
	err = caught(func() error {
		db, err := bolt.Open(filepath.Join(dir, "db"), 0o600, nil)
		if err != nil {
			return err
		}
		return errors.Join(db.View(func(tx *bolt.Tx) error { found = letters(tx); return nil }), db.Close())
	})
	return found, err
}
