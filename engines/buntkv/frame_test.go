package buntkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/buntdb"
	"pgregory.net/rapid"

	"github.com/assaydb/assay/kv/driver"
)

func config(path string, params ...string) driver.Config {
	c := driver.Config{Path: path, Logger: slog.New(slog.DiscardHandler),
		Params: map[string]string{"AutoShrinkDisabled": "true", "SyncPolicy": "Never"}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		c.Params[name] = value
	}
	return c
}

// opens opens a store until the test ends, unless it is closed before.
func opens(t testing.TB, c driver.Config) driver.Store {
	t.Helper()
	s, err := Driver{}.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// file makes a file of b, in a folder of its own.
func file(t testing.TB, b []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.db")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

func put(key, value string) driver.Op { return driver.Op{Key: []byte(key), Value: []byte(value)} }

func del(key string) driver.Op { return driver.Op{Key: []byte(key), Delete: true} }

// state returns the pairs of a store.
func state(t testing.TB, s driver.Store) map[string]string {
	t.Helper()
	r, err := s.Snapshot(context.Background())
	must(t, err)
	c, err := r.Cursor(driver.Range{})
	must(t, err)
	pairs := map[string]string{}
	for {
		k, v, err := c.Next()
		must(t, err)
		if k == nil {
			break
		}
		pairs[string(k)] = string(v)
	}
	must(t, errors.Join(c.Close(), r.Close()))
	return pairs
}

// history is a list of transactions, and the states that they make of an empty store.
type history struct {
	txns   [][]driver.Op
	states []map[string]string // one more than txns
}

func newHistory(txns ...[]driver.Op) history {
	h := history{txns: txns, states: []map[string]string{{}}}
	for _, ops := range txns {
		next := maps.Clone(h.states[len(h.states)-1])
		for _, op := range ops {
			if op.Delete {
				delete(next, string(op.Key))
			} else {
				next[string(op.Key)] = string(op.Value)
			}
		}
		h.states = append(h.states, next)
	}
	return h
}

// at returns the number of transactions after which a store has the pairs, -1 for none.
func (h history) at(pairs map[string]string) int {
	for i := len(h.states) - 1; i >= 0; i-- {
		if maps.Equal(h.states[i], pairs) {
			return i
		}
	}
	return -1
}

// commit commits the transactions from the ith on, half of them by Apply.
func (h history) commit(t testing.TB, s driver.Store, i int, d driver.Durability) {
	t.Helper()
	for ; i < len(h.txns); i++ {
		if i%2 == 0 {
			must(t, driver.Apply(context.Background(), s, h.txns[i], d))
			continue
		}
		tx, err := s.Begin(context.Background(), d)
		must(t, err)
		for _, op := range h.txns[i] {
			if op.Delete {
				must(t, tx.Delete(op.Key))
			} else {
				must(t, tx.Put(op.Key, op.Value))
			}
		}
		must(t, errors.Join(tx.Commit(), tx.Close()))
	}
}

// awkward has all that a transaction can do to its own writes.
var awkward = newHistory(
	[]driver.Op{put("a", "1"), put("b", strings.Repeat("b", 700))},
	[]driver.Op{put("single", "*3\r\n$3\r\nset\r\n$0\r\n\r\n$21\r\n")},
	[]driver.Op{put("a", "2"), put("a", strings.Repeat("a", 99)), del("absent"), put("c", "")},
	[]driver.Op{del("a")},
	[]driver.Op{put("new", "x"), del("new"), del("new"), put("d", strings.Repeat("d", 1000))},
	[]driver.Op{del("b"), put("b", "again"), put("\x00", "\r\n"), put("\xff", "é")},
	[]driver.Op{del("c"), put("e", strings.Repeat("e", 600)), put("f", "f"), put("g", strings.Repeat("g", 10))},
)

// left returns the bytes of a store with all of h committed, as a kill leaves them.
func left(t testing.TB, h history, d driver.Durability) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path))
	defer s.Close()
	h.commit(t, s, 0, d)
	return contents(t, path)
}

// recovers opens what a crash has left, which must be after one of h's transactions, reads it again
// as it is then, goes on with the rest and returns after how many.
func recovers(t testing.TB, h history, b []byte) int {
	t.Helper()
	path := file(t, b)
	ro := config(path)
	ro.Mode = driver.ReadOnly
	reading := opens(t, ro)
	n := h.at(state(t, reading))
	must(t, errors.Join(reading.(driver.Checker).Check(context.Background()), reading.Close()))
	if !bytes.Equal(contents(t, path), b) {
		t.Fatal("to read it has changed the file")
	}
	for range 2 {
		s := opens(t, config(path))
		if again := h.at(state(t, s)); again != n || n < 0 {
			t.Fatalf("after %d transactions when it is only read, after %d when it is opened: %v", n, again,
				state(t, s))
		}
		must(t, s.(driver.Checker).Check(context.Background()))
		// It crashes again before it is closed.
		path = file(t, contents(t, path))
		must(t, s.Close())
	}
	s := opens(t, config(path))
	h.commit(t, s, n, driver.Flushed)
	must(t, s.Close())
	s = opens(t, config(path))
	if last := h.at(state(t, s)); last != len(h.txns) {
		t.Fatalf("went on after %d of %d transactions: %v", n, len(h.txns), state(t, s))
	}
	must(t, errors.Join(s.(driver.Checker).Check(context.Background()), s.Close()))
	return n
}

func TestAKillAtAnyByteLeavesWholeTransactions(t *testing.T) {
	b := left(t, awkward, driver.Flushed)
	step := 5
	if testing.Short() {
		step = 61
	}
	last := 0
	for n := int(frameSize); n <= len(b); n += step { // the first frame is whole when the file gets its name
		i := recovers(t, awkward, b[:n])
		if i < last {
			t.Fatalf("%d bytes hold %d transactions, fewer had %d", n, i, last)
		}
		last = i
	}
	if recovers(t, awkward, b) != len(awkward.txns) {
		t.Error("the whole file lacks transactions")
	}
}

// A power loss leaves any choice of the sectors that were not synced. Nothing before them is lost.
func TestWhatPowerLossToreIsCutOff(t *testing.T) {
	const sector = 512
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path))
	awkward.commit(t, s, 0, driver.Synced)
	synced := len(contents(t, path))
	more := newHistory(append(slices.Clone(awkward.txns), awkward.txns...)...)
	more.commit(t, s, len(awkward.txns), driver.Flushed)
	b := contents(t, path)
	must(t, s.Close())
	first := synced / sector // of this one only the end was not synced
	rapid.Check(t, func(r *rapid.T) {
		torn := slices.Clone(b)
		for i := first; i*sector < len(b); i++ {
			if rapid.Bool().Draw(r, "lost") {
				clear(torn[max(synced, i*sector):min(len(b), (i+1)*sector)])
			}
		}
		if n := recovers(t, more, torn); n < len(awkward.txns) {
			r.Fatalf("%d transactions, and %d were synced", n, len(awkward.txns))
		}
	})
}

// Two sessions: the second begins behind the end of the first, and nothing of it was synced.
func TestASecondSessionThatPowerLossToreIsCutOff(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 4
	}
	// The first bytes of the second come to lie on any side of a sector's end.
	for before := 0; before < 40; before += every {
		path := filepath.Join(t.TempDir(), "s.db")
		h := newHistory(
			[]driver.Op{put("a", strings.Repeat("a", 300+before*6))},
			[]driver.Op{put("b", "1"), put("c", strings.Repeat("c", 900))})
		s := opens(t, config(path))
		must(t, errors.Join(driver.Apply(t.Context(), s, h.txns[0], driver.Flushed), s.Close()))
		size := len(contents(t, path))
		s = opens(t, config(path))
		must(t, driver.Apply(t.Context(), s, h.txns[1], driver.Flushed))
		b := contents(t, path)
		for lost := range 8 {
			torn := slices.Clone(b)
			for i := range 3 {
				if from := max(size, (size/512+i)*512); lost>>i&1 == 1 && from < len(b) {
					clear(torn[from:min(len(b), (size/512+i+1)*512)])
				}
			}
			if n := recovers(t, h, torn); n < 1 {
				t.Fatalf("the second session begins at %d, lost are %b: %d transactions", size, lost, n)
			}
		}
		must(t, s.Close())
	}
}

// The sizes and sums of a tally are those of what BuntDB writes, whatever a transaction does.
func TestATallyIsWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path))
	defer s.Close()
	key := rapid.SampledFrom([]string{"a", "b", "c", "0123456789", strings.Repeat("k", 100)})
	rapid.Check(t, func(r *rapid.T) {
		tx, err := s.Begin(context.Background(), driver.Flushed)
		must(t, err)
		for range rapid.IntRange(0, 12).Draw(r, "writes") {
			k := key.Draw(r, "key")
			if rapid.Bool().Draw(r, "delete") {
				must(t, tx.Delete([]byte(k)))
			} else {
				must(t, tx.Put([]byte(k), bytes.Repeat([]byte{'v'}, rapid.IntRange(0, 1200).Draw(r, "size"))))
			}
		}
		if rapid.Bool().Draw(r, "commit") {
			must(t, tx.Commit())
		}
		must(t, tx.Close())
		if err := s.(driver.Checker).Check(context.Background()); err != nil {
			r.Fatal(err)
		}
	})
}

func TestDamageToWhatWasSyncedIsAnError(t *testing.T) {
	for _, ending := range []string{"closed", "killed"} {
		path := filepath.Join(t.TempDir(), "s.db")
		s := opens(t, config(path))
		awkward.commit(t, s, 0, driver.Synced)
		b := contents(t, path)
		must(t, s.Close())
		// Nothing follows the last transaction of a killed store, so that damage to it looks like a
		// crash.
		most := len(b) - lastStart(t, b)
		if ending == "closed" {
			b, most = contents(t, path), 0
		}
		lost, every := 0, 3
		if testing.Short() {
			every = 11
		}
		for i := 0; i < len(b); i += every {
			damaged := slices.Clone(b)
			damaged[i] ^= 0x55
			path := file(t, damaged)
			s, err := Driver{}.Open(t.Context(), config(path))
			if err == nil {
				err = s.(driver.Checker).Check(t.Context())
				if n := awkward.at(state(t, s)); err == nil && n < len(awkward.txns) {
					lost++
				}
				must(t, s.Close())
			} else if !bytes.Equal(contents(t, path), damaged) {
				t.Fatalf("%s, byte %d: the damaged file was changed", ending, i)
			}
			if err != nil && driver.KindOf(err) != driver.Corrupt {
				t.Fatalf("%s, byte %d: %v", ending, i, err)
			}
		}
		if lost > most {
			t.Errorf("%s: damage to %d of %d bytes went unnoticed, want at most %d", ending, lost, len(b), most)
		}
	}
}

// lastStart returns where the last transaction in b starts.
func lastStart(t testing.TB, b []byte) int {
	t.Helper()
	p, err := examine(b[:len(b)-1])
	must(t, err)
	return int(p.end)
}

// inBuntDB works in the file with BuntDB itself.
func inBuntDB(t testing.TB, path string, work func(*buntdb.DB) error) {
	t.Helper()
	db, err := buntdb.Open(path)
	must(t, err)
	must(t, errors.Join(work(db), db.Close()))
}

func set(pairs ...string) func(*buntdb.DB) error {
	return func(db *buntdb.DB) error {
		return db.Update(func(tx *buntdb.Tx) error {
			for _, p := range pairs {
				k, v, _ := strings.Cut(p, "=")
				if _, _, err := tx.Set(k, v, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func TestOtherProgramsMayUseTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	inBuntDB(t, path, set("theirs=0", "both=0"))
	want := map[string]string{"theirs": "0", "both": "0"}
	for i := range 4 {
		n := fmt.Sprint(i)
		s := opens(t, config(path))
		must(t, driver.Apply(t.Context(), s, []driver.Op{put("ours", n), put("both", n)}, driver.Flushed))
		want["ours"], want["both"] = n, n
		if i == 2 {
			must(t, s.(driver.Compacter).Compact(t.Context()))
		}
		if got := state(t, s); !maps.Equal(got, want) {
			t.Fatalf("round %d, ours: got %v, want %v", i, got, want)
		}
		must(t, s.Close())
		inBuntDB(t, path, func(db *buntdb.DB) error {
			_ = db.View(func(tx *buntdb.Tx) error {
				if n, err := tx.Len(); n != len(want)+1 || err != nil {
					t.Errorf("round %d: they see %d pairs, want %d and one more", i, n, len(want))
				}
				return nil
			})
			err := errors.Join(set("theirs="+n, "both=x")(db), set("last="+n)(db))
			if i == 1 {
				err = errors.Join(err, db.Shrink())
			}
			return err
		})
		want["theirs"], want["both"], want["last"] = n, "x", n
		// A crash of ours changes nothing of theirs.
		s = opens(t, config(path))
		if got := state(t, s); !maps.Equal(got, want) {
			t.Fatalf("round %d, theirs: got %v, want %v", i, got, want)
		}
		must(t, driver.Apply(t.Context(), s, []driver.Op{put("torn", n), put("torn2", n)}, driver.Flushed))
		b := contents(t, path)
		must(t, errors.Join(s.Close(), os.WriteFile(path, b[:len(b)-1], 0o600)))
		s = opens(t, config(path))
		if got := state(t, s); !maps.Equal(got, want) {
			t.Fatalf("round %d, after a crash: got %v, want %v", i, got, want)
		}
		must(t, errors.Join(s.(driver.Checker).Check(t.Context()), s.Close()))
	}
}

// An expiry date of another program's stays what it is, and takes no pair away while the store is
// open.
func TestExpiryDatesOfOthersAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	inBuntDB(t, path, func(db *buntdb.DB) error {
		return db.Update(func(tx *buntdb.Tx) error {
			_, _, err := tx.Set("a", "1", &buntdb.SetOptions{Expires: true, TTL: 1 << 50})
			return err
		})
	})
	s := opens(t, config(path))
	must(t, driver.Apply(t.Context(), s, []driver.Op{put("b", "2")}, driver.Synced))
	must(t, errors.Join(s.(driver.Compacter).Compact(t.Context()), s.Close()))
	inBuntDB(t, path, func(db *buntdb.DB) error {
		return db.View(func(tx *buntdb.Tx) error {
			if d, err := tx.TTL("a"); d <= 0 || err != nil {
				t.Errorf("the date is gone: %v, %v", d, err)
			}
			return nil
		})
	})
}

func TestOpeningAndReadingChangeNothing(t *testing.T) {
	for _, frames := range []string{"Frames=true", "Frames=false"} {
		path := filepath.Join(t.TempDir(), "s.db")
		s := opens(t, config(path, frames))
		must(t, errors.Join(driver.Apply(t.Context(), s, []driver.Op{put("a", "1")}, driver.Flushed), s.Close()))
		before := contents(t, path)
		for _, how := range []string{"Frames=true", "Frames=false", "SyncPolicy=Always"} {
			for _, mode := range []driver.Mode{driver.Exclusive, driver.ReadOnly} {
				c := config(path, how)
				c.Mode = mode
				s := opens(t, c)
				if got := state(t, s); len(got) != 1 {
					t.Errorf("%s, opened with %s: %v", frames, how, got)
				}
				must(t, s.Close())
			}
		}
		if after := contents(t, path); !bytes.Equal(after, before) {
			t.Errorf("%s: %d bytes have become %d", frames, len(before), len(after))
		}
	}
}

// A page may end within the last frame, and the sectors behind it read as zeroes.
func TestAFrameThatLacksItsLastBytesIsCutOff(t *testing.T) {
	h := newHistory([]driver.Op{put("a", "1")}, []driver.Op{put("b", "2")})
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path))
	h.commit(t, s, 0, driver.Synced)
	must(t, s.Close())
	for n := 1; n <= 2; n++ {
		b := contents(t, path)
		clear(b[len(b)-n:])
		if got := recovers(t, h, append(b, make([]byte, 5000)...)); got != len(h.txns) {
			t.Errorf("without the last %d bytes it is after %d of %d transactions", n, got, len(h.txns))
		}
	}
}

func TestZeroesAtTheEndAreCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	inBuntDB(t, path, set("a=1"))
	must(t, os.WriteFile(path, append(contents(t, path), make([]byte, 5000)...), 0o600))
	for _, n := range []string{"2", "3"} {
		s := opens(t, config(path))
		must(t, errors.Join(driver.Apply(t.Context(), s, []driver.Op{put(n, n)}, driver.Flushed), s.Close()))
	}
	s := opens(t, config(path))
	if got := state(t, s); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	must(t, errors.Join(s.(driver.Checker).Check(t.Context()), s.Close()))
}

// To go on without frames, after a crash of a store with frames, would be taken for a torn tail.
func TestThePlainFormRefusesWhatWasNotClosed(t *testing.T) {
	path := file(t, left(t, awkward, driver.Flushed))
	if _, err := (Driver{}).Open(t.Context(), config(path, "Frames=false")); driver.KindOf(err) != driver.Invalid {
		t.Fatalf("after a crash: %v", err)
	}
	must(t, opens(t, config(path)).Close())
	s := opens(t, config(path, "Frames=false"))
	must(t, driver.Apply(t.Context(), s, []driver.Op{put("plain", "1"), put("plain2", "2")}, driver.Flushed))
	must(t, s.Close())
	s = opens(t, config(path))
	if got := state(t, s); len(got) != len(awkward.states[len(awkward.txns)])+2 {
		t.Errorf("then %v", got)
	}
	must(t, s.Close())
}

func TestWithoutFramesTheFileIsBuntDBsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path, "Frames=false"))
	if s.Caps().Promise(driver.Synced).Supported || s.Caps().Promise(driver.Flushed).KillAtomic {
		t.Errorf("it promises %+v", s.Caps().Promises)
	}
	must(t, driver.Apply(t.Context(), s, []driver.Op{put("a", "1"), put("b", "2")}, driver.Flushed))
	must(t, s.(driver.Compacter).Compact(t.Context()))
	must(t, errors.Join(driver.Apply(t.Context(), s, []driver.Op{put("c", "3")}, driver.Flushed), s.Close()))
	want := "*3\r\n$3\r\nset\r\n$1\r\na\r\n$1\r\n1\r\n*3\r\n$3\r\nset\r\n$1\r\nb\r\n$1\r\n2\r\n" +
		"*3\r\n$3\r\nset\r\n$1\r\nc\r\n$1\r\n3\r\n"
	if b := contents(t, path); string(b) != want {
		t.Errorf("the file holds %q", b)
	}
}

// The pairs that a compaction writes begin with the last frame, which must be taken for none.
func TestCompactionsOfAStoreWithoutPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := opens(t, config(path))
	tx, err := s.Begin(t.Context(), driver.Flushed) // which writes the first frame
	must(t, errors.Join(err, tx.Close()))
	for range 3 {
		must(t, s.(driver.Compacter).Compact(t.Context()))
	}
	awkward.commit(t, s, 0, driver.Flushed)
	if n := recovers(t, awkward, contents(t, path)); n != len(awkward.txns) {
		t.Errorf("%d transactions are left", n)
	}
	must(t, s.Close())
}
