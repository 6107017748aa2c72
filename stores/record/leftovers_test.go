package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// states is what a process that dies behind each commit leaves of a file.
type states struct {
	path string
	list [][]byte
	err  error
}

func (s *states) Start(ctx context.Context, _ string) context.Context { return ctx }

func (s *states) End(_ context.Context, e kv.Event) {
	if e.Op != "commit" || s.err != nil {
		return
	}
	var b []byte
	if b, s.err = os.ReadFile(s.path); s.err == nil {
		s.list = append(s.list, b)
	}
}

// A process may die behind any commit while it builds an index. One that opens the collection
// without the index removes what there is of it: what it left would be taken for entries of the
// next index that is built, of other records than these are by then.
func TestNothingIsLeftOfAnIndexThatWasNotFinished(t *testing.T) {
	cities := []record.Index{{Name: "city", Fields: []string{"city"}}}
	inStore := func(path string, o *record.Options, do func(c *record.Collection[Account]) error, with ...kv.Option) {
		t.Helper()
		db, err := kv.Open(t.Context(), "bbolt:"+path, with...)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		c, err := record.Open[Account](t.Context(), db, o)
		if err == nil {
			err = do(c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(city string) func(c *record.Collection[Account]) error {
		return func(c *record.Collection[Account]) error {
			return c.PutAll(t.Context(), kv.Flushed, []Account{{ID: 1, City: city}, {ID: 2, City: city}})
		}
	}
	s := &states{path: filepath.Join(t.TempDir(), "store")}
	inStore(s.path, nil, put("Bern"))
	inStore(s.path, &record.Options{Indexes: cities}, func(*record.Collection[Account]) error { return nil },
		kv.WithTracer(s))
	if s.err != nil || len(s.list) < 3 {
		t.Fatalf("an index was built in %d commits, %v", len(s.list), s.err)
	}
	for i, left := range s.list {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, left, 0o600); err != nil {
			t.Fatal(err)
		}
		inStore(path, nil, put("Rome"))
		inStore(path, &record.Options{Indexes: cities}, func(c *record.Collection[Account]) error {
			if err := c.Check(t.Context()); err != nil {
				return fmt.Errorf("behind commit %d of %d: %w", i+1, len(s.list), err)
			}
			return nil
		})
	}
}
