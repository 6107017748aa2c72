package pairs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/stores/pairs"
	"github.com/assaydb/assay/transfer"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// task is the variable that makes the test binary a process that copies, which is killed.
const task = "ASSAY_PAIRS_COPY"

func TestMain(m *testing.M) {
	if from := os.Getenv(task); from != "" {
		if _, err := transfer.Copy(context.Background(), from, os.Getenv(task+"_TO"), nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// place is where a store is.
type place struct{ form, path, prefix, settings string }

// URL returns the URL of the store, of a scheme of the package.
func (p place) URL(scheme string) string {
	return scheme + ":" + p.path + "?form=" + p.form + "&prefix=" + url.QueryEscape(p.prefix) + p.settings
}

// engine opens the engine's store that the place is in.
func (p place) engine(t *testing.T) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), p.form+":"+p.path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// chain is a way through all forms, and back to that of the first.
func chain(t *testing.T) (places []place) {
	dir := t.TempDir()
	for i, form := range []string{"bbolt", "sql", "pebble", "sqlite", "sql", "badger", "leveldb", "sql", "bunt", "bbolt"} {
		p := place{form: form, path: filepath.Join(dir, fmt.Sprint(i, form))}
		if i%2 == 0 && form != "sql" {
			p.prefix = "a/\x00 b/"
		}
		places = append(places, p)
	}
	if testing.Short() {
		places = places[:4]
	}
	return places
}

// moved copies a store from each place to the next, and compares what shows has to say of each with
// what it said of the first.
func moved(t *testing.T, scheme string, places []place, shows func(t *testing.T, p place) string) {
	want := shows(t, places[0])
	if len(want) < 1000 {
		t.Fatalf("the store shows only\n%s", want)
	}
	var first transfer.Report
	for i, to := range places[1:] {
		from := places[i]
		t.Run(from.form+" to "+to.form, func(t *testing.T) {
			report, err := transfer.Copy(t.Context(), from.URL(scheme), to.URL(scheme), nil)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = report
			}
			if report.Summary != first.Summary {
				t.Errorf("%+v was copied, and %+v from the first form", report.Summary, first.Summary)
			}
			// shows may change what it opens
			c, err := transfer.Verify(t.Context(), from.URL(scheme), to.URL(scheme), nil)
			if err != nil || c.Differing > 0 || c.A.Pairs == 0 {
				t.Errorf("%d of %d pairs differ, %v", c.Differing, c.A.Pairs, err)
			}
			check(t, to.URL(scheme))
			if got := shows(t, to); got != want {
				t.Errorf("what the store shows differs:\n%s\nwant\n%s", excerpt(got, want), excerpt(want, got))
			}
			check(t, to.URL(scheme))
		})
	}
}

// check has a store check itself.
func check(t *testing.T, rawURL string) {
	t.Helper()
	db, err := transfer.OpenExisting(t.Context(), rawURL, transfer.Look)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Check(t.Context()), db.Close()); err != nil {
		t.Error(err)
	}
}

// excerpt returns where a begins to differ from b.
func excerpt(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-200):min(len(a), n+200)]
}

// killed kills processes that copy a store, at random moments, and has others go on. After each
// kill there is the whole copy or none. ASSAY_KILLS says how many.
func killed(t *testing.T, scheme string, from, to place) {
	t.Helper()
	kills := 10
	if text := os.Getenv("ASSAY_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		kills = 2
	}
	began := time.Now()
	first := to
	first.path += "-first"
	if err := copying(t, from.URL(scheme), first.URL(scheme)).Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	amid := 0
	for n := range kills {
		p := to
		p.path = fmt.Sprint(to.path, n)
		c := copying(t, from.URL(scheme), p.URL(scheme))
		time.Sleep(rand.N(whole))
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
		_, absent := os.Lstat(p.path)
		if absent != nil {
			amid++
		}
		// one that is there is refused, and what was left beside it is removed
		_, err := transfer.Copy(t.Context(), from.URL(scheme), p.URL(scheme), nil)
		if absent != nil && err != nil || absent == nil && !errors.Is(err, kv.Invalid) {
			t.Fatalf("the next copy: %v", err)
		}
		v, err := transfer.Verify(t.Context(), from.URL(scheme), p.URL(scheme), nil)
		if err != nil || v.Differing > 0 || v.B.Pairs == 0 {
			t.Fatalf("after kill %d: %d of %d pairs differ, %v", n, v.Differing, v.A.Pairs, err)
		}
		check(t, p.URL(scheme))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(to.path), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left beside the copies: %q, %v", left, err)
	}
	t.Logf("%d kills, %d of them amid a copy", kills, amid)
}

// copying starts a process that copies.
func copying(t *testing.T, from, to string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), task+"="+from, task+"_TO="+to)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRefused: what is not there, or cannot be done, is an error that says what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	plain := place{form: "bbolt", path: path("plain")}
	db := plain.engine(t)
	if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte("key"), []byte("value")), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := (place{form: "bbolt", path: path("empty")}).engine(t).Close(); err != nil {
		t.Fatal(err)
	}
	fillLog(t, place{form: "sql", path: path("tables")}, 50)
	for _, c := range []struct {
		name, from, to string
		kind           kv.Kind
		hint           string
	}{
		{"no form of a new store", "log:" + path("empty"), "log:" + path("new"), kv.Invalid, "form=sql"},
		{"an unknown form", "log:" + path("empty"), "log:" + path("new") + "?form=paper", kv.Invalid, "sql"},
		{"a form that is no engine", "log:" + path("empty"), "queue:" + path("new") + "?form=log", kv.Invalid, "sql"},
		{"a prefix of tables", "log:" + path("empty"), "log:" + path("new") + "?form=sql&prefix=a", kv.Invalid, "no prefix"},
		{"keys of something else", "log:" + path("plain"), "log:" + path("new") + "?form=sql", kv.NotFound, "prefix="},
		{"the same, for queues", "queue:" + path("plain"), "queue:" + path("new") + "?form=sql", kv.NotFound, "prefix="},
		{"a file without tables of queues", "queue:" + path("tables") + "?form=sql", "queue:" + path("new") + "?form=bbolt",
			kv.NotFound, ""},
		{"no source", "log:" + path("none"), "log:" + path("new") + "?form=sql", kv.NoStore, ""},
		{"pairs of another scheme", "bbolt:" + path("plain"), "log:" + path("log") + "?form=sql", kv.Invalid, "same scheme"},
		{"the same, as a feed", "bbolt:" + path("plain"), "feed:" + path("feed") + "?form=pebble", kv.Invalid, "same scheme"},
		{"a feed in tables", "feed:" + path("empty"), "feed:" + path("new") + "?form=sql", kv.Invalid, "margaret"},
		{"events in Margaret's files", "log:" + path("empty"), "log:" + path("new") + "?form=margaret", kv.Invalid, "sql"},
		{"a prefix of Margaret's files", "feed:" + path("empty"), "feed:" + path("new") + "?form=margaret&prefix=a", kv.Invalid,
			"no prefix"},
		{"a folder of something else", "feed:" + t.TempDir() + "?form=margaret", "feed:" + path("new") + "?form=bbolt", kv.NoStore,
			""},
		{"keys of something else, for a feed", "feed:" + path("plain"), "feed:" + path("new") + "?form=margaret", kv.NotFound,
			"prefix="},
		{"the same, as queues", "bbolt:" + path("plain"), "queue:" + path("queue") + "?form=pebble", kv.Invalid, "same scheme"},
	} {
		_, err := transfer.Copy(t.Context(), c.from, c.to, nil)
		if kv.KindOf(err) != c.kind || !strings.Contains(kv.HintOf(err), c.hint) {
			t.Errorf("%s: %v (%s), want %v and a hint with %q", c.name, err, kv.HintOf(err), c.kind, c.hint)
		}
	}
	for _, name := range []string{"new", "log", "queue", "feed", "jrnl"} {
		if _, err := os.Stat(path(name)); err == nil {
			t.Errorf("there is a new store %s after all", name)
		}
	}
}
