package keyspace_test

import (
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/state"
)

type user struct{ ID int64 }

// opening opens a store of each kind in db, and returns what closes it.
var opening = map[string]func(t *testing.T, db *kv.DB) (func() error, error){
	"log": func(t *testing.T, db *kv.DB) (func() error, error) {
		log, err := eventlog.Open(t.Context(), db, nil)
		if err != nil {
			return nil, err
		}
		return log.Close, nil
	},
	"feed": func(t *testing.T, db *kv.DB) (func() error, error) {
		f, err := feed.Open(t.Context(), db, nil)
		if err != nil {
			return nil, err
		}
		return f.Close, nil
	},
	"queues": func(_ *testing.T, db *kv.DB) (func() error, error) {
		s, err := queue.New(db, nil)
		if err != nil {
			return nil, err
		}
		return s.Close, nil
	},
	"records": func(t *testing.T, db *kv.DB) (func() error, error) {
		_, err := record.Open[user](t.Context(), db, nil)
		return func() error { return nil }, err
	},
}

// A program that forgets to give each store a namespace is told so, before one writes into the
// other.
func TestStoresOfDifferentKindsAreNotKeptUnderTheSameKeys(t *testing.T) {
	apart := map[[2]string]bool{{"feed", "records"}: true, {"records", "feed"}: true}
	for first, open := range opening {
		for second, open2 := range opening {
			if first == second {
				continue
			}
			t.Run(first+" and "+second, func(t *testing.T) {
				db, err := kv.Open(t.Context(), "mem:")
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				end, err := open(t, db)
				if err != nil {
					t.Fatal(err)
				}
				endBeside, err := open2(t, db.Namespace([]byte("apart/")))
				if err != nil {
					t.Fatalf("in a namespace of its own: %v", err)
				}
				if err := endBeside(); err != nil {
					t.Error(err)
				}
				if apart[[2]string{first, second}] {
					return // their keys are different ones
				}
				if _, err := open2(t, db); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
					t.Errorf("got %v, want invalid with a hint", err)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				if first == "records" {
					return // which are never closed
				}
				end, err = open2(t, db)
				if err != nil {
					t.Fatalf("after the first was closed: %v", err)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// BuntDB's own file has nothing around a transaction, so that a kill leaves a part of one: what a
// store keeps in step would be out of step.
func TestStoresRefuseAnEngineThatTearsTransactions(t *testing.T) {
	refused := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, kv.Unsupported) || kv.HintOf(err) == "" {
			t.Errorf("got %v, want unsupported with a hint", err)
		}
	}
	for name, open := range opening {
		t.Run(name, func(t *testing.T) {
			db, err := kv.Open(t.Context(), "bunt:"+filepath.ToSlash(filepath.Join(t.TempDir(), "db"))+"?Frames=false")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			_, err = open(t, db)
			refused(t, err)
		})
	}
	t.Run("state", func(t *testing.T) {
		s, err := state.New("bunt:"+filepath.ToSlash(t.TempDir())+"?Frames=false",
			&state.Options{Durability: kv.Flushed, Buckets: []state.Bucket{{Name: "b"}}})
		if err == nil {
			err = s.Put(t.Context(), "b", []byte("k"), []byte("v"))
		}
		refused(t, err)
	})
}
