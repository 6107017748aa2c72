package live_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/transfer/live"
)

// task is the variable that makes the test binary a process that works on a switch until it is
// killed.
const task = "ASSAY_LIVE_WORK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(task); dir != "" {
		err := work(dir, os.Getenv(task+"_OLD"), os.Getenv(task+"_NEW"))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// work commits one number after the other, each with a pair of its own, and says so when it is
// there; meanwhile it flips the switch to and fro. It ends with the first error.
func work(dir, old, new string) error {
	ctx := context.Background()
	db, err := live.Open(ctx, dir, old, new)
	if err != nil {
		return err
	}
	s, err := live.Of(db)
	if err != nil {
		return err
	}
	moved := make(chan error, 1)
	go func() {
		for {
			to := live.Flipped
			if s.Status().Phase == live.Flipped {
				to = live.Shadowed
			}
			if err := s.Move(ctx, to); err != nil && !errors.Is(err, kv.Conflict) {
				moved <- err
				return
			}
			if _, err := fmt.Println("moved"); err != nil {
				return
			}
		}
	}()
	last, err := lastOf(ctx, db)
	for n := last + 1; err == nil; n++ {
		select {
		case err := <-moved:
			return err
		default:
		}
		err = commitNumber(ctx, db, n)
		if err == nil {
			_, err = fmt.Println(n)
		}
	}
	return err
}

func commitNumber(ctx context.Context, db *kv.DB, n int) error {
	return db.Update(ctx, []kv.Durability{kv.Synced, kv.Flushed}[n%2], func(tx *kv.Tx) error {
		err := errors.Join(tx.Put(fmt.Appendf(nil, "n/%08d", n), []byte(strings.Repeat("x", n%200))),
			tx.Put([]byte("last"), []byte(strconv.Itoa(n))))
		if n%3 == 0 {
			err = errors.Join(err, tx.Delete(fmt.Appendf(nil, "n/%08d", n-2)))
		}
		return err
	})
}

// lastOf returns the last number that is there, after it has looked at all before.
func lastOf(ctx context.Context, db *kv.DB) (last int, err error) {
	err = db.View(ctx, func(s *kv.Snapshot) error {
		v, err := s.Get([]byte("last"))
		if err == kv.NotFound {
			return nil
		}
		if last, err = strconv.Atoi(string(v)); err != nil {
			return err
		}
		for n := 1; n <= last; n++ {
			deleted := n%3 == 1 && n+2 <= last
			v, err := s.Get(fmt.Appendf(nil, "n/%08d", n))
			if deleted != (err == kv.NotFound) || err == nil && len(v) != n%200 {
				return fmt.Errorf("number %d of %d: %d bytes, %v", n, last, len(v), err)
			}
		}
		return nil
	})
	return last, err
}

// TestKilled kills the process that works at random moments: while the new store is filled, between
// the two commits, while the phase is changed. All that it has said is there then, and the shadow
// is made equal. ASSAY_KILLS=200 kills as often.
func TestKilled(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 5
	}
	if text := os.Getenv("ASSAY_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &kills); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ from, to string }{{"bbolt", "pebble"}, {"sqlite", "badger"}, {"leveldb", "bunt"}} {
		t.Run(c.from+" and "+c.to, func(t *testing.T) {
			dir, old, new := urls(t, c.from, c.to)
			numbers, moves := 0, 0
			for n := 0; n < kills || moves == 0 && n < 20*kills; n++ { // a move takes longer than some commits
				last, moved := workAndDie(t, dir, old, new, numbers)
				moves += moved
				numbers = afterAKill(t, dir, old, new, last)
			}
			t.Logf("%d kills, %d numbers, %d moves", kills, numbers, moves)
			if numbers == 0 || moves == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

// workAndDie has a process work until it has said some, kills it, and returns the last number that
// it said.
func workAndDie(t *testing.T, dir, old, new string, last int) (number, moves int) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), task+"="+dir, task+"_OLD="+old, task+"_NEW="+new)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	enough := rand.IntN(60)
	for lines := bufio.NewScanner(out); lines.Scan(); enough-- {
		if enough == 0 {
			time.Sleep(rand.N(3 * time.Millisecond)) // somewhere within a commit or a move; nothing depends on it
			_ = c.Process.Kill()
		}
		if lines.Text() == "moved" {
			moves++
			continue
		}
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()
	if enough > 0 {
		t.Fatalf("the process ended by itself: %s", stderr.String())
	}
	return last, moves
}

// afterAKill opens the switch and fails unless number last is there and the shadow is made equal.
func afterAKill(t *testing.T, dir, old, new string, last int) int {
	t.Helper()
	db, s := open(t, dir, old, new)
	got, err := lastOf(t.Context(), db)
	must(t, err)
	if got < last {
		t.Fatalf("in phase %v: number %d was there, and the last one is %d", s.Status().Phase, last, got)
	}
	if _, err := s.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db.Close())
	must(t, equal(t, old, new))
	return got
}

// TestPower has the power fail before any operation of a small run: filled, flipped, dropped. What
// was committed as Synced is in the truth, whichever store that is, and the shadow is made equal to
// it.
func TestPower(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"bbolt", "pebble"}, {"sqlite", "bbolt"}, {"pebble", "bunt"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			urls := func(dir string) (at, old, new string) {
				return filepath.Join(dir, "switch"), c.from + ":" + filepath.Join(dir, "old"),
					c.to + ":" + filepath.Join(dir, "new")
			}
			powertest.Run(t, powertest.Case[string]{
				Work: func(dir string, log *powertest.Log[string]) error {
					at, old, new := urls(dir)
					return workForPower(t.Context(), at, old, new, log)
				},
				Check: func(dir string, h powertest.History[string]) error {
					at, old, new := urls(dir)
					return checkPower(t, at, old, new, h)
				},
			})
		})
	}
}

func workForPower(ctx context.Context, dir, old, new string, log *powertest.Log[string]) error {
	first, err := kv.Open(ctx, old)
	if err != nil {
		return err
	}
	log.Try("before")
	if err := errors.Join(first.Put(ctx, kv.Synced, []byte("before"), nil), first.Close()); err != nil {
		return err
	}
	log.Done("before")
	for _, phase := range []string{"shadowed", "flipped", "dropped"} {
		db, err := kv.Open(ctx, live.Engine+":"+dir+"?old="+old+"&new="+new)
		if err != nil {
			return err
		}
		s, err := live.Of(db)
		if err != nil {
			return err
		}
		put := func(key string) error {
			log.Try(key)
			if err := db.Put(ctx, kv.Synced, []byte(key), []byte(strings.Repeat("v", 1000))); err != nil {
				return err
			}
			log.Done(key)
			return nil
		}
		var to live.Phase
		err = errors.Join(to.UnmarshalText([]byte(phase)), put(phase+" 1"), s.Move(ctx, to), put(phase+" 2"),
			db.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

func checkPower(t *testing.T, dir, old, new string, h powertest.History[string]) error {
	if len(h.Done) == 0 {
		return nil
	}
	db, err := kv.Open(t.Context(), live.Engine+":"+dir+"?old="+old+"&new="+new)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	s, err := live.Of(db)
	if err != nil {
		return err
	}
	for _, key := range h.Done {
		if has, err := db.Has(t.Context(), []byte(key)); err != nil || !has {
			return fmt.Errorf("in phase %v: %q is lost, %w", s.Status().Phase, key, err)
		}
	}
	if s.Status().Phase == live.Dropped {
		return db.Close()
	}
	if _, err := s.Compare(t.Context()); err != nil {
		return err
	}
	return errors.Join(db.Close(), equal(t, old, new))
}

// TestAFillLeavesTheShadowIntact: whatever of a new store is there after a power cut, it opens, so
// that filling it goes on by itself.
func TestAFillLeavesTheShadowIntact(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	disk.Rule = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Sectors}
	old, new := "sqlite:"+filepath.Join(disk.Dir(), "old"), "bbolt:"+filepath.Join(disk.Dir(), "new")
	want := fill(t, old, 3000)
	db, s := open(t, filepath.Join(disk.Dir(), "switch"), old, new)
	if _, err := s.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for disk.Seed = range 20 {
		left := disk.Cut(t)
		again, s := open(t, filepath.Join(left, "switch"), "", "")
		if _, err := s.Compare(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", disk.Seed, err)
		}
		must(t, again.Close())
		holds(t, "bbolt:"+filepath.Join(left, "new"), want)
	}
	must(t, db.Close())
}
