package prove

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// recoveryCuts is how many times power fails again while the store of one image is opened.
const recoveryCuts = 3

// recovery is a task: what a power cut left is opened, and power fails again meanwhile.
func (l *lane) recovery(ctx context.Context, t *task) error {
	for l.more(t) {
		seed := l.seed(t)
		at, err := l.cutOf(ctx, t, seed)
		if err != nil {
			return err
		}
		if err := l.recoveryRound(ctx, t, seed, at); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) recoveryRound(ctx context.Context, t *task, seed uint64, at moment) error {
	crash, tr, _, err := l.cutPower(ctx, t, seed, at, mostCommits)
	if err != nil {
		return err
	}
	defer func() { _ = crash.close() }() // nothing is on it that is needed
	for _, c := range t.cells {
		rule, err := powerfs.ParseRule(c.Rule)
		if err != nil {
			return err
		}
		img := crash.Image(rule, mix(seed, "image", c.Rule, 0))
		total, err := l.cutRecovery(ctx, t, img, tr, 0, nil)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(mix(seed, "recovery", c.Rule), seed))
		for i := range recoveryCuts {
			op := uint64(i + 1) // where opening changes nothing, the end is as good a moment as any
			if total > 0 {
				op = 1 + rng.Uint64N(total)
			}
			if _, err := l.cutRecovery(ctx, t, img, tr, op, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutRecovery has a process open what is in img on a disk, whose power fails before operation cut, and records the
// images of that in c. It returns the number of operations; a cut of 0 only counts them.
func (l *lane) cutRecovery(ctx context.Context, t *task, img *powerfs.Image, tr trial, cut uint64, c *cell) (ops uint64, err error) {
	g, err := l.newRig(powerfs.Options{From: img})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	p, err := child.Start(l.Child)
	if err != nil {
		return 0, err
	}
	if cut > 0 {
		g.disk.CutBefore(cut, func() { g.settle(p.PID()) })
	}
	opened := make(chan error, 1)
	go func() {
		opened <- p.Call(ctx, "open", request{Verify: &verifySpec{Store: t.store(g.dir), Past: tr.past}}, new(message), l.Hang)
	}()
	select {
	case <-opened:
		ops = g.disk.Ops()
		g.disk.Cut()
		_ = p.End(0) // whatever it found: the images are what counts
	case <-g.disk.Down():
		p.Kill()
		<-opened
		_ = p.End(0) // it was killed
	}
	if ctx.Err() != nil || c == nil {
		return ops, ctx.Err()
	}
	crash, err := g.crash()
	if err != nil {
		return ops, err
	}
	c.crash(tr)
	return ops, l.images(ctx, t, crash, tr, mix(tr.seed, "recovery", cut), []*cell{c})
}
