package prove

import "context"

// lateState is a state that was not verified in time, as evidence of that.
type lateState struct {
	evidence
	in *cell
}

// mostLate is how many of them a task keeps, to ask for them again.
const mostLate = 50

// wasLate keeps a state of c to be asked for once more.
func (t *task) wasLate(c *cell, e evidence, o outcome) {
	e.found = o
	if len(t.late) < mostLate {
		t.late = append(t.late, lateState{e, c})
	}
}

// askAgain has the states verified once more that were late, when nothing else of the run goes on
// that may have slowed them. What is late then too is kept as evidence, if a cell has none better.
func (r *runner) askAgain(ctx context.Context) error {
	l := &lane{runner: r, number: r.lanes}
	defer l.close()
	for _, t := range r.tasks {
		t.hung.Store(false)        // the first is waited for in full
		giveUp := ctx.Err() != nil // or the engine hangs: its other states would take as long
		for _, s := range t.late {
			if !giveUp {
				o, err := l.examineOnce(ctx, t, s.img, s.rec)
				if err != nil && ctx.Err() == nil {
					return err
				}
				giveUp = err != nil || o.Late
				if !giveUp {
					r.answered(t, s, o)
					continue
				}
			}
			if s.in.shown == nil {
				s.in.shown = &s.evidence
			}
		}
	}
	return nil
}

// answered counts a state that was late, and is not any more.
func (r *runner) answered(t *task, s lateState, o outcome) {
	r.mu.Lock()
	s.in.Late--
	s.in.found(t, s.evidence, &verified{outcome: o}, false)
	t.saw(s.in, s.img.Sum(), o)
	r.images++
	r.mu.Unlock()
	r.report(t)
}
