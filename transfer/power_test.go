package transfer_test

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

// step is what the process that copies says: "source" when that is complete, "copy" when Copy has
// returned.
type step string

// TestPower: whatever a power cut leaves, the source is whole, and the destination is whole or
// absent; the copy then goes on to its end and leaves nothing beside it. ASSAY_POWERTEST_CUTS=400
// has power fail before each operation of the disk, as there are fewer; here and in
// TestPowerOfMove.
func TestPower(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"bbolt", "pebble"}, {"pebble", "sqlite"}, {"sqlite", "bbolt"},
		{"bbolt", "badger"}, {"sqlite", "bunt"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			if testing.Short() && c.from != "pebble" {
				t.Skip("it is the way of the others, between other engines: without -short")
			}
			urls := func(dir string) (from, to string) {
				return c.from + ":" + filepath.Join(dir, "old"), c.to + ":" + filepath.Join(dir, "new")
			}
			powertest.Run(t, powertest.Case[step]{
				Work: func(dir string, log *powertest.Log[step]) error {
					from, to := urls(dir)
					if err := fillForPower(t, from); err != nil {
						return err
					}
					log.Try("source")
					log.Done("source")
					log.Try("copy")
					if _, err := transfer.Copy(t.Context(), from, to, nil); err != nil {
						return err
					}
					log.Done("copy")
					return nil
				},
				Check: func(dir string, h powertest.History[step]) error {
					if len(h.Done) == 0 {
						return nil
					}
					from, to := urls(dir)
					return checkPower(t, from, to, len(h.Done) > 1)
				},
			})
		})
	}
}

// TestPowerOfMove: whatever a power cut leaves while a store is moved, there is the old one alone
// or the new one whole, and the next opening ends the move.
func TestPowerOfMove(t *testing.T) {
	for _, c := range []struct {
		from, to string
		old      transfer.Old
	}{{"bbolt", "pebble", transfer.Keep}, {"sqlite", "bbolt", transfer.Remove}, {"pebble", "sqlite", transfer.Remove}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			if testing.Short() && c.from != "sqlite" {
				t.Skip("it is the way of the others, between other engines: without -short")
			}
			move := func(dir string) (from, to string, err error) {
				from, to = c.from+":"+filepath.Join(dir, "old"), c.to+":"+filepath.Join(dir, "new")
				db, err := transfer.Open(t.Context(), to, []string{from}, &transfer.MoveOptions{Old: c.old})
				if err != nil {
					return from, to, err
				}
				return from, to, db.Close()
			}
			powertest.Run(t, powertest.Case[step]{
				Work: func(dir string, log *powertest.Log[step]) error {
					if err := fillForPower(t, c.from+":"+filepath.Join(dir, "old")); err != nil {
						return err
					}
					log.Try("source")
					log.Done("source")
					log.Try("copy")
					if _, _, err := move(dir); err != nil {
						return err
					}
					log.Done("copy")
					return nil
				},
				Check: func(dir string, h powertest.History[step]) error {
					if len(h.Done) == 0 {
						return nil
					}
					if _, err := os.Lstat(filepath.Join(dir, "new")); err != nil && len(h.Done) > 1 {
						return fmt.Errorf("the move had ended: %w", err)
					}
					from, to, err := move(dir)
					if err != nil {
						return err
					}
					return checkMoved(t, dir, from, to, c.old)
				},
			})
		})
	}
}

// TestPowerOfCatchingUp: whatever a power cut leaves while the new store gets what an older program
// has written, before whichever operation of the disk, it gets that, and what the older program
// writes before the next opening.
func TestPowerOfCatchingUp(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"sqlite", "bbolt"}, {"bbolt", "pebble"}} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			if testing.Short() && c.from != "bbolt" {
				t.Skip("it is the way of the other, between other engines: without -short")
			}
			start := func(dir string) (from, to string, err error) {
				from, to = c.from+":"+filepath.Join(dir, "old"), c.to+":"+filepath.Join(dir, "new")
				db, err := transfer.Open(t.Context(), to, []string{from}, nil)
				if err != nil {
					return from, to, err
				}
				return from, to, db.Close()
			}
			older := func(dir, key string) error {
				db, err := kv.Open(t.Context(), c.from+":"+filepath.Join(dir, "old"))
				if err != nil {
					return err
				}
				return errors.Join(db.Put(t.Context(), kv.Synced, []byte(key), []byte("of the older program")), db.Close())
			}
			states, objections := powertest.EveryCut(t, powertest.Case[step]{
				Work: func(dir string, log *powertest.Log[step]) error {
					err := fillForPower(t, c.from+":"+filepath.Join(dir, "old"))
					if err == nil {
						_, _, err = start(dir)
					}
					log.Try("moved")
					log.Done("moved")
					if err == nil {
						err = older(dir, "first")
					}
					log.Try("first")
					log.Done("first")
					if err == nil {
						_, _, err = start(dir)
					}
					return err
				},
				Check: func(dir string, h powertest.History[step]) error {
					if len(h.Done) == 0 {
						return nil
					}
					if err := older(dir, "second"); err != nil {
						return err
					}
					from, to, err := start(dir)
					if err != nil {
						return err
					}
					c, err := transfer.Verify(t.Context(), from, to, nil)
					least := int64(40 + len(h.Done))
					if err != nil || c.Differing > 0 || c.A.Pairs < least || c.A.Pairs > 42 {
						return fmt.Errorf("%d of %d keys differ, %w", c.Differing, c.A.Pairs, err)
					}
					return nil
				},
			}, 2)
			for _, o := range objections {
				t.Error(o)
			}
			t.Logf("%d states", states)
		})
	}
}

// checkMoved says what is wrong with a store of 40 pairs that was moved.
func checkMoved(t *testing.T, dir, from, to string, old transfer.Old) error {
	whole, err := transfer.Plan(t.Context(), to, "bunt:"+filepath.Join(dir, "none"), nil)
	if err != nil || whole.Pairs != 40 {
		return fmt.Errorf("%d of 40 pairs, %w", whole.Pairs, err)
	}
	if left := hidden(dir); left != ".new.moved" {
		return fmt.Errorf("beside the store: %s", left)
	}
	if old == transfer.Keep {
		c, err := transfer.Verify(t.Context(), from, to, nil)
		if err != nil || c.Differing > 0 {
			return fmt.Errorf("%d keys differ, %w", c.Differing, err)
		}
	} else if _, err := os.Lstat(filepath.Join(dir, "old")); err == nil {
		return errors.New("the old store is still there")
	}
	return nil
}

func fillForPower(t *testing.T, from string) error {
	db, err := kv.Open(t.Context(), from)
	if err != nil {
		return err
	}
	var b kv.Batch
	for i := range 40 {
		b.Put(fmt.Appendf(nil, "%03d", i), make([]byte, 100*i))
	}
	return errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close())
}

func checkPower(t *testing.T, from, to string, done bool) error {
	path, err := kv.PathOf(to)
	if err != nil {
		return err
	}
	if _, there := os.Lstat(path); there != nil {
		if done {
			return fmt.Errorf("the copy had ended: %w", there)
		}
		if _, err := transfer.Copy(t.Context(), from, to, nil); err != nil {
			return err
		}
	}
	if _, err := transfer.Copy(t.Context(), from, to, nil); !errors.Is(err, kv.Invalid) {
		return fmt.Errorf("a copy to what is there: %w", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
		return fmt.Errorf("left beside the copy: %v, %w", left, err)
	}
	c, err := transfer.Verify(t.Context(), from, to, nil)
	if err != nil {
		return err
	}
	if c.Differing > 0 || c.A.Pairs != 40 {
		return fmt.Errorf("%d of %d pairs differ", c.Differing, c.A.Pairs)
	}
	return nil
}
