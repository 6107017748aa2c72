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

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
)

// Program is an open program.
type Program interface {
	// Work does n pieces of work, whose names begin with prefix. It tells of each before it begins
	// and once it is there.
	Work(ctx context.Context, prefix string, n int, trying, done func(id string)) error

	// Check fails if one of done is lost, or where data and store do not agree.
	Check(ctx context.Context, done []string) error

	Close() error
}

// Open opens the program kept in the folder dir in a store of some kind, creating it. It commits
// with class.
type Open func(ctx context.Context, kind, dir string, class kv.Durability) (Program, error)

// killsVariable is how many processes Killed kills.
const killsVariable = "ASSAY_KILLS"

type task struct{ Kind, Dir, Prefix string }

type report struct{ Done string }

func none(string) {}

// Killed kills the program again and again, always on the same store. The test that calls it must
// do so before anything else.
func (open Open) Killed(t *testing.T, kinds ...string) {
	crash.Work(t, func(job task) error {
		out := json.NewEncoder(os.Stdout)
		return open.with(job.Kind, job.Dir, kv.Flushed, func(p Program) error {
			return p.Work(context.Background(), job.Prefix, 1<<20, none, func(id string) { _ = out.Encode(report{id}) })
		})
	})
	kills := 10
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
		if err := open.with(kind, dir, kv.Flushed, func(p Program) error {
			return p.Check(t.Context(),
				done)
		}); err != nil {
			t.Fatalf("after %d kills: %v", n+1, err)
		}
	}
}

// with opens the program, runs fn and closes it.
func (open Open) with(kind, dir string, class kv.Durability, fn func(p Program) error) error {
	p, err := open(context.Background(), kind, dir, class)
	if err != nil {
		return err
	}
	return errors.Join(fn(p), p.Close())
}

// Work works on a new store, while the power may fail.
func (open Open) Work(kind, dir string, trying, done func(id string)) error {
	return open.with(kind, dir, kv.Synced, func(p Program) error {
		return p.Work(context.Background(), "p", 12, trying, done)
	})
}

// GoOn checks what is left of Work, and works on.
func (open Open) GoOn(kind, dir string, done []string) error {
	ctx := context.Background()
	return open.with(kind, dir, kv.Synced, func(p Program) error {
		if err := p.Check(ctx, done); err != nil {
			return err
		}
		return errors.Join(p.Work(ctx, "q", 6, none, none), p.Check(ctx, done))
	})
}

// Whole is the name of the piece of work that Objects does.
const Whole = "whole-0000"

// Objects requires that the check finds what half does, which is not what one transaction does.
func (open Open) Objects(t *testing.T, kind string, half func(p Program) error) {
	err := open.with(kind, t.TempDir(), kv.Synced, func(p Program) error {
		if err := errors.Join(p.Work(t.Context(), "whole", 1, none, none), p.Check(t.Context(), nil),
			half(p)); err != nil {
			t.Fatal(err)
		}
		if p.Check(t.Context(), nil) == nil {
			t.Error("nobody objects")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
