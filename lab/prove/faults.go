package prove

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// faults is a task: a write or a sync fails, or the disk becomes full, while a process commits and, as far as the engine
// lets it, goes on and closes the store. Then it ends, and of what is on the disk everything counts: a promise of Synced is also held against
// what would be left if power failed at that moment.
func (l *lane) faults(ctx context.Context, t *task) error {
	for l.more(t) {
		if err := l.faultRound(ctx, t, l.seed(t)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) faultRound(ctx context.Context, t *task, seed uint64) error {
	f, err := l.figures(ctx, t.pair)
	if err != nil {
		return err
	}
	o, nth := l.faultOf(t.fault, f, seed)
	g, err := l.newRig(o)
	if err != nil {
		return err
	}
	defer func() { _ = g.close() }() // nothing is on it that is needed
	p := newPast(seed, l.writers(t.pair, seed))
	n := len(p.Chains)
	spec := writeSpec{Store: t.store(g.dir), Past: p, From: make([]uint64, n), Commits: uint64(spanCommits / n), Resume: true, Close: true}
	r, err := l.runUntilEnd(ctx, g, spec)
	if err != nil {
		return err
	}
	crash, err := g.crash()
	if err != nil {
		return err
	}
	if r.hung {
		l.warnHung(t)
	}
	tr := trial{seed: seed, cut: nth, past: p.after(r.ledger), ledger: r.ledger, at: r.at}
	c := t.cells[0]
	c.crash(tr)
	rules := []powerfs.Rule{everything}
	if t.caps.Class == kv.Synced {
		rules = append(rules, nothing)
	}
	known := map[[32]byte]bool{}
	for _, rule := range rules {
		img := crash.Image(rule, 0)
		if known[img.Sum()] {
			continue
		}
		known[img.Sum()] = true
		out, err := l.examineImage(ctx, t, img, tr.past, seed, true)
		if err != nil {
			return err
		}
		if r.trouble != nil {
			out.broken("while it ran: " + r.trouble.Error())
		}
		l.record(c, tr, out)
		t.saw(c, img.Sum(), out)
	}
	return nil
}

// faultOf returns a disk that fails in the round with a seed, and the number of the operation that fails.
func (l *lane) faultOf(fault string, f *figures, seed uint64) (o powerfs.Options, nth uint64) {
	rng := rand.New(rand.NewPCG(mix(seed, "fault"), seed))
	one := powerfs.Fault{Op: powerfs.OnWrite, Err: syscall.EIO, Sticky: rng.IntN(2) == 0, Short: rng.IntN(4) == 0}
	most := f.writes
	if fault == result.FaultENOSPC {
		if rng.IntN(2) == 0 {
			o.Space = 1 + rng.Int64N(max(f.used, 1))
			return o, 0
		}
		one.Err = syscall.ENOSPC
	} else if rng.IntN(2) == 0 && f.syncs > 0 {
		one.Op, one.Short, most = powerfs.OnSync, false, f.syncs
	}
	if one.Nth = 1 + rng.Uint64N(max(most, 1)); l.Cut > 0 {
		one.Nth = l.Cut
	}
	o.Faults = []powerfs.Fault{one}
	return o, one.Nth
}

// runUntilEnd has a process commit until it has done all that spec says, or given up, or crashed, or says nothing any
// more and is killed: when its disk fails, an engine may do all of that, as long as the store is what it promised.
func (l *lane) runUntilEnd(ctx context.Context, g *rig, spec writeSpec) (run, error) {
	w, err := startWriter(l.Child, spec, 0, nil)
	if err != nil {
		return run{}, err
	}
	answered := true
	for said := -1; ; {
		limited, cancel := context.WithTimeout(ctx, shortHang)
		_, err = w.wait(limited, nil)
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
		if now := w.said(); now != said {
			said = now
			continue
		}
		answered = false
		break
	}
	r := run{ledger: w.stop(), at: clock(), hung: !answered}
	for _, f := range r.ledger.failed {
		if f.Wrong && r.trouble == nil {
			r.trouble = errors.New(f.Text)
		}
	}
	return r, ctx.Err()
}

// warnHung notes, once for each engine, that it did not return from a commit or from closing.
func (l *lane) warnHung(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := result.Warning{
		Text: fmt.Sprintf("%s hung after a failure of its disk: its process had to be killed", t.entry.Name),
		Hint: "give commits and closing a time limit in a program that must outlive a failing disk"}
	if !slices.Contains(l.proof.Warnings, w) {
		l.proof.Warnings = append(l.proof.Warnings, w)
	}
}

// after returns the past with what a process said of commits that failed: each of those may be there or not, and where
// the writer went on, it did so in a segment of its own.
func (p past) after(l ledger) past {
	p.Unsure = make([][]stampJSON, len(p.Chains))
	for _, f := range l.failed {
		p.Unsure[f.W] = append(p.Unsure[f.W], stampJSON{f.N, f.Salt})
	}
	for _, r := range l.resumed {
		p.Chains[r.W] = p.Chains[r.W].next(r.After, r.Salt)
	}
	return p
}
