// Package frame is what the conformance suites of stores have in common.
package frame

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// Target is what a suite knows of every implementation under test.
type Target struct {
	Delivers  map[kv.Durability]kv.Durability // what a commit of each class that may be asked for is delivered as
	Volatile  bool                            // nothing outlives closing
	Processes bool                            // several processes may have it open
	MaxValue  int                             // bytes of a value of kv; 0 is no limit
	Brief     bool                            // under -short only what outlives its closing is tried

	// Settle waits until nothing is under way any more that killed processes had begun. Nil where
	// that ends with them: a server may commit what it got of a client that is gone.
	Settle func(ctx context.Context) error
}

// thorough are the engines on which everything is tried under -short, too: one in memory, one whose
// transactions meet others, one with a lock for the whole store, and SQLite.
var thorough = []string{"mem", "mem-aborts", "bbolt", "sqlite"}

// alike are the engines that -short leaves out: what a store does with pairs is the same on them.
var alike = []string{"badger", "bunt", "leveldb", "pebble"}

// SkipAlike skips a test on an engine that -short leaves out.
func SkipAlike(t *testing.T, engine string) {
	t.Helper()
	if testing.Short() && slices.Contains(alike, engine) {
		t.Skipf("a store does the same on %s as on others: without -short", engine)
	}
}

// Probe opens the store of kv that url names, a new one, and returns what it promises. It skips the
// test as [SkipAlike] does.
func Probe(t *testing.T, url string) Target {
	t.Helper()
	engine, _, _ := strings.Cut(url, ":")
	SkipAlike(t, engine)
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	caps := db.Caps()
	target := Target{Delivers: map[kv.Durability]kv.Durability{}, Volatile: !caps.Persistent,
		Processes: db.Mode() == kv.Shared, MaxValue: caps.MaxValue, Brief: !slices.Contains(thorough, engine)}
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered} {
		if p := caps.Promise(d); p.Supported {
			target.Delivers[d] = p.Class
		}
	}
	return target
}

// Open opens the store of kv that url names, and what open makes over it. closeAll closes both.
func Open[S io.Closer](url string, open func(context.Context, *kv.DB) (S, error)) (s S, closeAll func() error,
	err error) {
	ctx := context.Background()
	db, err := kv.Open(ctx, url, kv.WithWait(Patience))
	if err != nil {
		return s, nil, err
	}
	if s, err = open(ctx, db); err != nil {
		return s, nil, errors.Join(err, db.Close())
	}
	return s, func() error { return errors.Join(s.Close(), db.Close()) }, nil
}

// Classes returns the classes that may be asked for, the strongest first.
func (t Target) Classes() []kv.Durability { return slices.Sorted(maps.Keys(t.Delivers)) }

// Case is a case of a suite. Its name is the sentence that it proves.
type Case[S any] struct {
	Name      string
	Run       func(s S)
	Reopens   bool // needs what outlives its closing
	Processes bool // needs what several processes may open
}

// Run runs cases, each on a suite of its own, which begin makes, beside those of other targets:
// much of the time is waiting for syncs.
func Run[S any](t *testing.T, target Target, cases []Case[S], begin func(Suite) S) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			switch {
			case c.Reopens && target.Volatile:
				t.Skip("nothing outlives its closing")
			case c.Processes && !target.Processes:
				t.Skip("one process at a time may have it open")
			case target.Brief && testing.Short() && !c.Reopens && !c.Processes:
				t.Skip("it is tried on other engines: without -short")
			}
			c.Run(begin(Suite{T: t, Target: target, Class: slices.Max(target.Classes())}))
		})
	}
}

// Suite is one running case.
type Suite struct {
	*testing.T
	Target
	Class kv.Durability // the cheapest
}

// Patience is how long anything may take; only a hang lasts as long.
const Patience = time.Minute

// Ctx returns a context that ends after Patience.
func (s *Suite) Ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	s.Cleanup(cancel)
	return ctx
}

// Killed is called when a process was killed, before anybody looks what it has left.
func (s *Suite) Killed() {
	s.Helper()
	if s.Settle != nil {
		s.Must("wait for the end of what a killed process had begun", s.Settle(s.Ctx()))
	}
}

// Must ends the case if err is an error of what was done.
func (s *Suite) Must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// WantKind checks that err is an error of a kind.
func (s *Suite) WantKind(what string, err error, kind kv.Kind) {
	s.Helper()
	if err == nil || kv.KindOf(err) != kind {
		s.Errorf("%s: got error %v, want %v", what, err, kind)
	}
}

// Closing returns a function that closes something once, and calls it when the case ends.
func (s *Suite) Closing(closer func() error) (closeAll func()) {
	closeAll = sync.OnceFunc(func() {
		if err := closer(); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	s.Cleanup(closeAll)
	return closeAll
}

// AtALock is a tracer that ends a context when a call begins to wait for what another one holds.
type AtALock struct{ end func() }

// Start implements kv.Tracer.
func (a *AtALock) Start(ctx context.Context, op string) context.Context {
	if op == "lock" && a.end != nil {
		a.end()
	}
	return ctx
}

// End implements kv.Tracer.
func (*AtALock) End(context.Context, kv.Event) {}

// WantCanceled makes calls of a store that has the tracer a while another opening of url writes,
// which several may have open: each ends with its context, and says so.
func (a *AtALock) WantCanceled(t *testing.T, url string, calls map[string]func(context.Context) error) {
	t.Helper()
	other, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin(t.Context(), kv.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for name, call := range calls {
		ctx, end := context.WithCancel(t.Context())
		a.end = end
		if err := call(ctx); kv.KindOf(err) != kv.Canceled || ctx.Err() == nil {
			t.Errorf("%s: got %v, want canceled", name, err)
		}
		end()
	}
	a.end = nil
}
