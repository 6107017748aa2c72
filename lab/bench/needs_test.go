package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// told runs o until it has told what it needs, or has begun to measure, and returns what it told.
func told(t *testing.T, o Options, earlier ...*result.Run) (needs time.Duration, by string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Rounds, o.Earlier = 0, slices.Values(earlier)
	o.Progress = func(p Progress) {
		switch p.Phase {
		case "plan":
			needs, by = p.Needs, p.By
		case "load":
			stop()
		}
	}
	if _, err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	return needs, by
}

// What a run needs is told before it begins to load, by a run that was kept.
func TestARunTellsBeforeItBeginsWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/C?records=200")
	kept, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	other := *kept
	other.Cells = kept.Cells[:1] // which has not all of it
	elsewhere := *kept
	elsewhere.Environment.CPU = "another one"
	long := *kept
	long.Took = time.Hour
	if needs, by := told(t, o, &other, &elsewhere, &long); needs < time.Hour || !strings.HasPrefix(by, "the run of ") {
		t.Errorf("a run of %v that needed an hour at least: told %v by %q", o.Budget, needs, by)
	}
	if needs, by := told(t, o, &other, &elsewhere); needs != 0 {
		t.Errorf("without such a run: told %v by %q", needs, by)
	}
	long.Environment.CPU = "another one"
	o.Elsewhere = &long
	if needs, by := told(t, o); needs < time.Hour || by != "a run on another machine" {
		t.Errorf("without a kept run: told %v by %q", needs, by)
	}
	o.Elsewhere = &other
	if needs, by := told(t, o); needs != 0 {
		t.Errorf("the run on another machine has not all of it: told %v by %q", needs, by)
	}
	o.Elsewhere, long.Environment = nil, kept.Environment
	o.Budget = 10 * time.Hour
	if needs, by := told(t, o, &long); needs != 0 && needs < o.Budget {
		t.Errorf("a run of %v, which is enough: told %v by %q", o.Budget, needs, by)
	}
}

// Without a kept run it is told before all have sat, and once.
func TestTheFirstSittingsTellWhatARunNeeds(t *testing.T) {
	var got []Progress
	r := &runner{Options: Options{Budget: time.Minute, Progress: func(p Progress) { got = append(got, p) }},
		started: time.Now()}
	unsat := func() *group { return &group{cells: []*cell{{}, {}}} }
	open := openGroup(40)
	open.lasted = 10 * time.Second
	r.groups = []*group{open, unsat(), unsat(), unsat()}
	if r.announce(); len(got) > 0 {
		t.Fatalf("told %v after a quarter of the cells", got)
	}
	r.groups = r.groups[:3]
	r.announce()
	r.announce()
	if len(got) != 1 || got[0].Phase != "plan" || got[0].Needs < 20*time.Minute || got[0].By != "its first rounds" {
		t.Errorf("a third of the cells needs 400 s: told %+v, want once, three times as long", got)
	}
}
