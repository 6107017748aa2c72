package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer"
)

// stepBytes is how much of both stores a step of a pass reads, while writers wait.
const stepBytes = 256 << 10

// firstDifferences is how many of them are kept.
const firstDifferences = 10

// start begins to mend in the background, at once if the shadow is not known to be in step.
func (s *store) start() {
	if s.shadow != nil && !s.pairing.inStep {
		s.wake <- struct{}{}
	}
	s.ended.Go(func() { s.mendWhenAsked(s.life) })
}

// mendWhenAsked passes over both stores whenever the shadow is out of step. A pass that fails, or
// during which the shadow missed a commit, is made again, later and later.
func (s *store) mendWhenAsked(ctx context.Context) {
	const first, longest = 100 * time.Millisecond, 10 * time.Second
	pause := first
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for s.outOfStep() && ctx.Err() == nil {
			_, err := s.pass(ctx)
			if err == nil && !s.outOfStep() {
				pause = first
				break
			}
			if driver.KindOf(err) == driver.Corrupt {
				break // it will be found again, by who asks
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, longest)
		}
	}
}

// outOfStep reports whether there is a shadow to be mended.
func (s *store) outOfStep() bool {
	p := s.look()
	return p.shadow != nil && !p.inStep
}

// pass makes the shadow equal to the truth, step by step from the first key to the last. It returns
// how many pairs differed though the shadow was thought to be in step.
func (s *store) pass(ctx context.Context) (differing int64, err error) {
	select {
	case s.passing <- struct{}{}:
		defer func() { <-s.passing }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	at := s.look()
	if at.shadow == nil {
		return 0, s.noShadow()
	}
	if err := sound(ctx, at.truth); err != nil {
		return 0, s.passFailed(ctx, err)
	}
	p := step{s: s, trusted: at.inStep}
	s.mu.Lock()
	failures := s.failures
	s.mu.Unlock()
	for more := true; more; {
		if more, err = p.run(ctx); err != nil {
			return p.differing, s.passFailed(ctx, err)
		}
	}
	if err := s.enter(ctx); err != nil {
		return p.differing, err
	}
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shadow != nil && s.failures == failures && !s.doubt {
		s.pairing.inStep = true
	}
	return p.differing, nil
}

// sound has the engine check a truth of Badger, whose cursors end at what is damaged without an
// error: a pass would remove from the shadow what comes after it.
func sound(ctx context.Context, truth *side) error {
	if truth.db.Engine() != "badger" {
		return nil
	}
	return truth.db.Check(ctx)
}

// passFailed keeps the failure of a pass that nobody ended.
func (s *store) passFailed(ctx context.Context, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || s.shadow == nil { // why there is none is known
		return err
	}
	s.status.Err = err
	s.pairing.inStep = false
	s.logger.Warn("the shadow of a switch could not be mended", "switch", s.dir, "error", err)
	return err
}

// step is a part of a pass.
type step struct {
	s         *store
	from      []byte // the key to begin at
	trusted   bool   // the shadow was in step when the pass began, and still is
	differing int64
}

// run makes one step, and reports whether there is another one. Nobody writes meanwhile.
func (p *step) run(ctx context.Context) (more bool, err error) {
	if err := p.s.enter(ctx); err != nil {
		return false, err
	}
	defer p.s.leave()
	at := p.s.look()
	truth, shadow := at.truth, at.shadow
	if shadow == nil {
		return false, p.s.noShadow()
	}
	p.trusted = p.trusted && at.inStep // it may have missed a commit since
	var ops []driver.Op
	err = p.s.answering(ctx, shadow, func(ctx context.Context) (err error) {
		ops, more, err = p.read(ctx, truth, shadow)
		return err
	})
	if err != nil || len(ops) == 0 {
		return more, err
	}
	err = p.s.answering(context.WithoutCancel(ctx), shadow, func(ctx context.Context) error {
		return shadow.apply(ctx, ops, shadow.mending())
	})
	if err != nil {
		p.s.lose(err)
		return false, err
	}
	p.s.mended(int64(len(ops)))
	return more, nil
}

// noShadow says why there is none.
func (s *store) noShadow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Phase == Dropped {
		return refusal("", "the old store was dropped")
	}
	return &kv.Error{Kind: kv.Stopped, Err: fmt.Errorf("the shadow failed: %w", s.status.Err),
		Hint: "close the switch and open it again; if the shadow does not open then, remove it: it is filled anew"}
}

// read compares both stores from p.from on, and returns what makes the shadow equal to the truth.
func (p *step) read(ctx context.Context, truth, shadow *side) (ops []driver.Op, more bool, err error) {
	a, err := newWalk(ctx, truth, p.from)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	b, err := newWalk(ctx, shadow, p.from)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	same, size := int64(0), 0
	for (a.key != nil || b.key != nil) && size < stepBytes {
		order := a.compare(b)
		size += len(a.key) + len(a.value)
		if order != 0 || !bytes.Equal(a.value, b.value) {
			op := driver.Op{Key: bytes.Clone(a.key), Value: bytes.Clone(a.value)}
			if order > 0 {
				op = driver.Op{Key: bytes.Clone(b.key), Delete: true}
			}
			ops = append(ops, op)
			if p.trusted {
				p.differing++
				p.s.differs(differenceAt(a.key, a.value, b.key, b.value, false))
			}
		} else {
			same++
		}
		if order <= 0 {
			err = a.next()
		}
		if order >= 0 {
			size += len(b.key)
			err = errors.Join(err, b.next())
		}
		if err != nil {
			return nil, false, err
		}
	}
	p.s.compared(same)
	if more = a.key != nil || b.key != nil; more {
		if p.from = a.key; a.compare(b) > 0 {
			p.from = b.key
		}
		p.from = bytes.Clone(p.from)
	}
	return ops, more, nil
}

// walk stands on a pair of a store; a nil key is the end.
type walk struct {
	r          driver.Reader
	c          driver.Cursor
	key, value []byte
}

func newWalk(ctx context.Context, s *side, from []byte) (*walk, error) {
	r, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	c, err := r.Cursor(driver.Range{Start: from})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	w := &walk{r: r, c: c}
	if err := w.next(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *walk) next() (err error) {
	w.key, w.value, err = w.c.Next()
	return err
}

func (w *walk) close() error { return errors.Join(w.c.Close(), w.r.Close()) }

// compare orders two walks by their keys, of which at least one is not at its end.
func (w *walk) compare(other *walk) int {
	switch {
	case other.key == nil:
		return -1
	case w.key == nil:
		return 1
	}
	return bytes.Compare(w.key, other.key)
}

// compared counts pairs that were compared and equal.
func (s *store) compared(pairs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Compared += pairs
}

// differs counts a pair that differs though it should not.
func (s *store) differs(f found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Compared++
	s.status.Differing++
	if len(s.status.First) < firstDifferences {
		s.status.First = append(s.status.First, transfer.Difference{Key: bytes.Clone(f.key), A: f.a, B: f.b})
	}
}

// mended counts pairs that were put right.
func (s *store) mended(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Mended += n
}

// settle makes all that the shadow holds durable: by a commit of its strongest class, which those
// before it precede, and by syncing its files. The caller has the turn.
func (s *store) settle(ctx context.Context, shadow *side) error {
	w, err := newWalk(ctx, shadow, nil)
	if err != nil {
		return err
	}
	// as it is: some engines commit nothing for nothing
	ops := []driver.Op{{Key: bytes.Clone(w.key), Value: bytes.Clone(w.value)}}
	if w.key == nil {
		ops = []driver.Op{{Key: []byte{0}}, {Key: []byte{0}, Delete: true}}
	}
	if err := w.close(); err != nil {
		return err
	}
	for i := range ops {
		if err := shadow.apply(ctx, ops[i:i+1], shadow.Caps().Strongest()); err != nil {
			return err
		}
	}
	for _, path := range shadow.files() {
		if err := syncAll(path); err != nil {
			return err
		}
	}
	return nil
}

// syncAll makes what is at path durable. Where an engine removes files meanwhile it begins anew,
// some times.
func syncAll(path string) (err error) {
	for range 100 {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // an engine's companion file
		}
		if err = driver.SyncTree(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}
