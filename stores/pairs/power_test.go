package pairs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/transfer"
)

// TestPower: whatever a power cut leaves of a copy, the new store is whole or absent; the copy then
// goes on to its end, leaves nothing beside it, and the store's own check finds no fault.
func TestPower(t *testing.T) {
	for i, c := range []powered{
		{"log", fillLog, place{form: "bbolt"}, place{form: "sql"}, false},
		{"log", fillLog, place{form: "sql"}, place{form: "pebble", prefix: "e/"}, true},
		{"queue", fillQueuesAlone, place{form: "pebble"}, place{form: "sql"}, true},
		{"queue", fillQueuesAlone, place{form: "sql"}, place{form: "bbolt"}, false},
		{"feed", fillFeed, place{form: "bbolt", settings: inZstd}, place{form: "margaret"}, true},
		{"feed", fillFeed, place{form: "margaret"}, place{form: "sqlite", settings: inZstd}, false},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", c.scheme, c.from.form, c.to.form), func(t *testing.T) {
			if testing.Short() && i%2 != 0 {
				t.Skip("one way of each kind of store: without -short")
			}
			// on the real disk: the power fails while the store is copied, not while it is filled
			const source = "ASSAY_PAIRS_SOURCE"
			if c.from.path = os.Getenv(source); c.from.path == "" {
				c.from.path = filepath.Join(t.TempDir(), "from")
				c.fill(t, c.from, 60)
				t.Setenv(source, c.from.path) // for the processes that work and check
			}
			powertest.Run(t, powertest.Case[string]{
				Work: func(dir string, log *powertest.Log[string]) error {
					log.Try("copy")
					if err := c.copy(t, dir); err != nil {
						return err
					}
					log.Done("copy")
					return nil
				},
				Check: func(dir string, h powertest.History[string]) error { return c.check(t, dir, len(h.Done) > 0) },
			})
		})
	}
}

func fillQueuesAlone(t *testing.T, p place, n int) { fillQueues(t, p, n) }

// powered is a store that is copied, or moved, to a disk that loses power.
type powered struct {
	scheme   string
	fill     func(t *testing.T, p place, n int)
	from, to place
	migrate  bool
}

// urls returns those of the old store and of the new one below dir.
func (c powered) urls(dir string) (from, to string) {
	c.to.path = filepath.Join(dir, "new")
	return c.from.URL(c.scheme), c.to.URL(c.scheme)
}

func (c powered) copy(t *testing.T, dir string) (err error) {
	from, to := c.urls(dir)
	if c.migrate {
		_, err = transfer.Migrate(t.Context(), from, to, nil)
	} else {
		_, err = transfer.Copy(t.Context(), from, to, nil)
	}
	return err
}

func (c powered) check(t *testing.T, dir string, done bool) error {
	from, to := c.urls(dir)
	_, absent := os.Lstat(filepath.Join(dir, "new"))
	if done && absent != nil {
		return fmt.Errorf("the copy had ended: %w", absent)
	}
	err := c.copy(t, dir)
	if absent == nil && !c.migrate {
		if !errors.Is(err, kv.Invalid) {
			return fmt.Errorf("a copy to what is there: %w", err)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || c.migrate && len(left) != 1 || !c.migrate && len(left) > 0 { // one: the record of the move
		return fmt.Errorf("left beside the copy: %q, %w", left, err)
	}
	v, err := transfer.Verify(t.Context(), from, to, nil)
	if err != nil || v.Differing > 0 || v.A.Pairs < 20 {
		return fmt.Errorf("%d of %d pairs differ, %w", v.Differing, v.A.Pairs, err)
	}
	db, err := transfer.OpenExisting(t.Context(), to, transfer.Look)
	if err != nil {
		return err
	}
	return errors.Join(db.Check(t.Context()), db.Close())
}
