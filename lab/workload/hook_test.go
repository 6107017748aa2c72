package workload_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/workload"
)

// hookStores are the engines that hook is tested on, with their options.
var hookStores = []struct{ name, engine, options string }{
	{"badger", "badger", ""},
	{"bbolt", "bbolt", ""},
	{"bunt", "bunt", ""},
	{"pebble", "pebble", ""},
	{"sqlite", "sqlite", ""},
	{"sqlite in DELETE mode", "sqlite", "journal_mode=DELETE"},
}

// hookCell is one operation of hook on one store.
type hookCell struct {
	op workload.Op
	workload.Runner
	env workload.Env
}

// newHookCell returns a cell after Setup; it is closed when the test ends.
func newHookCell(t *testing.T, op string, env workload.Env) *hookCell {
	t.Helper()
	w, _ := workload.Lookup("hook")
	c := &hookCell{env: env}
	var ok bool
	if c.op, ok = w.Op(op); !ok {
		t.Fatalf("no operation %s", op)
	}
	c.env.Dir, c.env.Self = t.TempDir(), self(t)
	if op == "storm" || op == "processes" { // 50 at a time take half a minute to open a Badger
		c.env.Params = map[string]string{"n": "6"}
		maps.Copy(c.env.Params, env.Params)
	}
	if c.env.Form == "" {
		c.env.Form = "kv"
	}
	r, err := c.op.New(c.env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Runner = r
	return c
}

// do runs n iterations, each after its Reset, on as many workers as the operation has.
func (c *hookCell) do(ctx context.Context, n int) error {
	if err := c.Prepare(n); err != nil {
		return err
	}
	resetter, _ := c.Runner.(workload.Resetter)
	errs := make(chan error, max(c.op.Workers, 1))
	for worker := range cap(errs) {
		go func() {
			for i := worker; i < n; i += cap(errs) {
				if resetter != nil {
					if err := resetter.Reset(ctx, worker, i); err != nil {
						errs <- err
						return
					}
				}
				if err := c.Do(ctx, worker, i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var err error
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return err
}

// change runs fn on the store behind the runner's back.
func (c *hookCell) change(t *testing.T, fn func(tx *kv.Tx) error) {
	t.Helper()
	url := c.env.Engine + ":" + filepath.ToSlash(filepath.Join(c.env.Dir, "store")) + "?" + c.env.Options
	db, err := kv.Open(t.Context(), url, kv.WithWeakest(c.env.Durability))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(t.Context(), c.env.Durability, fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// pairs returns the store's pairs, in order.
func (c *hookCell) pairs(t *testing.T) (keys, values [][]byte) {
	t.Helper()
	c.change(t, func(tx *kv.Tx) error {
		for k, v := range tx.Scan(kv.Range{}) {
			keys, values = append(keys, slices.Clone(k)), append(values, slices.Clone(v))
		}
		return tx.Err()
	})
	return keys, values
}

func hookOps(t *testing.T) []workload.Op {
	w, ok := workload.Lookup("hook")
	if !ok {
		t.Fatal("no workload hook")
	}
	return w.Ops
}

// crowd reports whether op starts processes.
func crowd(op workload.Op) bool { return op.Name == "storm" || strings.HasPrefix(op.Name, "processes") }

// skipAlike skips operations that start processes as processes_4 does, only more or fewer of them,
// and storm, which has a test of its own.
func skipAlike(t *testing.T, op workload.Op) {
	t.Helper()
	if crowd(op) && op.Name != "processes_4" {
		t.Skip("it differs from processes_4 by a number: without -short, on bbolt")
	}
}

func iterations(op workload.Op) int {
	switch {
	case op.Name == "session":
		return 1
	case op.Workers > 1:
		return 2 * op.Workers
	}
	return 4
}

func TestEveryOperationOfHookWorksOnEveryStore(t *testing.T) {
	eachHookCell(t, func(t *testing.T, store workload.Env, op workload.Op) {
		t.Parallel()
		store.Seed = 1
		c := newHookCell(t, op.Name, store)
		slices := 2
		if op.Items == 100 || testing.Short() && crowd(op) {
			slices = 1 // long enough: some stores take 20 ms to open
		}
		for range slices {
			if err := errors.Join(c.do(t.Context(), iterations(op)), c.Verify(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if d := c.Describe(); !d.Promise.Supported || len(d.Settings) == 0 || d.Open <= 0 {
			t.Errorf("description %+v", d)
		}
		if size, err := c.Size(); err != nil || size.Allocated < 100*128 {
			t.Errorf("size %+v, %v", size, err)
		}
		if err := c.Compact(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Verify(t.Context()); err != nil {
			t.Errorf("after compaction: %v", err)
		}
	})
}

// eachHookCell runs a test of every operation in every form that it has on every store.
func eachHookCell(t *testing.T, run func(t *testing.T, store workload.Env, op workload.Op)) {
	for _, store := range hookStores {
		for _, op := range hookOps(t) {
			forms := []string{"kv"}
			if op.Forms != nil {
				forms = op.Forms(store.engine, store.options)
			}
			for _, form := range forms {
				t.Run(store.name+"/"+form+"/"+op.Name, func(t *testing.T) {
					if testing.Short() && store.name != "bbolt" && store.name != "sqlite" {
						t.Skip("an operation does the same on every store: without -short")
					}
					if testing.Short() && form == "state" && op.Workers > 1 && store.engine != "bbolt" {
						t.Skip("the form kv is like it, and takes as long: without -short")
					}
					if testing.Short() || form != "kv" || store.engine != "bbolt" {
						skipAlike(t, op)
					}
					run(t, workload.Env{Engine: store.engine, Options: store.options, Form: form,
						Durability: kv.Flushed}, op)
				})
			}
		}
	}
}

// A store that loses or changes what was written must not get a time.
func TestHookFindsDamageDoneBehindItsBack(t *testing.T) {
	damages := map[string]func(tx *kv.Tx, key, value []byte) error{
		"a lost key": func(tx *kv.Tx, key, _ []byte) error { return tx.Delete(key) },
		"a changed byte": func(tx *kv.Tx, key, value []byte) error {
			value[len(value)-1] ^= 1
			return tx.Put(key, value)
		},
		"a lost last key": func(tx *kv.Tx, _, _ []byte) error {
			var last []byte
			for k := range tx.Scan(kv.Range{Reverse: true}) {
				last = slices.Clone(k)
				break
			}
			return tx.Delete(last)
		},
		"an invented key like the others": func(tx *kv.Tx, _, value []byte) error {
			return tx.Put(kv.AppendUint64(kv.AppendUint64(nil, 5), 100), value)
		},
		"an invented key": func(tx *kv.Tx, _, value []byte) error { return tx.Put([]byte("invented"), value) },
		"a value of another key": func(tx *kv.Tx, key, _ []byte) error {
			var other []byte
			for k, v := range tx.Scan(kv.Range{}) {
				if string(k) != string(key) {
					other = slices.Clone(v)
				}
			}
			return tx.Put(key, other)
		},
	}
	for _, op := range hookOps(t) {
		for name, damage := range damages {
			t.Run(op.Name+"/"+name, func(t *testing.T) {
				if op.Name != "put" && name != "a lost last key" && (testing.Short() || name != "a changed byte") {
					t.Skip("all operations are verified by the same code")
				}
				if testing.Short() && op.Name != "put" && crowd(op) {
					t.Skip("one that starts processes takes long: without -short")
				}
				skipAlike(t, op)
				t.Parallel()
				c := newHookCell(t, op.Name, workload.Env{Engine: "sqlite", Durability: kv.Flushed, Seed: 2})
				if err := errors.Join(c.do(t.Context(), iterations(op)), c.Verify(t.Context())); err != nil {
					t.Fatal(err)
				}
				if err := c.do(t.Context(), iterations(op)); err != nil {
					t.Fatal(err)
				}
				keys, values := c.pairs(t)
				const i = 42
				c.change(t, func(tx *kv.Tx) error { return damage(tx, keys[i], values[i]) })
				if c.Verify(t.Context()) == nil {
					t.Error("not found")
				}
			})
		}
	}
}

func TestHookFindsAnUpdateThatWasUndone(t *testing.T) {
	for _, op := range hookOps(t) {
		if !op.Commits {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			skipAlike(t, op)
			t.Parallel()
			c := newHookCell(t, op.Name, workload.Env{Engine: "sqlite", Durability: kv.Flushed, Seed: 3})
			keys, values := c.pairs(t)
			n := iterations(op)
			if strings.HasPrefix(op.Name, "processes") {
				n = 28 // so that one puts and is not killed
			}
			if err := c.do(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			c.change(t, func(tx *kv.Tx) error {
				for i := range keys {
					if err := tx.Put(keys[i], values[i]); err != nil {
						return err
					}
				}
				return nil
			})
			if c.Verify(t.Context()) == nil {
				t.Error("not found")
			}
		})
	}
}

// What a reading operation returns is checked at once, not only after the slice.
func TestHookChecksWhatItReads(t *testing.T) {
	for _, name := range []string{"get", "scan20", "session", "get_shared_14", "scan20_shared", "processes_4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCell(t, name, workload.Env{
				Engine: "sqlite", Durability: kv.Flushed, Seed: 4, Params: map[string]string{"keys": "10"},
			})
			keys, values := c.pairs(t)
			c.change(t, func(tx *kv.Tx) error {
				for i := range keys {
					if err := tx.Put(keys[i], values[(i+1)%len(keys)]); err != nil {
						return err
					}
				}
				return nil
			})
			err := c.do(t.Context(), 20)
			if err == nil || !strings.Contains(err.Error(), "key") {
				t.Errorf("got %v, want an error about a key", err)
			}
		})
	}
}

// BuntDB's file grows with every put, and it reads all of it to open it: so its store is made
// again.
func TestHookMakesItsStoreAgain(t *testing.T) {
	for _, form := range []string{"kv", "state"} {
		c := newHookCell(t, "put", workload.Env{Engine: "bunt", Form: form, Durability: kv.Flushed,
			Params: map[string]string{"keys": "50"}})
		r := c.Runner.(workload.Restorer)
		if got := r.Every(); got != 50 {
			t.Errorf("%s: made again after %d puts, want as many as there are keys", form, got)
		}
		size := func() int64 {
			s, err := c.Size()
			if err != nil {
				t.Fatal(err)
			}
			return s.Apparent
		}
		loaded := size()
		if err := c.do(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
		if size() <= loaded {
			t.Fatalf("%s: 50 puts and the file is no larger: nothing is shown", form)
		}
		if err := r.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := size(); got != loaded {
			t.Errorf("%s: made again it takes %d bytes, loaded %d", form, got, loaded)
		}
		if err := c.do(t.Context(), 3); err != nil {
			t.Errorf("%s: after it was made again: %v", form, err)
		}
	}
	if r := newHookCell(t, "get", workload.Env{Engine: "bunt",
		Durability: kv.Flushed}).Runner.(workload.Restorer); r.Every() != 0 {
		t.Errorf("reads make the store again after %d", r.Every())
	}
}

func TestHookMissesTheLastKeyOfAScan(t *testing.T) {
	for seed, name := range []string{"scan20", "scan20_shared", "delete_stale", "delete_stale", "delete_stale",
		"delete_stale"} {
		c := newHookCell(t, name, workload.Env{
			Engine: "sqlite", Durability: kv.Flushed, Seed: uint64(seed), Params: map[string]string{"keys": "20"},
		})
		keys, _ := c.pairs(t)
		if err := c.Prepare(1); err != nil {
			t.Fatal(err)
		}
		if r, ok := c.Runner.(workload.Resetter); ok {
			if err := r.Reset(t.Context(), 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		c.change(t, func(tx *kv.Tx) error { return tx.Delete(keys[19]) })
		if err := c.Do(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "scan") {
			t.Errorf("%s with seed %d: got %v, want an error about the scan", name, seed, err)
		}
	}
}

func TestHookLooksAtPartOfALargeStore(t *testing.T) {
	c := newHookCell(t, "put", workload.Env{
		Engine: "bbolt", Durability: kv.Flushed, Seed: 5, Params: map[string]string{"keys": "20k", "value": "16"},
	})
	keys, values := c.pairs(t)
	if err := errors.Join(c.do(t.Context(), 5), c.Verify(t.Context()), c.do(t.Context(), 5)); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 20_000 {
		t.Fatalf("%d keys, want 20000", len(keys))
	}
	now, changed := c.pairs(t)
	c.change(t, func(tx *kv.Tx) error {
		for i := range now {
			if string(changed[i]) != string(values[i]) {
				if err := tx.Delete(now[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if c.Verify(t.Context()) == nil {
		t.Error("the keys that were put are gone, and it is not found")
	}
}

func TestHookTakesStoresOfOddSizes(t *testing.T) {
	for _, keys := range []string{"1", "10", "19", "21", "110"} {
		for _, name := range []string{"scan20", "delete_stale", "session"} {
			c := newHookCell(t, name, workload.Env{
				Engine: "bbolt", Durability: kv.Flushed, Seed: 6,
				Params: map[string]string{"keys": keys, "value": "77"},
			})
			if err := errors.Join(c.do(t.Context(), 3), c.Verify(t.Context())); err != nil {
				t.Errorf("%s of %s keys: %v", name, keys, err)
			}
		}
	}
}

func TestHookRefusesWrongParameters(t *testing.T) {
	w, _ := workload.Lookup("hook")
	for name, value := range map[string]string{"keys": "0", "value": "8"} {
		for _, op := range w.Ops {
			_, err := op.New(workload.Env{Dir: t.TempDir(), Engine: "bbolt", Self: self(t),
				Params: map[string]string{name: value}})
			if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
				t.Errorf("%s with %s=%s: got %v, want an error with a hint", op.Name, name, value, err)
			}
		}
	}
	for _, value := range []string{"", "x", "-1", "1.5", "1K", "k", "10000000000000000000", "101M"} {
		if _, err := w.Ops[0].New(workload.Env{Engine: "bbolt",
			Params: map[string]string{"keys": value}}); !errors.Is(err, kv.Invalid) {
			t.Errorf("keys=%q: got %v, want an error", value, err)
		}
	}
}

func TestHookRefusesAStoreThatDoesNotOutliveAClose(t *testing.T) {
	w, _ := workload.Lookup("hook")
	for _, op := range w.Ops {
		r, err := op.New(workload.Env{Dir: t.TempDir(), Engine: "mem", Durability: kv.Buffered, Self: self(t)})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Setup(t.Context())
		if strings.Contains(op.Name, "shared") {
			if err = errors.Join(err, r.Close()); err != nil {
				t.Errorf("%s: %v", op.Name, err)
			}
		} else if !errors.Is(err, kv.Unsupported) {
			t.Errorf("%s: got %v, want unsupported", op.Name, err)
		}
	}
}

func TestHookReadsWithoutAllocating(t *testing.T) {
	for _, op := range []string{"get_shared_14", "scan20_shared"} {
		r := newHookCell(t, op, workload.Env{Engine: "mem", Durability: kv.Buffered, Seed: 7})
		const runs = 1000
		if err := r.Prepare(runs + 2); err != nil {
			t.Fatal(err)
		}
		ctx, i := context.Background(), 0
		allocs := testing.AllocsPerRun(runs, func() {
			if err := r.Do(ctx, 0, i); err != nil {
				t.Fatal(err)
			}
			i++
		})
		if allocs > 1 { // a scan of the reference engine allocates its cursor
			t.Errorf("%s: %v allocations", op, fmt.Sprint(allocs))
		}
	}
}
