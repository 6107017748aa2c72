package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// served opens a store with an observer, puts two pairs, and serves its figures beside it.
func served(t *testing.T) (path string, db *kv.DB, o *observe.Observer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "app.db")
	o = observe.New(nil)
	db, err := kv.Open(t.Context(), "bbolt:"+path, kv.WithTracer(o))
	if err != nil {
		t.Fatal(err)
	}
	stop, err := o.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		db.Close()
		o.Close()
	})
	for _, k := range []string{"a", "b"} {
		if err := db.Put(t.Context(), kv.Synced, []byte(k), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	return path, db, o
}

// assay runs the command, and returns what it printed.
func assay(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, strings.NewReader(""), &out, &errs, nil)
	return status, out.String(), errs.String()
}

func TestWatchShowsARunningProgramByAnyOfItsNames(t *testing.T) {
	path, db, o := served(t)
	server := httptest.NewServer(o)
	defer server.Close()
	held, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, target := range []string{path, "bbolt:" + path, observe.SocketOf(path), server.URL,
		strings.TrimPrefix(server.URL, "http://")} {
		status, out, errs := assay(t, "watch", target, "--once")
		for _, want := range []string{path + "  bbolt, exclusive", `write synced +\d`, "store +.* on disk in 1 file",
			"running  held snapshot for "} {
			if !regexp.MustCompile(want).MatchString(out) || status != 0 || errs != "" {
				t.Errorf("watch %s: status %d, %s\nno %q in\n%s", target, status, errs, want, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("what is no terminal gets its codes: %q", out)
		}
	}
	_, out, _ := assay(t, "watch", path, "--once", "--json")
	var f observe.Figures
	if err := json.Unmarshal([]byte(out), &f); err != nil || f.PID != os.Getpid() || len(f.Ops) == 0 {
		t.Errorf("%v in %s", err, out)
	}
}

func TestWatchShowsAStoreFromOutside(t *testing.T) {
	path, db, _ := served(t)
	if err := os.Remove(observe.SocketOf(path)); err != nil {
		t.Fatal(err)
	}
	status, out, errs := assay(t, "watch", path, "--once")
	for _, want := range []string{"from outside", "on disk in 1 file", "locked"} {
		if !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, %s: no %q in\n%s", status, errs, want, out)
		}
	}
	look, err := watched(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := db.Put(t.Context(), kv.Synced, []byte("c"), []byte(time.Now().String())); err != nil {
			t.Fatal(err)
		}
	}
	now, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now.noticeChanges(before)
	if text := fmt.Sprint(screen(now, before, 0)); now.Store.Foreign != 1 ||
		!strings.Contains(text, "changed  1 time") {
		t.Errorf("commits of another: %+v", now.Store)
	}
	again, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again.noticeChanges(now); again.Store.Foreign != 1 {
		t.Errorf("without a commit: %+v", again.Store)
	}
}

func TestWatchRefusesWhatItCannotWatch(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		args   []string
	}{
		{exitUsage, "0 targets were named", []string{"watch"}},
		{exitUsage, "2 targets were named", []string{"watch", "a", "b"}},
		{exitUsage, "--every 0s", []string{"watch", "a", "--every", "0s"}},
		{exitFailed, "nothing is there", []string{"watch", filepath.Join(t.TempDir(), "none.db")}},
		{exitUsage, "unknown engine", []string{"watch", "noengine:a"}},
		{exitUsage, "bbolt: names no file or folder", []string{"watch", "bbolt:"}},
		{exitFailed, "no store", []string{"watch", "http://127.0.0.1:1/"}},
	} {
		if status, _, errs := assay(t, c.args...); status != c.status || !strings.Contains(errs, c.text) {
			t.Errorf("%q: status %d, %s, want %d, %q", c.args, status, errs, c.status, c.text)
		}
	}
}

// output is what a command prints while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await returns when the output matches; the test's own time is its limit.
func (o *output) await(t *testing.T, want string) {
	t.Helper()
	for re := regexp.MustCompile(want); !re.MatchString(o.String()); {
		select {
		case <-t.Context().Done():
			t.Fatalf("no %q in %q", want, o)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestWatchWritesALineForEachLookUntilItIsInterrupted(t *testing.T) {
	path, db, _ := served(t)
	for _, asJSON := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs output
		ended := make(chan int)
		args := []string{"watch", path, "--every", "1ms", fmt.Sprintf("--json=%v", asJSON)}
		go func() { ended <- Run(ctx, args, strings.NewReader(""), &out, &errs, nil) }()
		out.await(t, "(?m)\\A.+\n.+\n")
		if err := db.Put(t.Context(), kv.Synced, []byte("c"), nil); err != nil {
			t.Fatal(err)
		}
		if asJSON {
			var first observe.Figures
			if err := json.NewDecoder(strings.NewReader(out.String())).Decode(&first); err != nil ||
				first.Engine != "bbolt" {
				t.Errorf("%v in %s", err, &out)
			}
		} else {
			out.await(t, `app.db; .*write synced [1-9][\d,.]*/s p99 `)
		}
		interrupt()
		if status := <-ended; status != exitInterrupted {
			t.Errorf("status %d, %s", status, &errs)
		}
	}
}

func TestWatchGoesOnWhenTheProgramIsGone(t *testing.T) {
	path, db, o := served(t)
	look, err := watched(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	failing := func(ctx context.Context) (glance, error) {
		if answers++; answers == 2 {
			return observeNothing(ctx)
		}
		return look(ctx)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out output
	ended := make(chan error)
	go func() {
		ended <- (&app{stdout: &out, stderr: &out}).follow(ctx, failing, watchFlags{every: time.Millisecond})
	}()
	out.await(t, "no answer: .*\n(.*\n)*.*app.db; ")
	interrupt()
	if err := <-ended; err != errInterrupted {
		t.Errorf("got %v", err)
	}
	_, _ = db, o
}

// TestWatchFollowsAProgramThatEndsAndBegins looks at its store from outside in between. What it
// counts begins anew.
func TestWatchFollowsAProgramThatEndsAndBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	begin := func(puts int) (end func()) {
		o := observe.New(nil)
		db, err := kv.Open(t.Context(), "bbolt:"+path, kv.WithTracer(o))
		if err != nil {
			t.Fatal(err)
		}
		stop, err := o.Listen("")
		if err != nil {
			t.Fatal(err)
		}
		for range puts {
			if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("value")); err != nil {
				t.Fatal(err)
			}
		}
		return func() {
			if err := errors.Join(stop(), db.Close()); err != nil {
				t.Error(err)
			}
			o.Close()
		}
	}
	begin(1)()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errs output
	ended := make(chan int)
	go func() {
		ended <- Run(ctx, []string{"watch", path, "--every", "1ms"}, strings.NewReader(""), &out, &errs, nil)
	}()
	out.await(t, `app.db .*changed 0 times`)
	end := begin(3)
	out.await(t, `(?s)changed 0 times.*app.db; .*write synced [1-9][\d,.]*/s`)
	end()
	out.await(t, `(?s)write synced.*app.db .*changed 0 times`)
	defer begin(3)()
	out.await(t, `(?s)write synced.*changed 0 times.*write synced [1-9][\d,.]*/s`)
	interrupt()
	if status := <-ended; status != exitInterrupted {
		t.Errorf("status %d, %s", status, &errs)
	}
	if strings.Contains(out.String(), "write synced -") {
		t.Errorf("counts that fall:\n%s", &out)
	}
}

// TestTheScreenKeepsItsRows has texts that would move the cursor, and one that is wider than the
// terminal.
func TestTheScreenKeepsItsRows(t *testing.T) {
	odd := errors.Join(errors.New("one"), errors.New("\x1b[2Jtwo"), errors.New(strings.Repeat("three ", 50)))
	now := time.Now()
	f := observe.Figures{PID: 1, Opened: now, At: now, Engine: "bbolt", Store: observe.Store{Path: "a\nb", Size: kv.Size{Files: 1}},
		Slow: []observe.Slow{{Op: "commit", Err: odd.Error()}}}
	all := append(screen(glance{Figures: &f}, glance{}, 60), noAnswer(odd, 60))
	for _, l := range all {
		if strings.ContainsFunc(l.text, unicode.IsControl) || len(l.text) >= 60 {
			t.Errorf("%q", l.text)
		}
	}
	if got := noAnswer(odd, 20).text; got != "no answer: one  [2J" {
		t.Errorf("%q", got)
	}
}

// TestFilesThatAreGoneAreShown has a program go on behind them: the only file of its store is gone.
func TestFilesThatAreGoneAreShown(t *testing.T) {
	now := time.Now()
	f := observe.Figures{PID: 1, Opened: now, At: now, Engine: "bbolt",
		Store: observe.Store{Path: "/data/app.db", Missing: true, Foreign: 1, Last: now}}
	if text := fmt.Sprint(screen(glance{Figures: &f}, glance{}, 0)); !strings.Contains(text, "its files are gone") {
		t.Error(text)
	}
}

// TestWatchTellsOfTheDisk shows flushes where there is a look before: since the system began there
// were any number.
func TestWatchTellsOfTheDisk(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	store := func(seconds int, disk *observe.Disk) observe.Store {
		return observe.Store{Path: "/data/app.db", At: at.Add(time.Duration(seconds) * time.Second), Disk: disk,
			Size: kv.Size{Allocated: 4096, Files: 1}}
	}
	served := func(s observe.Store) glance {
		return glance{Figures: &observe.Figures{PID: 7, Opened: at, At: s.At, Store: s}}
	}
	outside := func(s observe.Store) glance { return glance{Store: s} }
	first := &observe.Disk{Name: "vda", Flushes: 1000, FlushTime: time.Second}
	for _, c := range []struct {
		now  *observe.Disk
		want string // "" is that there is no such line
	}{
		{&observe.Disk{Name: "vda", Flushes: 1600, FlushTime: 1300 * time.Millisecond},
			"disk     vda: 300 flushes/s of 500µs, by all programs"},
		{first, "disk     vda: 0 flushes/s, by all programs"},
		{&observe.Disk{Name: "vdb", Flushes: 1600}, ""},
		{nil, ""},
	} {
		for name, look := range map[string]func(observe.Store) glance{"served": served, "from outside": outside} {
			before, now := look(store(0, first)), look(store(2, c.now))
			found := ""
			for _, l := range screen(now, before, 0) {
				if strings.HasPrefix(l.text, "disk ") {
					found = l.text
				}
			}
			if found != c.want {
				t.Errorf("%s, %+v: got %q, want %q", name, c.now, found, c.want)
			}
			if text := fmt.Sprint(screen(now, glance{}, 0)); strings.Contains(text, "flushes") {
				t.Errorf("%s: the first look tells of flushes since the system began: %s", name, text)
			}
		}
	}
}

// observeNothing asks where nobody answers.
func observeNothing(ctx context.Context) (glance, error) {
	f, err := observe.Fetch(ctx, "http://127.0.0.1:1/")
	return glance{Figures: &f}, err
}

func TestTheScreenTellsWhatIsWrong(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	f := observe.Figures{Program: "app", PID: 7, At: at, Opened: at.Add(-10 * time.Second), Engine: "sqlite",
		Mode: "shared",
		Ops: []observe.Op{
			{Op: "turn", Count: 3, Latency: observe.Latency{Max: 150 * time.Millisecond}},
			{Op: "sync", Count: 40, Failed: map[string]int64{"error": 1}},
			{Op: "commit", Class: "synced", Count: 20, Failed: map[string]int64{"in doubt": 1}},
			{Op: "get", Count: 12_345, Failed: map[string]int64{"not found": 5}, Bytes: 2_000_000,
				Latency: observe.Latency{P99: 12_345}},
		},
		Slow: []observe.Slow{{Op: "commit", Class: "synced", Ended: at, Took: 1500 * time.Millisecond,
			Within: "update", Err: "disk"}},
		SlowTotal: 1, Lasting: 1,
		Running: []observe.Running{{Op: "held snapshot", For: time.Hour, Where: []string{"main.serve main.go:12"}},
			{Op: "view", For: time.Second}},
		Store: observe.Store{Path: "/data/app.db", Size: kv.Size{Allocated: 4_000_000, Files: 2}, Log: 1_000_000,
			Foreign: 2, Last: at,
			Watched: true},
		Counted: []kv.Figure{{Name: kv.Syncs, Value: 40}, {Name: kv.SyncTime, Value: 40_000_000},
			{Name: kv.Checkpoints, Value: 3}},
	}
	var out bytes.Buffer
	if err := printLines(&out, screen(glance{Figures: &f}, glance{}, 0), false); err != nil {
		t.Fatal(err)
	}
	want := `/data/app.db  sqlite, shared
app, pid 7, open for 10s  03:04:05, since then

operation      per s       failed  mean  p50     p99  p99.9    max  bytes/s
get            1,235  5 not found     -    -  12.3µs      -      -   200 kB
commit synced    2.0   1 in doubt     -    -       -      -      -
sync             4.0      1 error     -    -       -      -      -
wait: turn       0.3                  -    -       -      -  150ms

store    4.0 MB on disk in 2 files, log 1.0 MB
engine   3 checkpoints
others   another process changed the store: seen 2 times, the last time at 03:04:05
running  held snapshot for 1h0m0s, from main.serve main.go:12
running  view for 1s
slow     03:04:05 commit synced took 1.5s in update: disk
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, width := range []int{120, 80, 70, 60, 50, 40} { // columns that do not fit are left out, and none is cut
		wide := operationLines(f, 10, 0)
		for i, l := range operationLines(f, 10, width) {
			if len([]rune(l.text)) >= width {
				t.Errorf("%d columns on a terminal of %d: %s", len([]rune(l.text)), width, l.text)
			}
			for _, word := range strings.Fields(l.text) {
				if !slices.Contains(strings.Fields(wide[i].text), word) {
					t.Errorf("on a terminal of %d: %q is not of %q", width, word, wide[i].text)
				}
			}
		}
	}
	for _, l := range screen(glance{Figures: &f}, glance{}, 40) {
		if n := len([]rune(l.text)); n >= 40 {
			t.Errorf("%d columns on a terminal of 40: %s", n, l.text)
		}
		for what, tones := range map[string]tone{"held snapshot": bad, "in doubt": bad, "not found": plain,
			"another process": bad, "slow": bad} {
			if strings.Contains(l.text, what) && l.tone != tones {
				t.Errorf("%q has the tone %q", l.text, l.tone)
			}
		}
	}
}
