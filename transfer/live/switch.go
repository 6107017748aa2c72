package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer"
)

// Switch is what a program does with a switch that it has open, beside reading and writing. Its
// methods may be called concurrently, and end with their DB. Move and Compare wait for transactions
// that are running: they are not to be called within one.
type Switch struct{ s *store }

// Of returns the switch that db, or the store whose namespace db is, was opened as. Another store
// is Invalid.
func Of(db *kv.DB) (*Switch, error) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, refusal("open it with live.Open or switch:DIR", "%s %s is no switch", db.Engine(), db.Path())
	}
	return &Switch{s}, nil
}

// Status is how a switch stands. Counters are of the time since it was opened.
type Status struct {
	Phase     Phase                 `json:"phase"`
	InStep    bool                  `json:"in_step"`   // the shadow has all that the truth has, as far as anybody knows
	Compared  int64                 `json:"compared"`  // pairs that were read from both stores
	Differing int64                 `json:"differing"` // of them those that differed though the shadow was in step
	First     []transfer.Difference `json:"first"`     // some of those; A is the truth, B the shadow
	Missed    int64                 `json:"missed"`    // commits that the shadow did not take
	Mended    int64                 `json:"mended"`    // pairs that were put into the shadow, or removed, to make it equal
	Err       error                 `json:"-"`         // the last failure of the shadow, mended or not; nil if there was none
}

// Status returns how the switch stands.
func (w *Switch) Status() Status {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	st := w.s.status
	st.Phase, st.InStep = w.s.state.Phase, w.s.pairing.inStep
	st.First = append([]transfer.Difference(nil), st.First...)
	return st
}

// Compare reads all of both stores, while the program works, puts into the shadow what differs, and
// returns how the switch stands then. It takes as long as reading both.
func (w *Switch) Compare(ctx context.Context) (Status, error) {
	err := w.s.used(ctx, func(ctx context.Context) error { _, err := w.s.pass(ctx); return err })
	return w.Status(), w.s.failed("compare", err)
}

// Move changes the phase: Shadowed to Flipped, Flipped back to Shadowed, Flipped to Dropped; to the
// phase that it is in it does nothing. The program goes on meanwhile. The phase holds durably when
// Move returns nil.
//
// To change the truth, Move first compares both stores, or waits until the new store is filled. If
// anything differs that should not, it has been mended, nothing was moved, and the error is
// Conflict: look at Status, and move again. After any other error the phase is the one before,
// unless its kind is InDoubt: then the switch takes no more commits, and the next opening tells.
//
// Dropping closes the old store with the switch and leaves its files. Once that was done, the
// program may open the new store by its own URL and remove the switch's folder, unless the store
// lies in it.
func (w *Switch) Move(ctx context.Context, to Phase) error {
	return w.s.failed("move", w.s.used(ctx, func(ctx context.Context) error { return w.s.move(ctx, to) }))
}

// used runs fn while the store is open. What fails because it is being closed is Closed.
func (s *store) used(ctx context.Context, fn func(context.Context) error) error {
	within, leave, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err = fn(within); err != nil && within.Err() != nil && ctx.Err() == nil {
		return errors.Join(errClosed(), err)
	}
	return err
}

func (s *store) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &kv.Error{Op: op, Engine: Engine, Path: s.dir, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
}

func (s *store) move(ctx context.Context, to Phase) error {
	s.mu.Lock()
	from := s.state.Phase
	s.mu.Unlock()
	switch {
	case from == to:
		return nil
	case s.config.Mode == driver.ReadOnly:
		return refusal("open it for writing", "a phase is not changed read-only")
	case from == Dropped:
		return refusal("copy it with assay copy, or make a new switch", "the old store was dropped and is out of date")
	case to == Dropped && from == Shadowed:
		return refusal("move to flipped first; to give the new store up, open the old one by its own URL",
			"the old store is the truth, and is not dropped")
	case to == Dropped:
		return s.drop(ctx)
	}
	return s.flip(ctx, to)
}

// drop ends the use of the old store.
func (s *store) drop(ctx context.Context) error {
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.turnTo(Dropped)
}

// flip lets truth and shadow change places.
func (s *store) flip(ctx context.Context, to Phase) error {
	differing, err := s.pass(ctx)
	if err != nil {
		return err
	}
	if differing > 0 {
		return conflict("%d pairs of the shadow differed from the truth, though it should have been in step", differing)
	}
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	defer s.leave()
	at := s.look()
	if at.shadow == nil || !at.inStep {
		return conflict("the shadow missed a commit meanwhile")
	}
	if err := s.settle(ctx, at.shadow); err != nil {
		s.lose(err)
		return fmt.Errorf("the shadow could not be made durable: %w", err)
	}
	return s.turnTo(to)
}

func conflict(text string, values ...any) error {
	return &kv.Error{Kind: kv.Conflict, Err: fmt.Errorf(text, values...),
		Hint: "it is mended: see Status, and move again"}
}

// turnTo writes the phase down and works by it. The caller has the turn.
func (s *store) turnTo(to Phase) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Phase = to
	if err := st.write(s.dir); err != nil {
		s.doubt, s.pairing.inStep = true, false
		return &kv.Error{Kind: kv.InDoubt, Err: errors.Join(errors.New("the phase could not be written"), err),
			Hint: "close the switch and open it again: it is in one phase or the other, and both stores hold the same"}
	}
	s.state = st
	s.pairing.commits++ // what is read of both from now on is another pair
	switch to {
	case Dropped:
		s.shadow, s.pairing.inStep = nil, false
	default:
		s.truth, s.shadow = s.shadow, s.truth
	}
	return nil
}
