package buntkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// step is a transaction of mixed.
type step struct {
	N      int
	Synced bool
}

// mixed is a history in which transactions of several pages, of one pair, and deletions take turns,
// and every third is synced.
func mixed(n int) (h history, steps []step) {
	var txns [][]driver.Op
	for i := range n {
		ops := []driver.Op{put("last", fmt.Sprint(i))}
		for j := range i % 5 {
			ops = append(ops, put(fmt.Sprint(i%7, "/", j), strings.Repeat(string(rune('a'+i%26)), i*397%3000)))
		}
		if i%4 == 3 {
			ops = append(ops, del(fmt.Sprint((i-1)%7, "/", 0)))
		}
		txns = append(txns, ops)
		steps = append(steps, step{i, i%3 == 2})
	}
	return newHistory(txns...), steps
}

func (s step) class() driver.Durability {
	if s.Synced {
		return driver.Synced
	}
	return driver.Flushed
}

func TestPowerFails(t *testing.T) {
	const sessions, each = 3, 12
	h, steps := mixed(sessions*each + 6)
	powertest.Run(t, powertest.Case[step]{
		Work: func(dir string, log *powertest.Log[step]) error {
			for session := range sessions {
				s, err := Driver{}.Open(context.Background(), config(filepath.Join(dir, "s.db")))
				if err != nil {
					return err
				}
				for i, st := range steps[session*each : (session+1)*each] {
					if i == each/2 {
						if err := s.(driver.Compacter).Compact(context.Background()); err != nil {
							return err
						}
					}
					log.Try(st)
					if err := driver.Apply(context.Background(), s, h.txns[st.N], st.class()); err != nil {
						return err
					}
					log.Done(st)
				}
				if err := s.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		Check: func(dir string, said powertest.History[step]) error {
			least := 0
			for _, st := range said.Done {
				if st.Synced {
					least = st.N + 1
				}
			}
			return lookAndGoOn(filepath.Join(dir, "s.db"), h, least, len(said.Tried))
		},
	})
}

// lookAndGoOn opens what a crash has left, which must be after at least so many transactions of h
// and at most so many, commits the next ones and looks again.
func lookAndGoOn(path string, h history, least, most int) error {
	for more := range 3 {
		s, err := Driver{}.Open(context.Background(), config(path))
		if err != nil {
			return err
		}
		pairs, err := pairsOf(s)
		n := h.at(pairs)
		err = errors.Join(err, s.(driver.Checker).Check(context.Background()))
		switch {
		case err != nil:
		case n < least || n > most:
			err = fmt.Errorf("after %d transactions, want %d to %d: %.300v", n, least, most, pairs)
		case n < len(h.txns):
			err = driver.Apply(context.Background(), s, h.txns[n], driver.Durability(more%2))
			least, most = n+1, n+1
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
	}
	return nil
}

func pairsOf(s driver.Store) (map[string]string, error) {
	r, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return nil, err
	}
	pairs := map[string]string{}
	for {
		k, v, err := c.Next()
		if k == nil {
			return pairs, errors.Join(err, c.Close(), r.Close())
		}
		pairs[string(k)] = string(v)
	}
}

// rules are what a cut may leave.
var rules = []powerfs.Rule{
	{Entries: powerfs.Ordered, Survivors: powerfs.Nothing},
	{Entries: powerfs.Ordered, Survivors: powerfs.Sectors},
	{Entries: powerfs.Strict, Survivors: powerfs.Nothing},
	{Entries: powerfs.Ordered, Survivors: powerfs.Everything},
}

// A power cut before each call of a compaction: what was synced is there.
func TestPowerFailsWhileItCompacts(t *testing.T) {
	h, _ := mixed(20)
	for i, rule := range rules {
		first, every, calls := 1, 1, math.MaxInt32
		if testing.Short() { // of each rule other calls
			first, every = 1+i, len(rules)
		}
		for cut := first; cut <= calls+1; cut += every { // the last is the first that comes after
			disk := powertest.NewDisk(t, nil)
			disk.Rule = rule
			s := opens(t, config(filepath.Join(disk.Dir(), "s.db")))
			h.commit(t, s, 0, driver.Synced)
			disk.CutBefore(cut)
			before := disk.Calls()
			must(t, s.(driver.Compacter).Compact(t.Context()))
			calls = disk.Calls() - before
			must(t, s.Close())
			if err := lookAndGoOn(filepath.Join(disk.Cut(t), "s.db"), h, len(h.txns), len(h.txns)); err != nil {
				t.Errorf("%v, cut before call %d, of %d: %v", rule, cut, calls, err)
			}
		}
	}
}

// Each call of a commit fails, or of a compaction: nothing that was acknowledged is lost, the store
// says what it is worth, and reading goes on.
func TestAnyCallFails(t *testing.T) {
	h, steps := mixed(8)
	every := 1
	if testing.Short() {
		every = 5
	}
	for _, cause := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		for n := 1; ; n += every {
			disk := powertest.NewDisk(t, nil)
			path := filepath.Join(disk.Dir(), "s.db")
			db, err := kv.OpenDriver(t.Context(), Driver{}, config(path))
			must(t, err)
			disk.Fail(n, cause)
			done, synced, tried, failed := 0, 0, 0, 0
			for tried < len(h.txns) {
				if tried == 4 {
					_ = db.Compact(t.Context()) // it may fail, too
				}
				var b kv.Batch
				for _, op := range h.txns[tried] {
					if op.Delete {
						b.Delete(op.Key)
					} else {
						b.Put(op.Key, op.Value)
					}
				}
				if err := db.Write(t.Context(), steps[tried].class(), &b); err != nil {
					if failed++; failed < 3 && driver.KindOf(err) != driver.InDoubt &&
						driver.KindOf(err) != driver.Stopped {
						continue // nothing was done, and the next may be tried
					}
					if driver.KindOf(err) == driver.InDoubt {
						tried++
					}
					break
				}
				tried++
				if done = tried; steps[done-1].Synced {
					synced = done
				}
			}
			must(t, db.View(t.Context(), func(*kv.Snapshot) error { return nil }))
			if err := lookAndGoOn(filepath.Join(disk.Cut(t), "s.db"), h, synced, tried); err != nil {
				t.Errorf("%v at call %d, and then the power: %v", cause, n, err)
			}
			injected := disk.Failed()
			disk.Heal()
			cerr := db.Close()
			if injected == 0 {
				must(t, cerr)
				break
			}
			if err := lookAndGoOn(path, h, done, tried); err != nil {
				t.Errorf("%v at call %d: %v", cause, n, err)
			}
		}
	}
}

// Of a write that fails all may have been done. It is taken back, and then the power fails: what
// counts as not done is not there, whatever part of that the disk has.
func TestAWriteThatIsTakenBackStaysSo(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	db, err := kv.OpenDriver(t.Context(), Driver{}, config(filepath.Join(disk.Dir(), "s.db")))
	must(t, err)
	defer db.Close()
	must(t, db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")))
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 1, Done: true})
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")); err == nil ||
		driver.KindOf(err) == driver.InDoubt {
		t.Fatalf("the write fails with %v", err)
	}
	disk.Rule = powerfs.Rule{Survivors: powerfs.Prefix}
	for disk.Seed = range uint64(20) {
		s := opens(t, config(filepath.Join(disk.Cut(t), "s.db")))
		if got := state(t, s); !maps.Equal(got, map[string]string{"a": "1"}) {
			t.Errorf("seed %d: the power has left %v", disk.Seed, got)
		}
		must(t, s.Close())
	}
}

// A write that fails and is taken back is no end: the next commit finds space again.
func TestAFullDiskIsNoEnd(t *testing.T) {
	disk := powertest.NewDisk(t, &powertest.DiskOptions{Space: 1 << 20})
	path := filepath.Join(disk.Dir(), "s.db")
	db, err := kv.OpenDriver(t.Context(), Driver{}, config(path))
	must(t, err)
	must(t, db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")))
	other := filepath.Join(disk.Dir(), "other")
	must(t, os.WriteFile(other, make([]byte, 900<<10), 0o600))
	for _, size := range []int{300 << 10, 2 << 20} {
		err = db.Put(t.Context(), kv.Flushed, []byte("large"), make([]byte, size))
		if driver.KindOf(err) != driver.Full {
			t.Fatalf("on a full disk: %v", err)
		}
	}
	must(t, os.Remove(other))
	must(t, db.Put(t.Context(), kv.Synced, []byte("b"), make([]byte, 100<<10)))
	must(t, errors.Join(db.Check(t.Context()), db.Close()))
	s := opens(t, config(path))
	defer s.Close()
	if got := state(t, s); !maps.Equal(got, map[string]string{"a": "1", "b": string(make([]byte, 100<<10))}) {
		t.Errorf("%d pairs are left", len(got))
	}
}

// Power fails before anything is synced, in a new file, and in one that another program has
// written.
func TestPowerFailsInAFirstSession(t *testing.T) {
	h, _ := mixed(6)
	theirs := t.TempDir()
	inBuntDB(t, filepath.Join(theirs, "s.db"), set("theirs="+strings.Repeat("x", 480)))
	for _, from := range []string{"", theirs} {
		h := h
		if from != "" {
			h = newHistory(append([][]driver.Op{{put("theirs", strings.Repeat("x", 480))}}, h.txns...)...)
		}
		disk := powertest.NewDisk(t, &powertest.DiskOptions{From: from})
		path := filepath.Join(disk.Dir(), "s.db")
		disk.Rule = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Sectors}
		s := opens(t, config(path))
		first := h.at(state(t, s))
		h.commit(t, s, first, driver.Flushed)
		for disk.Seed = range 30 {
			if err := lookAndGoOn(filepath.Join(disk.Cut(t), "s.db"), h, first, len(h.txns)); err != nil {
				t.Errorf("seed %d, after %d: %v", disk.Seed, first, err)
			}
		}
		must(t, s.Close())
	}
}
