package statetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/state"
)

// task is what a child does.
type task struct {
	Dir    string
	Job    string // a key of jobs
	Bucket string
	ID     int           // of the process among others
	Count  int           // how often
	From   int           // the first version to write
	Seed   uint64        // everything random comes from it
	Wait   time.Duration // Options.Wait; 0 is patience
	Class  string        // of durability
}

// report is a line that a child writes.
type report struct {
	What    string // "ready", "held", "done", "acknowledged", "saw"; "failed" with Err
	ID      int    `json:",omitempty"` // whose key
	Version int    `json:",omitempty"`
	Took    time.Duration
	Err     string `json:",omitempty"`
}

// child is the parent's end of a process.
type child struct {
	*crash.Child[report]
	s *suite
}

// start starts a process that does the task, which ends with the case at the latest.
func (s *suite) start(t task) *child {
	s.Helper()
	t.Dir = s.dir
	return &child{crash.Start[report](s.T, t), s}
}

// wait waits for a report of the kind.
func (c *child) wait(what string) report {
	c.s.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case r, ok := <-c.Reports:
			switch {
			case !ok:
				c.s.Fatalf("a process ended before it was %s: %v", what, c.Wait())
			case r.What == what:
				return r
			case r.What == "failed":
				c.s.Fatalf("a process failed before it was %s: %s", what, r.Err)
			}
		case <-timer.C:
			c.s.Fatalf("a process was not %s within %v", what, patience)
		}
	}
}

// proceed lets a process go on that waits for it.
func (c *child) proceed() {
	c.s.Helper()
	c.s.Must("proceed", c.Proceed())
}

// atOnce lets n processes do a job at the same time and returns how they ended.
func (s *suite) atOnce(n int, t task) []report {
	s.Helper()
	var children []*child
	for i := range n {
		t.ID = i
		children = append(children, s.start(t))
	}
	for _, c := range children {
		c.wait("ready")
	}
	for _, c := range children {
		c.proceed()
	}
	var all []report
	for _, c := range children {
		all = append(all, c.wait("done"))
	}
	return all
}

// runChild does the task in the environment, if there is one, and ends the process.
func runChild(t *testing.T, target Target) {
	crash.Work(t, func(job task) error {
		out := json.NewEncoder(os.Stdout)
		err := job.run(target, func(r report) { _ = out.Encode(r) })
		if err != nil {
			_ = out.Encode(report{What: "failed", Err: err.Error()})
		}
		return err
	})
}

// jobs is what a child can do.
var jobs = map[string]func(ctx context.Context, store *state.Store, t task, tell func(report)) error{
	"put":          jobPut,
	"get":          jobGet,
	"get migrated": jobGetMigrated,
	"increment":    jobIncrement,
	"hold":         jobHold,
	"hold view":    jobHoldView,
	"work":         jobWork,
}

func (t task) run(target Target, tell func(report)) error {
	o := target.options()
	if t.Wait > 0 {
		o.Wait = t.Wait
	}
	if t.Class != "" {
		if err := o.Durability.UnmarshalText([]byte(t.Class)); err != nil {
			return err
		}
	}
	o.Legacy = legacy
	store, err := state.New(target.URL(t.Dir), &o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := jobs[t.Job](ctx, store, t, tell); err != nil {
		return err
	}
	tell(report{What: "done", ID: t.ID, Version: len(store.Incidents())})
	return nil
}

// gate tells that the process is ready and waits for the parent.
func gate(tell func(report), what string) {
	tell(report{What: what})
	crash.Await()
}

func jobPut(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	return store.Put(ctx, t.Bucket, fmt.Appendf(nil, "p%d", t.ID), fmt.Appendf(nil, "%d", t.ID))
}

func jobGet(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	_, err := store.Get(ctx, t.Bucket, legacyKey(t.ID))
	return err
}

// jobGetMigrated gets what an older file had, of each kind, another one first in each process.
func jobGetMigrated(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	for i := range 3 {
		bucket := []string{"a", "kept", "secret"}[(t.ID+i)%3]
		value, err := store.Get(ctx, bucket, legacyKey(t.ID))
		if err != nil || !bytes.Equal(value, legacyValue(t.ID)) {
			return fmt.Errorf("bucket %s: got %q, %w", bucket, value, err)
		}
	}
	return nil
}

func jobIncrement(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	for range t.Count {
		if err := increment(ctx, store); err != nil {
			return err
		}
	}
	return jobPut(ctx, store, t, tell)
}

func jobHold(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	return store.Update(ctx, t.Bucket, func(tx *state.Tx) error {
		if err := tx.Put([]byte("held"), []byte("yes")); err != nil {
			return err
		}
		gate(tell, "held")
		return nil
	})
}

func jobHoldView(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	return store.View(ctx, t.Bucket, func(v *state.View) error {
		if _, err := v.Has([]byte("k")); err != nil {
			return err
		}
		gate(tell, "held")
		return nil
	})
}
