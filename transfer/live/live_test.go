package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
	"github.com/assaydb/assay/transfer/live"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// urls returns those of two stores and the path of a switch in a new folder.
func urls(t *testing.T, from, to string) (dir, old, new string) {
	t.Helper()
	at := t.TempDir()
	return filepath.Join(at, "switch"), from + ":" + filepath.Join(at, "old"), to + ":" + filepath.Join(at, "new")
}

// open opens a switch, which is closed with the test.
func open(t *testing.T, dir, old, new string, options ...kv.Option) (*kv.DB, *live.Switch) {
	t.Helper()
	db, err := live.Open(t.Context(), dir, old, new, options...)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	s, err := live.Of(db)
	must(t, err)
	return db, s
}

// fill makes a store of n pairs.
func fill(t *testing.T, rawURL string, n int) map[string]string {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	must(t, err)
	want := map[string]string{}
	var b kv.Batch
	for i := range n {
		k, v := fmt.Sprintf("before/%06d", i), strings.Repeat("v", i%300)
		want[k] = v
		b.Put([]byte(k), []byte(v))
	}
	must(t, errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()))
	return want
}

// holds fails unless the store at rawURL has these pairs and no others.
func holds(t *testing.T, rawURL string, want map[string]string) {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	must(t, err)
	got := map[string]string{}
	must(t, db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			got[string(k)] = string(v)
		}
		return nil
	}))
	must(t, db.Close())
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if v, ok := got[k]; !ok || v != want[k] {
			t.Fatalf("%s: %q is %q, %v, want %q; %d pairs, want %d", rawURL, k, v, ok, want[k], len(got), len(want))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s holds %d pairs, want %d", rawURL, len(got), len(want))
	}
}

// writers change a store until they are stopped, each its own keys, and know what must be there.
type writers struct {
	t     *testing.T
	group *errgroup.Group
	stop  context.CancelFunc
	mu    sync.Mutex
	moved *sync.Cond
	done  []int // commits of each
	want  map[string]string
}

func startWriters(t *testing.T, db *kv.DB, n int, want map[string]string) *writers {
	ctx, stop := context.WithCancel(t.Context())
	w := &writers{t: t, stop: stop, done: make([]int, n), want: want}
	w.moved = sync.NewCond(&w.mu)
	w.group, ctx = errgroup.WithContext(ctx)
	for id := range n {
		w.group.Go(func() error {
			err := w.write(ctx, db, id)
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.done[id] = -1
			}
			w.moved.Broadcast()
			return err
		})
	}
	return w
}

func (w *writers) write(ctx context.Context, db *kv.DB, id int) error {
	r := rand.New(rand.NewPCG(uint64(id), 0))
	for n := 0; ctx.Err() == nil; n++ {
		changes := map[string]string{} // "-" deletes
		for range 1 + r.IntN(8) {
			k := fmt.Sprintf("w%d/%03d", id, r.IntN(300))
			changes[k] = strings.Repeat(string(rune('a'+n%26)), r.IntN(200))
			if r.IntN(4) == 0 {
				changes[k] = "-"
			}
		}
		if err := commit(db, []kv.Durability{kv.Synced, kv.Flushed}[n%2], n, changes); err != nil {
			return err
		}
		w.mu.Lock()
		for k, v := range changes {
			if w.want[k] = v; v == "-" {
				delete(w.want, k)
			}
		}
		w.done[id]++
		w.moved.Broadcast()
		w.mu.Unlock()
	}
	return nil
}

// commit makes changes, by an Update or a Write.
func commit(db *kv.DB, class kv.Durability, n int, changes map[string]string) error {
	if n%2 == 0 {
		return db.Update(context.Background(), class, func(tx *kv.Tx) (err error) {
			for k, v := range changes {
				if v == "-" {
					err = errors.Join(err, tx.Delete([]byte(k)))
				} else {
					err = errors.Join(err, tx.Put([]byte(k), []byte(v)))
				}
			}
			return err
		})
	}
	var b kv.Batch
	for k, v := range changes {
		if v == "-" {
			b.Delete([]byte(k))
		} else {
			b.Put([]byte(k), []byte(v))
		}
	}
	return db.Write(context.Background(), class, &b)
}

// more waits until each writer has made n more commits.
func (w *writers) more(n int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	want := slices.Clone(w.done)
	for i := range want {
		for w.done[i] >= 0 && w.done[i] < want[i]+n {
			w.moved.Wait()
		}
	}
}

func (w *writers) end() map[string]string {
	w.t.Helper()
	w.stop()
	must(w.t, w.group.Wait())
	return w.want
}

// TestSwitchesWhileWritersWork fills a new store, flips, goes back, flips again and drops, while
// four writers never stop.
func TestSwitchesWhileWritersWork(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"bbolt", "pebble"}, {"sqlite", "badger"}, {"leveldb", "bunt"},
		{"bunt", "bbolt"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			if testing.Short() && c.from != "bbolt" && c.from != "leveldb" {
				t.Skip("it is the same on all engines: without -short")
			}
			dir, old, new := urls(t, c.from, c.to)
			want := fill(t, old, 20_000)
			db, s := open(t, dir, old, new)
			w := startWriters(t, db, 4, want)
			for _, phase := range []live.Phase{live.Flipped, live.Shadowed, live.Flipped} {
				w.more(10)
				must(t, s.Move(t.Context(), phase))
				if st := s.Status(); st.Phase != phase || !st.InStep {
					t.Fatalf("after the move to %v: %+v", phase, st)
				}
			}
			w.more(10)
			st, err := s.Compare(t.Context())
			must(t, err)
			if st.Differing != 0 || st.Missed != 0 || st.Err != nil || st.Mended < 20_000 || st.Compared < 4*20_000 {
				t.Errorf("status %+v", st)
			}
			w.mu.Lock()
			before := maps.Clone(w.want)
			w.mu.Unlock()
			must(t, s.Move(t.Context(), live.Dropped))
			w.more(10)
			after := w.end()
			must(t, db.Close())
			holds(t, new, after)
			if maps.Equal(before, after) {
				t.Error("nothing was written after the old store was dropped")
			}
		})
	}
}

// TestBothHoldTheSame: a switch that is closed in step leaves two equal stores, and the next
// opening does not compare them.
func TestBothHoldTheSame(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "pebble")
	want := fill(t, old, 1000)
	db, s := open(t, dir, old, new)
	w := startWriters(t, db, 3, want)
	w.more(5)
	if _, err := s.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.more(5)
	w.end()
	if st := s.Status(); !st.InStep {
		t.Errorf("not in step: %+v", st)
	}
	must(t, db.Close())
	holds(t, old, want)
	holds(t, new, want)
	db, s = open(t, dir, "", "")
	if st := s.Status(); !st.InStep || st.Mended != 0 {
		t.Errorf("opened again: %+v", st)
	}
	for k, v := range want {
		got, err := db.Get(t.Context(), []byte(k))
		if err != nil || string(got) != v {
			t.Fatal(k, err)
		}
	}
	must(t, db.View(t.Context(), func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{Reverse: true}) {
		}
		for range s.Keys(kv.Range{}) {
		}
		return nil
	}))
	if st := s.Status(); st.Compared != int64(3*len(want)) || st.Differing != 0 {
		t.Errorf("after %d pairs were read three times: %+v", len(want), st)
	}
}

func TestPhases(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "pebble")
	want := fill(t, old, 10)
	at := func(phase string) (*kv.DB, error) {
		return kv.Open(t.Context(), live.Engine+":"+dir+"?old="+old+"&new="+new+"&phase="+phase, kv.WithWait(0))
	}
	for _, c := range []struct {
		phase string
		kind  error
	}{
		{"dropped", kv.Invalid}, {"flipped", nil}, {"shadowed", nil}, {"lost", kv.Invalid}, {"flipped", nil},
		{"flipped", nil},
		{"dropped", nil}, {"dropped", nil}, {"flipped", kv.Invalid}, {"shadowed", kv.Invalid},
	} {
		db, err := at(c.phase)
		if c.kind != nil {
			if !errors.Is(err, c.kind) || kv.HintOf(err) == "" {
				t.Fatalf("to %s: %v, want %v and a hint", c.phase, err, c.kind)
			}
			t.Log(err)
			continue
		}
		must(t, err)
		s, err := live.Of(db)
		must(t, err)
		if got := s.Status().Phase.String(); got != c.phase {
			t.Errorf("in phase %s, want %s", got, c.phase)
		}
		k := "in " + c.phase
		must(t, errors.Join(db.Put(t.Context(), kv.Synced, []byte(k), nil), db.Close()))
		want[k] = ""
	}
	holds(t, new, want)
	delete(want, "in dropped")
	holds(t, old, want)
}

func TestRefusals(t *testing.T) {
	_, old, new := urls(t, "bbolt", "pebble")
	fill(t, old, 10)
	fill(t, new, 1)
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.MkdirAll(filepath.Join(other, "something"), 0o700))
	made, _, _ := urls(t, "", "")
	db, _ := open(t, made, old, "pebble:")
	if second, err := live.Open(t.Context(), made, "", "", kv.WithWait(0)); !errors.Is(err, kv.Busy) {
		t.Errorf("opened twice: %v, %v", second, err)
	}
	must(t, db.Close())
	for _, c := range []struct {
		name, dir, old, new string
		options             []kv.Option
		kind                kv.Kind
	}{
		{"a new store that holds something", "", old, new, nil, kv.Invalid},
		{"a store and itself", "", old, old, nil, kv.Invalid},
		{"no new store", "", old, "", nil, kv.Invalid},
		{"an unknown engine", "", old, "nosuch:", nil, kv.Invalid},
		{"an unknown option", "", old, "pebble:?nosuch=1", nil, kv.Invalid},
		{"an old store of another engine", "", strings.Replace(old, "bbolt:", "sqlite:", 1), "pebble:", nil,
			kv.Invalid},
		{"a switch of a switch", "", old, "switch:", nil, kv.Invalid},
		{"a folder that holds something else", other, old, "pebble:", nil, kv.Invalid},
		{"another old store than at first", made, "bbolt:", "", nil, kv.Invalid},
		{"nothing to read", "", "", "", []kv.Option{kv.WithMode(kv.ReadOnly)}, kv.NoStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir
			if dir == "" {
				dir = filepath.Join(t.TempDir(), "switch")
			}
			db, err := live.Open(t.Context(), dir, c.old, c.new, c.options...)
			if err == nil {
				must(t, db.Close())
			}
			if !errors.Is(err, c.kind) {
				t.Fatalf("got %v, want %v", err, c.kind)
			}
			t.Log(err)
			if _, err := os.Lstat(filepath.Join(dir, "switch.json")); err == nil && c.dir == "" {
				t.Error("a switch was made")
			}
		})
	}
	holds(t, new, map[string]string{"before/000000": ""})
	db, err := kv.Open(t.Context(), old)
	must(t, err)
	if _, err := live.Of(db); !errors.Is(err, kv.Invalid) {
		t.Errorf("Of a plain store: %v", err)
	}
	must(t, db.Close())
}

// TestReadOnly reads the truth and changes nothing, also where the switch was not closed in step.
func TestReadOnly(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "pebble")
	want := fill(t, old, 50)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, errors.Join(err, db.Close()))
	db, s = open(t, dir, "", "", kv.WithMode(kv.ReadOnly))
	for k, v := range want {
		if got, err := db.Get(t.Context(), []byte(k)); err != nil || string(got) != v {
			t.Fatal(k, err)
		}
	}
	if err := s.Move(t.Context(), live.Flipped); !errors.Is(err, kv.Invalid) {
		t.Errorf("moved read-only: %v", err)
	}
	must(t, db.Close())
	_, s = open(t, dir, "", "")
	if !s.Status().InStep {
		t.Error("reading took the switch out of step")
	}
}

// equal fails unless both stores hold the same.
func equal(t *testing.T, a, b string) error {
	c, err := transfer.Verify(t.Context(), a, b, nil)
	if err == nil && c.Differing > 0 {
		err = fmt.Errorf("%d pairs of %s and %s differ: %+v", c.Differing, a, b, c.First)
	}
	return err
}
