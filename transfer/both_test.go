package transfer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// olderTask is the variable that makes the test binary an older program, which knows nothing of the
// new store.
const olderTask = "ASSAY_TRANSFER_OLDER"

// olderKey is the pair that the older program writes as its nth.
func olderKey(n int64) string { return fmt.Sprintf("older/%06d", n) }

// olderInChild writes one pair after the other, and says which once it is committed, until its
// input ends. It keeps the store open if others may have it open meanwhile.
func olderInChild(rawURL string, first int64) (status int) {
	ctx := context.Background()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
		close(ended)
	}()
	var db *kv.DB
	var err error
	for n := first; err == nil; n++ {
		select {
		case <-ended:
			if db != nil {
				err = db.Close()
			}
			if err == nil {
				return 0
			}
		default:
		}
		if db == nil {
			if db, err = kv.Open(ctx, rawURL, kv.WithWait(5*time.Minute)); err != nil {
				break
			}
		}
		err = db.Put(ctx, db.Caps().Strongest(), []byte(olderKey(n)), []byte("older"))
		if db.Mode() != kv.Shared {
			err = errors.Join(err, db.Close())
			db = nil
		}
		if err == nil {
			fmt.Println(n)
		}
	}
	fmt.Fprintln(os.Stderr, err, kv.HintOf(err))
	return 1
}

// olderProgram is a process that writes to the old store.
type olderProgram struct {
	*exec.Cmd
	input io.Closer
	said  chan int64   // each number, until the process ends
	last  atomic.Int64 // of these
}

func startOlder(t *testing.T, rawURL string, first int64) *olderProgram {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), olderTask+"="+rawURL, fmt.Sprintf("%s_FIRST=%d", olderTask, first))
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it may have ended
	p := &olderProgram{Cmd: c, input: input, said: make(chan int64, 1)}
	p.last.Store(first - 1)
	go func() {
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n int64
			if _, err := fmt.Sscan(lines.Text(), &n); err == nil {
				p.last.Store(n)
				select {
				case p.said <- n:
				default:
				}
			}
		}
	}()
	return p
}

// writes waits until the program has written another pair.
func (p *olderProgram) writes(t *testing.T) {
	t.Helper()
	for range 2 { // the first may have been said before
		if _, ok := <-p.said; !ok {
			t.Fatal("the older program has ended")
		}
	}
}

// end ends the program, by a kill or by its input, and returns the last pair that it has written.
func (p *olderProgram) end(t *testing.T, kill bool) int64 {
	t.Helper()
	if kill {
		_ = p.Process.Kill()
	} else {
		_ = p.input.Close()
	}
	for range p.said {
	}
	if err := p.Wait(); err != nil && !kill {
		t.Errorf("the older program: %v", err)
	}
	return p.last.Load()
}

// TestOldAndNewProgramAtOnce runs an older program, which goes on writing to the old store, beside
// newer ones, of which most are killed at random moments, and the older one at times. What the
// older one was told is committed is in the new store when both have ended, and in the old one,
// which is kept.
func TestOldAndNewProgramAtOnce(t *testing.T) {
	kills := number(t, "ASSAY_KILLS", 3, 20)
	for _, c := range []struct{ from, to string }{{"sqlite", "pebble"}, {"bbolt", "sqlite"}, {"pebble", "bbolt"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			dir := t.TempDir()
			from, to := c.from+":"+filepath.Join(dir, "old"), c.to+":"+filepath.Join(dir, "new")
			fill(t, from, 1000)
			older := startOlder(t, from, 0)
			whole, moved := 200*time.Millisecond, 0
			for n := range kills {
				older.writes(t)
				newer := moving(from, to, "keep")
				var said strings.Builder
				newer.Stderr = &said // of one that is killed nobody needs it
				began := time.Now()
				if err := newer.Start(); err != nil {
					t.Fatal(err)
				}
				if n == kills/2 { // one that is not killed
					if err := newer.Wait(); err != nil {
						t.Fatalf("a newer program beside the older one: %v\n%s", err, said.String())
					}
					whole = time.Since(began)
				} else {
					time.Sleep(rand.N(whole)) // nothing depends on when it is
					_ = newer.Process.Kill()  // it may have ended
					_ = newer.Wait()
				}
				if exists(filepath.Join(dir, "new")) {
					moved++
				}
				if n%5 == 4 {
					older = startOlder(t, from, older.end(t, true)+1)
				}
			}
			older.writes(t)
			last := older.end(t, false)
			closed(t, open(t, to, nil, from))
			same(t, from, to)
			for _, rawURL := range []string{from, to} {
				db, err := transfer.OpenExisting(t.Context(), rawURL, transfer.Look)
				if err != nil {
					t.Fatal(err)
				}
				for n := range last + 1 {
					holds(t, db, olderKey(n), "older")
				}
				closed(t, db)
			}
			if left := hidden(dir); left != ".new.moved" {
				t.Errorf("beside the store: %s", left)
			}
			t.Logf("%d kills, the new store was there after %d; the older program wrote %d pairs", kills, moved, last+1)
		})
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestTheWayBack starts the older program after the newer one has worked: it finds the old store as
// it was moved. What the newer one wrote goes there by a copy, and the newer program does not take
// what the older one writes then for nothing.
func TestTheWayBack(t *testing.T) {
	for _, from := range some() {
		t.Run(from, func(t *testing.T) {
			dir, old := small(t, from)
			to := "pebble:" + filepath.Join(dir, "new")
			closed(t, open(t, to, nil, old))
			change(t, to, "07", "of the newer program")
			db, err := kv.Open(t.Context(), old)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, db, "07", "value 7")
			closed(t, db)
			back := from + ":" + filepath.Join(dir, "back")
			copied(t, to, back, nil)
			db, err = kv.Open(t.Context(), back)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, db, "07", "of the newer program")
			closed(t, db)
			change(t, old, "08", "of the older program")
			if _, err := transfer.Open(t.Context(), to, []string{old}, nil); !errors.Is(err, kv.Conflict) {
				t.Errorf("both were changed: %v", err)
			}
		})
	}
}

// Files of a store come and go while its program works: that is a change, and no missing store.
func TestTheMarkOfAStoreWhoseFilesGo(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			for i := range 20 {
				name := filepath.Join(dir, fmt.Sprint("file", i))
				if n%2 == 0 {
					_ = os.WriteFile(name, nil, 0o600)
				} else {
					_ = os.Remove(name)
				}
			}
		}
	})
	for range 500 {
		if _, err := transfer.MarkOf(dir); err != nil {
			t.Errorf("the mark of a folder that changes: %v", err)
			break
		}
	}
	close(stop)
	churn.Wait()
	if _, err := transfer.MarkOf(filepath.Join(dir, "store")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of what is not there: %v", err)
	}
}
