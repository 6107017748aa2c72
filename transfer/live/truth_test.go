package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer/live"
)

// TestViewsReadTheTruth: whoever reads alone, one View after the other, reads the store that is the
// truth now, also where that of before lets its readers be used again.
func TestViewsReadTheTruth(t *testing.T) {
	for _, c := range []struct{ from, to, options string }{{"pebble", "bbolt", ""}, {"leveldb", "sqlite", "?compare=false"},
		{"badger", "bunt", ""}, {"bunt", "pebble", ""}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			dir, old, new := urls(t, c.from, c.to)
			fill(t, old, 100)
			compare := c.options == ""
			db, err := kv.Open(t.Context(), fmt.Sprintf("%s:%s?old=%s&new=%s&compare=%v", live.Engine, dir, old, new, compare))
			must(t, err)
			t.Cleanup(func() { _ = db.Close() })
			s, err := live.Of(db)
			must(t, err)
			n := 0
			check := func(phase live.Phase) {
				t.Helper()
				n++
				key, value := []byte("last"), fmt.Append(nil, n)
				must(t, db.Put(t.Context(), kv.Synced, key, value))
				for range 3 {
					must(t, db.View(t.Context(), func(v *kv.Snapshot) error {
						if got, err := v.Get(key); err != nil || string(got) != string(value) {
							t.Errorf("in phase %v a View reads %q, %v, want %q", phase, got, err, value)
						}
						return nil
					}))
				}
			}
			check(live.Shadowed)
			for _, phase := range []live.Phase{live.Flipped, live.Shadowed, live.Flipped, live.Dropped} {
				must(t, s.Move(t.Context(), phase))
				check(phase)
			}
			must(t, db.Close())
		})
	}
}

// TestPlaces: two stores of a switch lie apart, and in no other store's folder.
func TestPlaces(t *testing.T) {
	at := t.TempDir()
	path := func(name string) string { return filepath.Join(at, filepath.FromSlash(name)) }
	fill(t, "pebble:"+path("data"), 1)
	if err := os.Symlink(at, path("link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, c := range []struct{ name, dir, old, new string }{
		{"one store by two names", path("switch"), "sqlite:" + path("none"), "sqlite:" + path("link/none")},
		{"new within old", path("switch"), "pebble:" + path("data"), "bbolt:" + path("data/new")},
		{"old within new", path("switch"), "bbolt:" + path("some/old"), "pebble:" + path("some")},
		{"a switch within a store", path("data/switch"), "bbolt:" + path("app"), "bbolt:" + path("new")},
		{"new within a third store", path("switch"), "bbolt:" + path("app"), "bbolt:" + path("data/new")},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := live.Open(t.Context(), c.dir, c.old, c.new)
			if err == nil {
				must(t, db.Close())
			}
			if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
				t.Errorf("got %v, want Invalid with a hint", err)
			}
		})
	}
}

// full is the engine "full": bbolt on a disk that has no room.
type full struct{ bboltkv.Driver }

func (d full) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "full"
	return info
}

func (full) Open(context.Context, driver.Config) (driver.Store, error) {
	return nil, &driver.Error{Kind: driver.Full, Err: errors.New("no room")}
}

// TestAnotherURLAfterAFailure: where the new store cannot be made, no switch was.
func TestAnotherURLAfterAFailure(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "pebble")
	want := fill(t, old, 10)
	if db, err := live.Open(t.Context(), dir, old, "full:"+dir+".new"); !errors.Is(err, kv.Full) {
		t.Fatalf("a store where there is no room: %v, %v", db, err)
	}
	db, s := open(t, dir, old, new)
	must(t, s.Move(t.Context(), live.Flipped))
	must(t, db.Close())
	holds(t, new, want)
}

// silent is the engine "silent": bbolt on another machine, as far as it says, that does not answer
// any more once it was asked to.
type silent struct{ bboltkv.Driver }

func init() {
	driver.Register(full{})
	driver.Register(silent{})
	driver.Register(hooked{})
}

func (d silent) Info() driver.Info {
	info := d.Driver.Info()
	info.Name, info.Caps.Remote, info.Caps.Folder = "silent", true, false
	return info
}

func (d silent) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return silentStore{s}, err
}

type silentStore struct{ driver.Store }

// hush is the key that takes the store's voice.
const hush = "hush"

func (s silentStore) Caps() driver.Caps {
	caps := s.Store.Caps()
	caps.Remote = true
	return caps
}

func (s silentStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if _, ends := ctx.Deadline(); string(ops[0].Key) == hush {
		if !ends {
			return errors.New("this would be waited for for ever")
		}
		return fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	}
	return driver.InSteps(ctx, s.Store, ops, d)
}

// TestAShadowThatDoesNotAnswer keeps writers waiting once, and not for ever.
func TestAShadowThatDoesNotAnswer(t *testing.T) {
	dir, old, new := urls(t, "sqlite", "silent")
	want := fill(t, old, 100)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, err)
	for _, key := range []string{"before", hush, "after"} {
		must(t, db.Put(t.Context(), kv.Synced, []byte(key), nil))
		want[key] = ""
	}
	st := s.Status()
	if st.Missed != 1 || st.InStep || st.Err == nil || !strings.Contains(st.Err.Error(), "did not answer") {
		t.Errorf("%+v", st)
	}
	if err := s.Move(t.Context(), live.Flipped); !errors.Is(err, kv.Stopped) {
		t.Errorf("a move to a store that does not answer: %v", err)
	}
	must(t, db.Close())
	holds(t, old, want)
}

// hooked is the engine "hooked": bbolt that calls a function before each Snapshot.
type hooked struct{ bboltkv.Driver }

func (d hooked) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "hooked"
	return info
}

func (d hooked) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return hookedStore{s}, err
}

var hook atomic.Pointer[func()]

type hookedStore struct{ driver.Store }

func (s hookedStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	if call := hook.Load(); call != nil {
		(*call)()
	}
	return s.Store.Snapshot(ctx)
}

// TestWhatTheShadowMissedIsNoDifference: a pass over both that finds what the shadow is known to
// lack counts it as mended alone.
func TestWhatTheShadowMissedIsNoDifference(t *testing.T) {
	dir, old, new := urls(t, "pebble", "hooked")
	fill(t, old, 20_000)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, err)
	long := append([]byte("z"), make([]byte, 40_000)...) // bbolt takes 32,768
	written, steps := make(chan error, 1), 0
	amid := func() {
		if steps++; steps != 3 {
			return
		}
		go func() {
			var b kv.Batch
			b.Put([]byte("y"), nil)
			b.Put(long, nil)
			written <- db.Write(t.Context(), kv.Flushed, &b)
		}()
		time.Sleep(100 * time.Millisecond) // so that it waits for this step to end; nothing fails if it does not
	}
	hook.Store(&amid)
	_, err = s.Compare(t.Context())
	hook.Store(nil)
	if err != nil && !errors.Is(err, kv.TooLarge) {
		t.Fatal(err)
	}
	must(t, <-written)
	must(t, db.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
		return errors.Join(tx.Delete([]byte("y")), tx.Delete(long))
	}))
	if _, err := s.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.Differing != 0 || st.Missed == 0 || !st.InStep {
		t.Errorf("%+v, want no differences", st)
	}
}

// TestADamagedTruthTakesNothingFromTheShadow: Badger's cursors end at a block that they cannot
// read, as if nothing came behind it.
func TestADamagedTruthTakesNothingFromTheShadow(t *testing.T) {
	dir, old, new := urls(t, "badger", "bbolt")
	want := fill(t, old, 5000)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, errors.Join(err, db.Close()))
	path, err := kv.PathOf(old)
	must(t, err)
	tables, err := filepath.Glob(filepath.Join(path, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		data, err := os.ReadFile(name)
		must(t, err)
		clear(data[len(data)/3 : len(data)/3*2])
		must(t, os.WriteFile(name, data, 0o600))
	}
	db, s = open(t, dir, "", "")
	if st, err := s.Compare(t.Context()); !errors.Is(err, kv.Corrupt) || st.InStep {
		t.Errorf("compared with a damaged truth: %+v, %v", st, err)
	}
	if err := s.Move(t.Context(), live.Flipped); !errors.Is(err, kv.Corrupt) {
		t.Errorf("moved: %v", err)
	}
	must(t, db.Close())
	holds(t, new, want)
}
