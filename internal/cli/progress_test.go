package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
)

// A terminal keeps nothing of a progress that stays in its line: it neither breaks it nor erases
// more than it.
func TestProgressStaysInItsLine(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, live: true, deadline: time.Now().Add(time.Minute)}
	p.show(strings.Repeat("[1/11] hook put · ", 20), "a line")
	p.start()
	p.frame()
	p.end()
	got := out.String()
	if !strings.Contains(got, "left  [1/11] hook put") || !strings.HasSuffix(got, "\r\x1b[K") ||
		strings.ContainsAny(got, "\n") || strings.Contains(got, "\x1b[J") {
		t.Errorf("got %q", got)
	}
}

func TestProgressLineFitsTheTerminal(t *testing.T) {
	text := strings.Repeat("hook put · ", 20)
	for _, width := range []int{20, 80, 120} {
		if got := utf8.RuneCountInString(cutLine(text, width)); got != width-1 {
			t.Errorf("at %d columns the line has %d", width, got)
		}
	}
	var out bytes.Buffer
	for deadline, want := range map[time.Time]string{time.Now().Add(-time.Second): "\r    0s left  probe\x1b[K",
		{}: "\rprobe\x1b[K"} {
		out.Reset()
		p := &progress{out: &out, text: "probe", deadline: deadline}
		if p.frame(); out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
}

func TestProgressWithoutATerminalIsLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, time.Now(), time.Minute)
	p.show("what a terminal sees", "")
	p.show("what a terminal sees", "[1/11] hook put")
	p.end()
	if got := out.String(); got != "[1/11] hook put\n" {
		t.Errorf("got %q", got)
	}
}

// The number of an operation that comes again is lower than the one before it: that is explained.
func TestProgressSaysThatAnOperationComesAgain(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, time.Now(), time.Minute)
	told := p.ofRun()
	for _, group := range []int{1, 1, 2, 1, 1, 2} {
		told(bench.Progress{Phase: "measure", Workload: "hook", Operation: "put", Group: group, Groups: 2})
	}
	p.end()
	const again = " · again, for more rounds\n"
	if got := out.String(); got != "[1/2] hook put\n[2/2] hook put\n[1/2] hook put"+again+"[2/2] hook put"+again {
		t.Errorf("got %q", got)
	}
}

// What a run needs is told before it is spent, and stays to be read: above the line that is written
// again and again.
func TestWhatARunNeedsStaysToBeRead(t *testing.T) {
	const want = "to decide everything takes about --budget 4m30s, by its first rounds\n"
	for _, live := range []bool{false, true} {
		var out bytes.Buffer
		p := &progress{out: &out, live: live, text: "[1/11] hook put"}
		step := p.ofRun()
		step(bench.Progress{Phase: "plan", Needs: 4*time.Minute + 21*time.Second, By: "its first rounds"})
		step(bench.Progress{Workload: "hook", Operation: "put", Phase: "load", Engine: "bbolt", Group: 1, Groups: 11})
		if got := out.String(); !strings.Contains(got, want) || live && !strings.HasPrefix(got, "\r\x1b[K") {
			t.Errorf("live %v: got %q", live, got)
		}
	}
}

// Of so many rounds nobody knows how long they take: not the budget, which they do not look at.
func TestRoundsAreNotBoundedByTheBudget(t *testing.T) {
	for rounds, want := range map[int]string{0: " · at most 30s left\n", 12: " · after 30s\n"} {
		var out bytes.Buffer
		p, step := (&app{stderr: &out}).proofProgress(prove.Options{Budget: time.Minute, Rounds: rounds}, "histories checked")
		if first := p.timed(); strings.Contains(first, "left") != (rounds == 0) {
			t.Errorf("%d rounds: it begins with %q", rounds, first)
		}
		step(prove.Progress{Engine: "etcd", Class: "synced", Fault: "leader", All: 2, Images: 3, Rounds: rounds,
			Elapsed: 30 * time.Second, Budget: time.Minute})
		p.end()
		if got := out.String(); got != "[0/2] etcd synced leader · 3 histories checked"+want {
			t.Errorf("%d rounds: said %q", rounds, got)
		}
	}
}

// What takes long says now and then where it stands where nobody sees a line of a terminal: in a
// pipe, in the log of a job.
func TestWhatTakesLongSaysSoInAPipe(t *testing.T) {
	dir := t.TempDir()
	at := func(scheme, name string) string { return scheme + ":" + filepath.ToSlash(filepath.Join(dir, name)) }
	db, err := kv.Open(t.Context(), at("bbolt", "old"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range byte(4) {
		err = errors.Join(err, db.Put(t.Context(), kv.Synced, []byte{i}, make([]byte, 1<<20)))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want []string }{
		{[]string{"copy", "--rate", "100kB", at("bbolt", "old"), at("bbolt", "copy")},
			[]string{"copying 3 pairs, 3.1 MB, ", " · 15s\ncopying 4 pairs, "}},
		{[]string{"migrate", "--rate", "100kB", at("bbolt", "old"), at("bbolt", "moved")}, []string{"copying 3 pairs, "}},
		{[]string{"verify", at("bbolt", "old"), at("slow", "copy")}, []string{"opening · 15s\n"}},
		{[]string{"inspect", at("slow", "copy"), "check"}, []string{"check of slow:", " · 15s\n"}},
		{[]string{"inspect", at("slow", "copy"), "queues"}, []string{"queues of slow:"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			root := (&app{stdout: &stdout, stderr: &stderr}).root()
			root.SetArgs(c.args)
			if err := root.ExecuteContext(t.Context()); err != nil && c.args[0] != "inspect" {
				t.Errorf("%v: %v", c.args, err)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("%v said %q, want %q", c.args, stderr.String(), want)
				}
			}
		})
	}
}
