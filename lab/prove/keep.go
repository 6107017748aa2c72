package prove

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// What a proof has found is kept for the first time after keepFirst, then each time it has worked a
// tenth longer, but at least each keepEvery.
const (
	keepFirst = time.Second
	keepEvery = time.Minute
	keepCosts = 100 // one part in so many of the time is for keeping, at most
)

// keepOften calls Keep again and again until stop is called: a run that is killed loses a tenth of
// its work at most.
func (r *runner) keepOften() (stop func()) {
	if r.Keep == nil {
		return func() {}
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for wait := keepFirst; ; {
			select {
			case <-over:
				return
			case <-time.After(wait):
			}
			began := time.Now()
			r.Keep(r.soFar(true))
			wait = max(min(time.Since(r.started)/10, keepEvery), keepFirst, keepCosts*time.Since(began))
		}
	})
	return func() {
		close(over)
		all.Wait()
	}
}

// soFar returns what was found until now, and what Earlier had found. Of one that goes on, all that
// is not done is interrupted.
func (r *runner) soFar(goesOn bool) *result.Proof {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.proof
	p.Interrupted, p.Warnings = p.Interrupted || goesOn, slices.Clone(p.Warnings)
	for _, t := range r.tasks {
		p.Damage = append(p.Damage, t.damages()...)
		as := &task{pair: t.pair, fault: t.fault, why: t.why} // lanes read t.why
		if goesOn && !t.done {
			as.why = cmp.Or(t.why, interrupted)
		}
		for i, c := range t.cells {
			if i == 0 {
				c.Ops, c.Covered, c.Worked = t.ops, t.covered, t.spent
			}
			if t.fault == result.FaultPower && i == 0 {
				c.Did = maps.Clone(t.did)
			}
			p.Cells = append(p.Cells, r.finish(as, c))
		}
	}
	p.Took, p.Seen = time.Since(r.started), r.seen()
	r.addEarlier(&p)
	return &p
}

// keepEvidence keeps the states that lack what was claimed, in a folder for each cell.
func (r *runner) keepEvidence() (failed error) {
	if r.Evidence == "" {
		return nil
	}
	n := 0
	for _, t := range r.tasks {
		for _, c := range t.cells {
			if n++; c.shown == nil {
				continue
			}
			dir := filepath.Join(r.Evidence, fmt.Sprint(n))
			if err := c.keep(dir, t); err != nil {
				failed = errors.Join(failed, err)
			} else {
				c.shown.dir = dir
			}
		}
	}
	return failed
}
