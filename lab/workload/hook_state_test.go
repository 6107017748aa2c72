package workload_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
	"github.com/assaydb/assay/stores/state"
)

// changeState runs fn on the entries of a store of the form state, behind the runner's back.
func changeState(t *testing.T, c *hookCell, fn func(tx *state.Tx, entries []state.Entry) error) {
	t.Helper()
	url := c.env.Engine + ":" + filepath.ToSlash(filepath.Join(c.env.Dir, "store"))
	store, err := state.New(url, &state.Options{Buckets: []state.Bucket{{Name: "hook"}}, Durability: c.env.Durability})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.Scan(t.Context(), "hook", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Update(t.Context(), "hook", func(tx *state.Tx) error { return fn(tx, entries) }); err != nil {
		t.Fatal(err)
	}
}

func TestHookHasTheFormStateWhereStateTakesTheEngine(t *testing.T) {
	both, kvAlone := []string{"kv", "state"}, []string{"kv"}
	w, _ := workload.Lookup("hook")
	op, _ := w.Op("get")
	for _, c := range []struct {
		engine, options string
		want            []string
	}{
		{"bbolt", "", both},
		{"bbolt", "NoSync=true", both},
		{"sqlite", "journal_mode=DELETE", both},
		{"pebble", "", both},
		{"bbolt", "wait=5ms", kvAlone}, // state decides that
		{"mem", "", kvAlone},
		{"margaret", "", kvAlone},
	} {
		if got := op.Forms(c.engine, c.options); !slices.Equal(got, c.want) {
			t.Errorf("%s?%s: got forms %q, want %q", c.engine, c.options, got, c.want)
		}
	}
	if shared, _ := w.Op("get_shared_14"); shared.Forms != nil {
		t.Error("state holds no handle open, and should have no form of get_shared_14")
	}
	if _, err := op.New(workload.Env{Engine: "bbolt", Form: "sql"}); !errors.Is(err, kv.Invalid) ||
		!strings.Contains(kv.HintOf(err), "kv or state") {
		t.Errorf("form sql: got %v with the hint %q", err, kv.HintOf(err))
	}
}

func TestHookFindsDamageDoneBehindTheBackOfState(t *testing.T) {
	const i = 42
	damages := map[string]func(tx *state.Tx, e []state.Entry) error{
		"a lost key":      func(tx *state.Tx, e []state.Entry) error { return tx.Delete(e[i].Key) },
		"a lost last key": func(tx *state.Tx, e []state.Entry) error { return tx.Delete(e[len(e)-1].Key) },
		"a changed byte": func(tx *state.Tx, e []state.Entry) error {
			value := bytes.Clone(e[i].Value)
			value[len(value)-1] ^= 1
			return tx.Put(e[i].Key, value)
		},
		"a value of another key": func(tx *state.Tx, e []state.Entry) error { return tx.Put(e[i].Key, e[i+1].Value) },
		"an invented key": func(tx *state.Tx, e []state.Entry) error {
			return tx.Put([]byte("invented"),
				e[i].Value)
		},
	}
	for _, op := range hookOps(t) {
		if op.Forms == nil || op.Workers > 1 { // more processes are verified as one is
			continue
		}
		for name, damage := range damages {
			t.Run(op.Name+"/"+name, func(t *testing.T) {
				if testing.Short() && op.Name != "put" && (name != "a lost last key" || crowd(op)) {
					t.Skip("all operations are verified by the same code: without -short")
				}
				t.Parallel()
				c := newHookCell(t, op.Name, workload.Env{Engine: "bbolt", Form: "state", Durability: kv.Flushed,
					Seed: 2})
				if err := errors.Join(c.do(t.Context(), iterations(op)), c.Verify(t.Context()),
					c.do(t.Context(), iterations(op))); err != nil {
					t.Fatal(err)
				}
				changeState(t, c, damage)
				if c.Verify(t.Context()) == nil {
					t.Error("not found")
				}
			})
		}
	}
}

func TestHookChecksWhatStateReturns(t *testing.T) {
	for _, name := range []string{"get", "put_get", "scan20", "session", "delete_stale", "processes_4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCell(t, name, workload.Env{Engine: "bbolt", Form: "state", Durability: kv.Flushed, Seed: 4})
			if name == "delete_stale" || name == "put_get" { // they write what they read: all the rest is compared after
				changeState(t, c, func(tx *state.Tx, e []state.Entry) error { return tx.Delete(e[0].Key) })
				if err := errors.Join(c.do(t.Context(), 1), c.Verify(t.Context())); err == nil {
					t.Error("a key is gone, and it is not found")
				}
				return
			}
			changeState(t, c, func(tx *state.Tx, e []state.Entry) error {
				for i := range e {
					if err := tx.Put(e[i].Key, e[(i+1)%len(e)].Value); err != nil {
						return err
					}
				}
				return nil
			})
			if err := c.do(t.Context(), 20); err == nil || !strings.Contains(err.Error(), "key") {
				t.Errorf("got %v, want an error about a key", err)
			}
		})
	}
}

func TestHookLooksAtPartOfALargeStoreOfState(t *testing.T) {
	c := newHookCell(t, "put", workload.Env{
		Engine: "bbolt", Form: "state", Durability: kv.Flushed, Seed: 5,
		Params: map[string]string{"keys": "20k", "value": "16"},
	})
	var before []state.Entry
	changeState(t, c, func(_ *state.Tx, e []state.Entry) error { before = e; return nil })
	if len(before) != 20_000 {
		t.Fatalf("%d keys, want 20000", len(before))
	}
	if err := errors.Join(c.do(t.Context(), 5), c.Verify(t.Context()), c.do(t.Context(), 5)); err != nil {
		t.Fatal(err)
	}
	changeState(t, c, func(tx *state.Tx, e []state.Entry) error {
		for i := range e {
			if !bytes.Equal(e[i].Value, before[i].Value) {
				if err := tx.Put(e[i].Key, before[i].Value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if c.Verify(t.Context()) == nil {
		t.Error("the puts were undone, and it is not found")
	}
}
