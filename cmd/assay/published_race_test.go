package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// TestBothBuildsOfTheQueuePublication builds the command with -race and without, and prints the
// figures of both beside each other. How they compare is for the reader: the machine may be busy.
func TestBothBuildsOfTheQueuePublication(t *testing.T) {
	if os.Getenv("ASSAY_RACE") != "1" {
		t.Skip("it builds the command with -race: set ASSAY_RACE=1")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("NOT TESTED: there is no C compiler, so neither SQLite in C nor -race: ", err)
	}
	dir := t.TempDir()
	plain, race := filepath.Join(dir, "assay"), filepath.Join(dir, "assay-race")
	for path, flags := range map[string][]string{plain: nil, race: {"-race"}} {
		cmd := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{"."})...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	if out, err := exec.Command(plain, "run", "--like-published", "queue", "--with-race", plain).CombinedOutput(); err == nil {
		t.Errorf("a binary without -race was taken for one with:\n%s", out)
	}
	out := filepath.Join(dir, "out")
	cmd := exec.Command(plain, "run", "--like-published", "queue", "--with-race", race, "--budget", "80s", "--out", out)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache")) // dir/assay is the binary
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	published, err := result.ReadPublished(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(published.Publications[0].Lines); n != 4 {
		t.Errorf("%d lines, want publish, claim, ack and cycle", n)
	}
	for _, l := range published.Publications[0].Lines {
		if l.Published == nil || l.Published.Ratio == nil || l.Race == nil || l.Race.Ratio == nil {
			t.Errorf("%s lacks a side:\n%s", l.Operation, text)
			continue
		}
		for built, m := range map[string]*result.Measurement{"without": l.Published, "with": l.Race} {
			t.Logf("%-8s %-7s -race: %s %.1f µs, %s %.1f µs, %.2fx; published %.2gx", l.Operation, built,
				m.First.Name, m.First.NS.Mid/1e3, m.Second.Name, m.Second.NS.Mid/1e3, m.Ratio.Mid, *l.Figure.Ratio)
		}
	}
	run, err := result.Read(filepath.Join(out, "queue-race"))
	if err != nil || run.Environment.Unranked != "built with -race" {
		t.Errorf("the run with -race is ranked as any: %v, %+v", err, run)
	}
}
