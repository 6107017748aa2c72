package transfer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// moveTask is the variable that makes the test binary a program whose store was elsewhere before.
const moveTask = "ASSAY_TRANSFER_MOVE"

// writeTask is the variable that makes the test binary a program that writes, and waits to be
// killed.
const writeTask = "ASSAY_TRANSFER_WRITE"

// writeInChild commits 50 pairs, says so, and waits with the store open.
func writeInChild(rawURL string) {
	db, err := kv.Open(context.Background(), rawURL)
	for i := range 50 {
		if err == nil {
			err = db.Put(context.Background(), kv.Synced, fmt.Append(nil, i), make([]byte, 1000))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(50)
	<-time.After(time.Hour)
}

// moveInChild opens the store and reads all of it. It says how many pairs it holds, and whether
// this process copied them.
func moveInChild(from, to, old string) (status int) {
	said := "found"
	o := &transfer.MoveOptions{Wait: 5 * time.Minute}
	if old == "remove" {
		o.Old = transfer.Remove
	}
	o.Progress = func(p transfer.Progress) {
		if p.Phase == "copy" {
			said = "moved"
		}
	}
	ctx := context.Background()
	db, err := transfer.Open(ctx, to, []string{from}, o, kv.WithWait(5*time.Minute))
	n := 0
	if err == nil {
		err = db.View(ctx, func(s *kv.Snapshot) error {
			for range s.Scan(kv.Range{}) {
				n++
			}
			return nil
		})
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err, kv.HintOf(err))
		return 1
	}
	fmt.Println(said, n)
	return 0
}

// moving prepares a process that opens a store.
func moving(from, to, old string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), moveTask+"="+from, moveTask+"_TO="+to, moveTask+"_OLD="+old)
	c.Stderr = os.Stderr
	return c
}

// TestProcessesAtOnce: of many processes that start at once one moves the store; all find what was
// in the old one. ASSAY_PROCESSES=100 starts as many.
func TestProcessesAtOnce(t *testing.T) {
	processes := number(t, "ASSAY_PROCESSES", 4, 30)
	for _, c := range []struct{ from, to, old string }{{"sqlite", "bbolt", "keep"}, {"bbolt", "sqlite", "remove"},
		{"pebble", "pebble", "keep"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			dir := t.TempDir()
			from, to := c.from+":"+filepath.Join(dir, "old"), c.to+":"+filepath.Join(dir, "new")
			fill(t, from, 3000)
			whole, err := transfer.Plan(t.Context(), from, "bunt:"+filepath.Join(dir, "none"), nil)
			if err != nil {
				t.Fatal(err)
			}
			atOnce(t, processes, int(whole.Pairs), func() *exec.Cmd { return moving(from, to, c.old) })
		})
	}
}

// atOnce runs processes that open a store of n pairs, of which one moves it.
func atOnce(t *testing.T, processes, n int, start func() *exec.Cmd) {
	t.Helper()
	said := make(chan string)
	for range processes {
		go func() {
			out, err := start().Output()
			if err != nil {
				out = fmt.Appendf(out, "%v", err)
			}
			said <- strings.TrimSpace(string(out))
		}()
	}
	got := map[string]int{}
	for range processes {
		got[<-said]++
	}
	moved, found := fmt.Sprint("moved ", n), fmt.Sprint("found ", n)
	if got[moved] != 1 || got[found] != processes-1 {
		t.Errorf("%d processes said %v, want %q of one and %q of the others", processes, got, moved, found)
	}
}

// hidden lists what has a hidden name in a folder.
func hidden(dir string) string {
	names, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil {
		return err.Error()
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return strings.Join(names, " ")
}

func number(t *testing.T, name string, short, long int) int {
	t.Helper()
	n := long
	if testing.Short() {
		n = short
	}
	if text := os.Getenv(name); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestMoveKilled kills the process that moves at random moments. The old store is then there alone
// or the new one whole; the next process goes on, and leaves nothing but the record.
func TestMoveKilled(t *testing.T) {
	kills := number(t, "ASSAY_KILLS", 2, 20)
	for _, c := range []struct{ from, to, old string }{{"leveldb", "bbolt", "keep"}, {"sqlite", "pebble", "remove"},
		{"bbolt", "sqlite", "remove"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) { moveKilled(t, c.from, c.to, c.old, kills) })
	}
}

func moveKilled(t *testing.T, from, to, old string, kills int) {
	model := "bunt:" + filepath.Join(t.TempDir(), "model")
	fill(t, model, 3000)
	amid, whole := 0, time.Duration(0)
	for n := 0; n <= kills; {
		dir := t.TempDir()
		from, to := from+":"+filepath.Join(dir, "old"), to+":"+filepath.Join(dir, "new")
		copied(t, model, from, nil)
		for {
			c := moving(from, to, old)
			began := time.Now()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 { // how long one takes that is not killed
				if err := c.Wait(); err != nil {
					t.Fatal(err)
				}
				whole = time.Since(began)
				break
			}
			time.Sleep(rand.N(whole)) // nothing depends on when it is
			_ = c.Process.Kill()      // it may have ended
			_ = c.Wait()
			if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil || n > kills {
				break
			}
			amid++
			same(t, model, from)
		}
		o := &transfer.MoveOptions{}
		if old == "remove" {
			o.Old = transfer.Remove
		}
		closed(t, open(t, to, o, from))
		same(t, model, to)
		left := hidden(dir)
		if _, err := os.Lstat(filepath.Join(dir, "old")); left != ".new.moved" || (err == nil) != (old == "keep") {
			t.Fatalf("after %d kills: beside the store %s; the old store: %v", n, left, err)
		}
	}
	t.Logf("%d kills, %d of them before the new store was there", kills, amid)
}
