package powerfs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// engines are opened as they are, on the mount and on the real disk.
var engines = []struct{ name, url, path string }{
	{"bbolt", "bbolt:", "store.db"},
	{"pebble", "pebble:", "store"},
	{"badger", "badger:", "store"},
	{"bunt", "bunt:", "store.db"},
	{"sqlite", "sqlite:", "store.db"},
}

// mounted returns a mount that ends with the test.
func mounted(t *testing.T, o Options) (*Disk, *Mount) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	d := newBench(t, o).d
	m, err := d.Mount(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return d, m
}

// acknowledged reads the times of a committing child, and returns how many lie before the cut.
func acknowledged(t *testing.T, lines *bufio.Scanner) (stamps []int64) {
	t.Helper()
	for lines.Scan() {
		stamp, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		stamps = append(stamps, stamp)
	}
	return stamps
}

// TestEnginesKeepWhatTheySynced cuts the power in the middle of 40 synced commits, and opens what
// is left under every ordered rule on the real disk, in a process of its own.
func TestEnginesKeepWhatTheySynced(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			if testing.Short() && (e.name == "bunt" || e.name == "pebble") {
				t.Skip("the others map memory, or lock and share it: these do no more than they do")
			}
			const commits = 40
			d, m := mounted(t, Options{})
			cmd, lines := start(t, "commit", e.url+filepath.Join(m.Dir(), e.path), strconv.Itoa(commits))
			if n := len(acknowledged(t, lines)); n != commits {
				t.Fatalf("%d of %d commits without a cut", n, commits)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			ops := d.Ops()
			t.Logf("%d operations, %+v", ops, d.Counters())

			d, m = mounted(t, Options{})
			cmd, lines = start(t, "commit", e.url+filepath.Join(m.Dir(), e.path), strconv.Itoa(commits))
			pid := cmd.Process.Pid
			d.CutBefore(ops*2/3, func() {
				if err := m.Settle(pid); err != nil {
					t.Error(err)
				}
			})
			go func() {
				<-d.Down()
				cmd.Process.Kill()
			}()
			stamps := acknowledged(t, lines)
			at, ok := d.CutAt()
			if !ok {
				t.Skipf("the second run ended before operation %d", ops*2/3)
			}
			acked := 0
			for _, stamp := range stamps {
				if stamp < at {
					acked++
				}
			}
			crash := d.Crash()
			t.Logf("%d acknowledged before the cut, %d changes pending", acked, crash.Pending())
			survivors := []Survivors{Sectors, Nothing, Prefix, Pages, Everything}
			if testing.Short() {
				survivors = survivors[:1]
			}
			for _, s := range survivors {
				img := crash.Image(Rule{Ordered, s}, 7)
				dir := t.TempDir()
				if err := img.Export(dir); err != nil {
					t.Fatal(err)
				}
				if kept := found(t, e.url+filepath.Join(dir, e.path)); kept < acked {
					t.Errorf("ordered/%v: %d of %d acknowledged commits are there", s, kept, acked)
				}
			}
		})
	}
}

// found returns how many commits another process finds, -1 if the store does not open.
func found(t *testing.T, url string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], childRole, "verify", url)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			t.Logf("%s: %s", url, firstLine(string(exit.Stderr)))
		}
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// TestALyingDiskLosesEverything is the control: were anything found, syncs would not be what makes
// data durable here.
func TestALyingDiskLosesEverything(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			if testing.Short() && e.name != "badger" {
				t.Skip("one engine will do")
			}
			d, m := mounted(t, Options{Lying: true})
			cmd, lines := start(t, "commit", e.url+filepath.Join(m.Dir(), e.path), "5")
			if n := len(acknowledged(t, lines)); n != 5 {
				t.Fatalf("%d of 5 commits", n)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			for _, entries := range []Entries{Ordered, Strict} {
				img := d.Crash().Image(Rule{entries, Nothing}, 1)
				if got := tree(t, img); got != "" {
					t.Errorf("%v: %.200s is left", entries, got)
				}
			}
		})
	}
}
