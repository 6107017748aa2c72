package prove

import (
	"context"

	"github.com/assaydb/assay/lab/powerfs"
)

// lateState is a state that was not verified in time.
type lateState struct {
	x     *explorer
	i     int
	state powerfs.State
	img   *powerfs.Image
	trial trial
	in    *cell
}

// mostLate is how many of them a task keeps, to ask for them again.
const mostLate = 50

// askAgain has the states verified once more that were late, when nothing else of the run goes on
// that may have slowed them. What is late then too is kept as evidence.
func (r *runner) askAgain(ctx context.Context) error {
	l := &lane{runner: r, number: r.lanes}
	defer l.close()
	for _, t := range r.tasks {
		hangs := false // then its other states are not waited for
		for _, s := range t.late {
			o := outcome{Late: true}
			if !hangs && ctx.Err() == nil {
				var err error
				if o, err = l.examineAlone(ctx, t, s); err != nil && ctx.Err() == nil {
					return err
				}
			}
			if hangs = hangs || o.Late; hangs {
				s.in.late(s)
				continue
			}
			r.mu.Lock()
			s.in.Late--
			s.in.found(t, s.x, s.i, s.state, s.img, s.trial, &verified{outcome: o}, false)
			t.saw(s.in, s.img.Sum(), o)
			r.images++
			r.mu.Unlock()
			r.report(t)
		}
	}
	return nil
}

// examineAlone has a state verified that was late, and waits for it as for the first.
func (l *lane) examineAlone(ctx context.Context, t *task, s lateState) (outcome, error) {
	t.hung.Store(false)
	return l.examineOnce(ctx, t, s.img, s.x.rec)
}

// late notes a state as evidence that is late for good, if there is no better one.
func (c *cell) late(s lateState) {
	if c.shown == nil {
		c.shown = &evidence{rec: s.x.rec, i: s.i, state: s.state, img: s.img, trial: s.trial,
			found: outcome{Late: true}}
	}
}
