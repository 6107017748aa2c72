package kv_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

var ctx = context.Background()

// spy is an engine over mem that remembers what it was asked to open, and is busy as often as it is
// told.
type spy struct { // an Open that was given up may still run beside the next test
	last  atomic.Pointer[driver.Config]
	busy  atomic.Int64 // how many more times Open is busy
	tries atomic.Int64
	fail  atomic.Pointer[kv.Error]
}

var theSpy = new(spy)

func init() { driver.Register(theSpy) }

func (*spy) Info() driver.Info {
	return driver.Info{
		Name:    "spy",
		Summary: "remembers",
		Options: []driver.Option{{Name: "Cache", Values: "bytes", Usage: "memory"},
			{Name: "Log", Values: "text", Usage: "log"}},
		Caps: driver.Caps{
			Persistent: true,
			Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},
			Promises: [3]driver.Promise{
				driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true},
				driver.Flushed:  {Supported: true, Class: driver.Flushed},
				driver.Buffered: {Supported: true, Class: driver.Flushed},
			},
		},
	}
}

func (s *spy) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s.last.Store(&c)
	s.tries.Add(1)
	if s.busy.Add(-1) >= 0 {
		return nil, &driver.Error{Kind: driver.Busy, Err: errors.New("locked")}
	}
	if fail := s.fail.Load(); fail != nil {
		return nil, fail
	}
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, c)
	return &spyStore{inner, s.Info().Caps}, err
}

type spyStore struct {
	driver.Store
	caps driver.Caps
}

func (s *spyStore) Caps() driver.Caps { return s.caps }

func mustOpen(t testing.TB, url string, needs ...kv.Option) *kv.DB {
	t.Helper()
	db, err := kv.Open(ctx, url, needs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func wantKind(t testing.TB, what string, err error, want kv.Kind) {
	t.Helper()
	if err == nil || !errors.Is(err, want) || kv.KindOf(err) != want {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func TestURLsNameEngineAndPath(t *testing.T) {
	for _, c := range []struct{ url, path string }{
		{"spy:p.db", "p.db"},
		{"spy:dir/p.db", "dir/p.db"},
		{"spy:/abs/p.db", "/abs/p.db"},
		{"spy:///abs/p.db", "/abs/p.db"},
		{"spy:./p", "./p"},
		{"spy:C:/p.db", "C:/p.db"},
		{"spy:with space", "with space"},
		{"spy:100%25", "100%"},
		{"spy:what%3F", "what?"},
		{"spy:a#b", "a#b"},
		{"spy:p?", "p"},
		{"spy:p?Cache=1", "p"},
	} {
		db := mustOpen(t, c.url)
		if want, _ := filepath.Abs(filepath.FromSlash(c.path)); theSpy.last.Load().Path != want || db.Path() != want ||
			db.Engine() != "spy" {
			t.Errorf("%s: got path %q of %s, want %q", c.url, theSpy.last.Load().Path, db.Engine(), want)
		}
	}
}

func TestURLParametersBecomeOptions(t *testing.T) {
	db := mustOpen(t, "spy:p?Cache=64&mode=ro&durability=flushed&Log=a%26b&wait=5ms&Log=last")
	c := theSpy.last.Load()
	if c.Mode != kv.ReadOnly || db.Mode() != kv.ReadOnly || c.Weakest != kv.Flushed {
		t.Errorf("got mode %v, weakest %v", c.Mode, c.Weakest)
	}
	if len(c.Params) != 2 || c.Params["Cache"] != "64" || c.Params["Log"] != "last" {
		t.Errorf("got params %v", c.Params)
	}
	if c.Logger == nil {
		t.Error("no logger")
	}
}

func TestDefaultsAreTheSafestAndTheFirst(t *testing.T) {
	mustOpen(t, "spy:p")
	if c := theSpy.last.Load(); c.Mode != kv.Exclusive || c.Weakest != kv.Synced || len(c.Params) != 0 ||
		c.Logger == nil {
		t.Errorf("got %+v", c)
	}
}

func TestWrongURLsAreInvalidAndSayWhatIsRight(t *testing.T) {
	for _, c := range []struct {
		url  string
		kind kv.Kind
		hint string
	}{
		{"", kv.Invalid, "ENGINE:PATH"},
		{"p.db", kv.Invalid, "ENGINE:PATH"},
		{"/abs/p.db", kv.Invalid, "ENGINE:PATH"},
		{":p", kv.Invalid, "choose one of these, or import"},
		{"Spy:p", kv.Invalid, "choose one of these, or import"},
		{"nosuch:p", kv.Invalid, "choose one of these, or import"},
		{"spy:", kv.Invalid, "spy:PATH"},
		{"spy://", kv.Invalid, "spy:PATH"},
		{"spy:?Cache=1", kv.Invalid, "spy:PATH"},
		{"spy://host/p", kv.Invalid, "spy:///host/p"},
		{"spy:p%zz", kv.Invalid, "%25"},
		{"spy:p?Cache=%zz", kv.Invalid, "?name=value"},
		{"spy:p?a;b", kv.Invalid, "?name=value"},
		{"spy:p?cache=1", kv.Invalid, "mode, durability, wait, Cache, Log"},
		{"spy:p?mode=rw", kv.Invalid, "exclusive, shared, ro"},
		{"spy:p?durability=yes", kv.Invalid, "synced, flushed, buffered"},
		{"spy:p?wait=long", kv.Invalid, "wait=2s"},
		{"spy:p?wait=3", kv.Invalid, "wait=2s"},
		{"spy:p?mode=shared", kv.Unsupported, "exclusive ro"},
	} {
		tries := theSpy.tries.Load()
		_, err := kv.Open(ctx, c.url)
		wantKind(t, c.url, err, c.kind)
		if hint := kv.HintOf(err); !strings.Contains(hint, c.hint) {
			t.Errorf("%s: %v: got hint %q, want %q in it", c.url, err, hint, c.hint)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "open") {
			t.Errorf("%s: %q does not say what was being done", c.url, err)
		}
		if theSpy.tries.Load() != tries {
			t.Errorf("%s: the engine was asked to open", c.url)
		}
	}
}

func TestNeedsAreChecked(t *testing.T) {
	for _, c := range []struct {
		what string
		need kv.Option
		url  string
		ok   bool
	}{
		{"synced of spy", kv.MustDeliver(kv.Synced), "spy:p", true},
		{"buffered of spy, which delivers more", kv.MustDeliver(kv.Buffered), "spy:p", true},
		{"synced of mem", kv.MustDeliver(kv.Synced), "mem:", false},
		{"buffered of mem", kv.MustDeliver(kv.Buffered), "mem:", true},
		{"read-only of spy", kv.WithMode(kv.ReadOnly), "spy:p", true},
		{"shared of spy", kv.WithMode(kv.Shared), "spy:p", false},
		{"a class that does not exist", kv.MustDeliver(77), "spy:p", false},
	} {
		db, err := kv.Open(ctx, c.url, c.need)
		if c.ok {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
				continue
			}
			_ = db.Close()
			continue
		}
		wantKind(t, c.what, err, kv.Unsupported)
	}
	mustOpen(t, "spy:p?durability=synced&mode=exclusive", kv.WithWeakest(kv.Buffered), kv.WithMode(kv.ReadOnly))
	if c := theSpy.last.Load(); c.Weakest != kv.Buffered || c.Mode != kv.ReadOnly {
		t.Errorf("needs do not override the URL: weakest %v, mode %v", c.Weakest, c.Mode)
	}
}

func TestOpenTriesAgainWhileBusy(t *testing.T) {
	theSpy.tries.Store(0)
	theSpy.busy.Store(3)
	mustOpen(t, "spy:p")
	if got := theSpy.tries.Load(); got != 4 {
		t.Errorf("got %d tries, want 4", got)
	}
}

func TestOpenGivesUpAsBusy(t *testing.T) {
	defer theSpy.busy.Store(0)
	ending, end := context.WithTimeout(ctx, time.Hour)
	defer end()
	for what, open := range map[string]func() (*kv.DB, error){
		"no wait":       func() (*kv.DB, error) { return kv.Open(ctx, "spy:p", kv.WithWait(0)) },
		"negative wait": func() (*kv.DB, error) { return kv.Open(ctx, "spy:p?wait=-1s") },
		"short wait":    func() (*kv.DB, error) { return kv.Open(ctx, "spy:p?wait=20ms") },
		"ending context": func() (*kv.DB, error) {
			go func() {
				for theSpy.tries.Load() < 2 { // until it waits
					time.Sleep(time.Microsecond)
				}
				end()
			}()
			return kv.Open(ending, "spy:p")
		},
	} {
		theSpy.tries.Store(0)
		theSpy.busy.Store(1 << 40)
		_, err := open()
		if what == "ending context" {
			wantKind(t, what, err, kv.Canceled)
		} else {
			wantKind(t, what, err, kv.Busy)
		}
		if kv.HintOf(err) == "" {
			t.Errorf("%s: no hint", what)
		}
		if got := theSpy.tries.Load(); got < 1 || what == "no wait" && got != 1 {
			t.Errorf("%s: %d tries", what, got)
		}
	}
}

func TestOpenWithAnEndedContextIsCanceled(t *testing.T) {
	ended, end := context.WithCancel(ctx)
	end()
	for _, needs := range [][]kv.Option{nil, {kv.WithWait(0)}} {
		_, err := kv.Open(ended, "spy:p", needs...)
		wantKind(t, "open", err, kv.Canceled)
	}
}

func TestOpenNamesEngineAndPathInErrors(t *testing.T) {
	defer theSpy.fail.Store(nil)
	theSpy.fail.Store(&kv.Error{Kind: kv.Corrupt, Err: errors.New("bad page"), Hint: "restore it"})
	_, err := kv.Open(ctx, "spy:some/p.db")
	wantKind(t, "open", err, kv.Corrupt)
	if got, want := err.Error(), "open spy "+filepath.FromSlash("some/p.db")+": corrupt: bad page"; got != want ||
		kv.HintOf(err) != "restore it" {
		t.Errorf("got %q with hint %q, want %q", got, kv.HintOf(err), want)
	}
}

func FuzzOpen(f *testing.F) {
	for _, s := range []string{"spy:p?mode=ro&Cache=1", "spy:///a", "spy:%zz", "mem:", ":", "spy:?;", "spy:p?wait=1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, url string) {
		db, err := kv.Open(ctx, url)
		if err == nil {
			if db.Engine() != "mem" && db.Path() == "" {
				t.Errorf("%q: opened without a path", url)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if k := kv.KindOf(err); k != kv.Invalid && k != kv.Unsupported {
			t.Errorf("%q: %v is %v", url, err, k)
		}
		if kv.HintOf(err) == "" {
			t.Errorf("%q: %v: no hint", url, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"synced", "flushed", "buffered", "exclusive", "shared", "ro", "", "Synced"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := kv.ParseDurability(s); err == nil && d.String() != s {
			t.Errorf("durability %q became %v", s, d)
		} else if err != nil {
			wantKind(t, s, err, kv.Invalid)
		}
		if m, err := driver.ParseMode(s); err == nil && m.String() != s {
			t.Errorf("mode %q became %v", s, m)
		} else if err != nil {
			wantKind(t, s, err, kv.Invalid)
		}
	})
}

// prompt is a driver whose Open ends at once, if that is said, and tells where it ran.
type prompt struct {
	driver.Driver
	at    bool
	stack string
}

func (p *prompt) Prompt(driver.Config) bool { return p.at }

func (p *prompt) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	p.stack = string(debug.Stack())
	return p.Driver.Open(ctx, c)
}

func TestAPromptOpeningTakesNoGoroutine(t *testing.T) {
	mem, _ := driver.Lookup("mem")
	for _, at := range []bool{true, false} {
		p := &prompt{Driver: mem, at: at}
		db, err := kv.OpenDriver(t.Context(), p, driver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if here := strings.Contains(p.stack, t.Name()); here != at {
			t.Errorf("prompt is %v, and Open ran where its caller is: %v", at, here)
		}
	}
}
