// Package outbox tests programs that keep data of their own and a store in one transaction:
// whatever ends them, the two agree.
package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/assaydb/assay/crashtest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
)

// Program is an open program.
type Program interface {
	// Do does the piece of work i, which is called id, and calls done once that is there. It may do
	// more then.
	Do(ctx context.Context, i int, id string, done func()) error

	// Check fails where data and store do not agree, and returns the work that is there.
	Check(ctx context.Context) (ids []string, err error)

	Close() error
}

// Open opens the program kept in the folder dir in a store of some kind, creating it. It commits
// with class.
type Open func(ctx context.Context, kind, dir string, class kv.Durability) (Program, error)

// killsVariable is how many processes Killed kills.
const killsVariable = "ASSAY_KILLS"

type task struct{ Kind, Dir, Prefix string }

type report struct{ Done string }

// work does pieces of work without end, and tells of each once it is there.
func work(p Program, prefix string, done func(id string)) error {
	for i := 0; ; i++ {
		id := name(prefix, i)
		if err := p.Do(context.Background(), i, id, func() { done(id) }); err != nil {
			return err
		}
	}
}

func name(prefix string, i int) string { return fmt.Sprintf("%s-%04d", prefix, i) }

// check fails if one of done is lost, or where data and store do not agree.
func check(ctx context.Context, p Program, done []string) error {
	ids, err := p.Check(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, id := range ids {
		there[id] = true
	}
	for _, id := range done {
		if !there[id] {
			return fmt.Errorf("%s was acknowledged and is lost", id)
		}
	}
	return nil
}

// Killed kills the program again and again, always on the same store. The test that calls it must
// do so before anything else.
func (open Open) Killed(t *testing.T, kinds ...string) {
	crash.Work(t, func(job task) error {
		out := json.NewEncoder(os.Stdout)
		return open.with(job.Kind, job.Dir, kv.Flushed, func(p Program) error {
			return work(p, job.Prefix, func(id string) { _ = out.Encode(report{id}) })
		})
	})
	kills := 10
	if testing.Short() {
		kills = 4
	}
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		kills = n
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { open.killed(t, kind, kills) })
	}
}

func (open Open) killed(t *testing.T, kind string, kills int) {
	dir, seed := t.TempDir(), rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var done []string
	for n := range kills {
		for _, r := range crash.AfterReports[report](t, task{kind, dir, fmt.Sprint(n)}, 1+random.IntN(12)) {
			done = append(done, r.Done)
		}
		if n%10 != 9 && n != kills-1 {
			continue
		}
		err := open.with(kind, dir, kv.Flushed, func(p Program) error { return check(t.Context(), p, done) })
		if err != nil {
			t.Fatalf("after %d kills: %v", n+1, err)
		}
	}
	t.Logf("%d kills, %d pieces of work", kills, len(done))
}

// Crashes has the program crash at every operation of its disk, as far as the time goes:
// -crashtest.budget=10m is more of it.
func (open Open) Crashes(t *testing.T, kinds ...string) {
	ctx := context.Background()
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if testing.Short() && i < len(kinds)-1 {
				t.Skip("its crashes are those of the last: without -short")
			}
			crashtest.Run(t, crashtest.Store[Program]{
				Open: func(dir string) (Program, error) { return open(ctx, kind, dir, kv.Synced) },
				Do:   func(p Program, i int) error { return p.Do(ctx, i, name("p", i), func() {}) },
				Check: func(p Program, h crashtest.History) error {
					ids, err := p.Check(ctx)
					if err != nil {
						return err
					}
					return same(ids, h)
				},
			}, &crashtest.Options{Changes: 14, Reopen: 6, Budget: 10 * time.Second})
		})
	}
}

// same fails unless ids are the work of h.
func same(ids []string, h crashtest.History) error {
	there := map[string]bool{}
	for _, id := range ids {
		there[id] = true
	}
	for _, i := range h.Done {
		if !there[name("p", i)] {
			return fmt.Errorf("%s was acknowledged and is lost", name("p", i))
		}
		delete(there, name("p", i))
	}
	for _, i := range h.Maybe {
		delete(there, name("p", i))
	}
	for id := range there {
		return fmt.Errorf("%s is there and was never done", id)
	}
	return nil
}

// with opens the program, runs fn and closes it.
func (open Open) with(kind, dir string, class kv.Durability, fn func(p Program) error) error {
	p, err := open(context.Background(), kind, dir, class)
	if err != nil {
		return err
	}
	return errors.Join(fn(p), p.Close())
}

// Whole is the name of the piece of work that Objects does.
const Whole = "whole"

// Objects requires that the check finds what half does, which is not what one transaction does.
func (open Open) Objects(t *testing.T, kind string, half func(p Program) error) {
	err := open.with(kind, t.TempDir(), kv.Synced, func(p Program) error {
		err := p.Do(t.Context(), 0, Whole, func() {})
		if err := errors.Join(err, check(t.Context(), p, []string{Whole}), half(p)); err != nil {
			t.Fatal(err)
		}
		if check(t.Context(), p, nil) == nil {
			t.Error("nobody objects")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
