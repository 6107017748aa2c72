package prove

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// checkRules reads the rules and asks whether power can fail on this machine.
func (r *runner) checkRules() error {
	r.rules, r.recoveryRules = r.Rules, r.Rules
	if r.Rules == nil {
		for _, rule := range powerfs.Rules() {
			r.rules = append(r.rules, rule.String())
		}
		r.recoveryRules = []string{powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Sectors}.String()}
	}
	for _, name := range r.rules {
		if _, err := powerfs.ParseRule(name); err != nil {
			return err
		}
	}
	for _, f := range r.Faults {
		if f != result.FaultKill {
			r.unavailable = powerfs.Available()
		}
	}
	return nil
}

// onPowerDisk does a task that needs a disk that can lose power.
func (l *lane) onPowerDisk(ctx context.Context, t *task) error {
	switch t.fault {
	case result.FaultPower:
		return l.power(ctx, t)
	case result.FaultRecovery:
		return l.recovery(ctx, t)
	}
	return l.faults(ctx, t)
}

// power is a task: power fails while a process commits, and what may be left of its store is compared.
func (l *lane) power(ctx context.Context, t *task) error {
	if t.round == 0 {
		if err := l.controlLying(ctx, t, powerfs.Options{Lying: true}); err != nil {
			return err
		}
	}
	if l.Every > 0 {
		if err := l.powerEvery(ctx, t); err != nil {
			return err
		}
	} else {
		for l.more(t) {
			seed := l.seed(t)
			at, err := l.cutOf(ctx, t, seed)
			if err != nil {
				return err
			}
			if err := l.powerRound(ctx, t, seed, at, mostCommits); err != nil {
				return err
			}
		}
	}
	return l.controlEverything(ctx, t)
}

// powerEvery cuts before every l.Every-th operation of a short run of one writer.
func (l *lane) powerEvery(ctx context.Context, t *task) error {
	f, err := l.figures(ctx, t.pair)
	if err != nil {
		return err
	}
	seed := l.Seed
	for l.Writers == 0 && l.writers(t.pair, seed) != 1 {
		seed = mix(seed, "one writer")
	}
	t.planned = (int(f.short) + l.Every - 1) / l.Every
	for cut := uint64(1); cut <= f.short && ctx.Err() == nil; cut += uint64(l.Every) {
		t.round++
		l.report(t)
		if err := l.powerRound(ctx, t, seed, moment{op: cut}, shortCommits); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// moment is when power fails: before an operation of the disk, or, where engines do their work in mapped memory and the
// disk hears of it late or never, after a number of acknowledgements.
type moment struct {
	op   uint64
	acks int
}

// cutOf returns the moment at which power fails in the round with a seed: one of four is while the store is created.
func (l *lane) cutOf(ctx context.Context, t *task, seed uint64) (moment, error) {
	if l.Cut > 0 {
		return moment{op: l.Cut}, nil
	}
	f, err := l.figures(ctx, t.pair)
	if err != nil {
		return moment{}, err
	}
	rng := rand.New(rand.NewPCG(mix(seed, "cut"), seed))
	n := l.writers(t.pair, seed)
	created, total := max(f.created[n], 1), f.total[n]
	switch {
	case rng.IntN(4) == 0:
		return moment{op: 1 + rng.Uint64N(created)}, nil
	case total < created+spanCommits/4:
		return moment{acks: 1 + rng.IntN(spanCommits)}, nil
	}
	return moment{op: created + 1 + rng.Uint64N(total-created)}, nil
}

// powerRound is one cut and the images of it.
func (l *lane) powerRound(ctx context.Context, t *task, seed uint64, at moment, commits int) error {
	crash, tr, trouble, err := l.cutPower(ctx, t, seed, at, commits)
	if err != nil {
		return err
	}
	defer func() { _ = crash.close() }() // nothing is on it that is needed
	cells := append([]*cell{t.control}, t.cells...)
	for _, c := range cells {
		c.crash(tr)
		switch {
		case late(trouble):
			l.record(c, tr, outcome{Late: true})
		case trouble != nil:
			l.record(c, tr, outcome{N: make([]uint64, tr.writers()), Gone: true, Broken: "while it ran: " + trouble.Error()})
		}
	}
	return l.images(ctx, t, crash.Crash, tr, seed, cells)
}

// crashed is a disk after a cut.
type crashed struct {
	*powerfs.Crash
	close func() error
}

// cutPower has a process commit on a fresh disk, cuts the power and returns the moment and what had been acknowledged.
func (l *lane) cutPower(ctx context.Context, t *task, seed uint64, at moment, commits int) (_ *crashed, _ trial, trouble, err error) {
	g, err := l.newRig(powerfs.Options{})
	if err != nil {
		return nil, trial{}, nil, err
	}
	p := newPast(seed, l.writers(t.pair, seed))
	n := len(p.Chains)
	spec := writeSpec{Store: t.store(g.dir), Past: p, From: make([]uint64, n), Commits: uint64(max(commits/n, 1))}
	r, err := l.runUntilCut(ctx, g, spec, at)
	if err != nil {
		return nil, trial{}, nil, errors.Join(err, g.close())
	}
	c, err := g.crash()
	if err != nil {
		return nil, trial{}, nil, errors.Join(err, g.close())
	}
	return &crashed{c, g.close}, trial{seed: seed, cut: at.op, past: p, ledger: r.ledger, at: r.at}, r.trouble, nil
}

// images verifies what may be left after a crash, by the rule of each cell. Images that are alike are verified once.
// Writing on takes most of the time, so that half of them are written on; which, depends on the image alone.
func (l *lane) images(ctx context.Context, t *task, crash *powerfs.Crash, tr trial, seed uint64, cells []*cell) error {
	known := map[[32]byte]outcome{}
	for _, c := range cells {
		rule, err := powerfs.ParseRule(c.Rule)
		if err != nil {
			return err
		}
		for i := range l.imagesOf(rule) {
			img := crash.Image(rule, mix(seed, "image", c.Rule, i))
			sum := img.Sum()
			o, ok := known[sum]
			if !ok {
				if o, err = l.examineImage(ctx, t, img, tr.past, seed, sum[0]%2 == 0); err != nil {
					return err
				}
				known[sum] = o
			}
			l.record(c, tr, o)
			t.saw(c, sum, o)
		}
	}
	return nil
}

// imagesOf returns how many images of a crash are worth looking at: one if the rule leaves no choice, and one of those
// that are of interest for portability only.
func (l *lane) imagesOf(rule powerfs.Rule) int {
	random := rule.Survivors != powerfs.Nothing && rule.Survivors != powerfs.Everything
	if random && (rule.Entries == powerfs.Ordered || l.Rules != nil) {
		return l.Images
	}
	return 1
}

// examineImage has an image verified, and written on if writeOn is set.
func (l *lane) examineImage(ctx context.Context, t *task, img *powerfs.Image, p past, seed uint64, writeOn bool) (outcome, error) {
	dir := l.folder("image")
	defer discard(dir)
	if err := img.Export(dir); err != nil {
		return outcome{}, err
	}
	spec := verifySpec{Store: t.store(dir), Past: p, Salt: mix(seed, "salt", 1)}
	if writeOn {
		spec.More = moreCommits
	}
	return l.verify(ctx, t, spec)
}

var (
	nothing    = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Nothing}
	everything = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Everything}
)

// controlLying proves that power cuts cut: on a lying disk, which ignores syncs, nothing may be left of what was
// acknowledged.
func (l *lane) controlLying(ctx context.Context, t *task, lying powerfs.Options) (err error) {
	if t.caps.Class != kv.Synced {
		return nil
	}
	g, err := l.newRig(lying)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	spec := writeSpec{Store: t.store(g.dir), Past: newPast(l.Seed, 1), From: []uint64{0}, Commits: shortCommits}
	r, err := l.runUntilCut(ctx, g, spec, moment{})
	if err != nil {
		return err
	}
	crash, err := g.crash()
	if err != nil {
		return err
	}
	left := 0
	if err := crash.Image(nothing, 0).Walk(func(f powerfs.File) error {
		if f.Path != "." {
			left++
		}
		return nil
	}); err != nil {
		return err
	}
	if acked := len(r.ledger.acks[0]); r.trouble == nil && (acked != shortCommits || left > 0) {
		return &controlError{fmt.Sprintf("on a disk that ignores syncs, %s got %d of %d commits acknowledged, and %d files survived the power cut",
			t.entry.Name, acked, shortCommits, left)}
	}
	return nil
}

// controlEverything proves that power cuts cut no more than they should: an image that holds everything that was
// written is what the death of a process leaves. An engine that has lost something there must do so when it is killed.
func (l *lane) controlEverything(ctx context.Context, t *task) error {
	control := t.control
	if t.caps.Class > kv.Flushed || control.keeps.failed == 0 {
		return nil
	}
	k := &task{pair: t.pair, fault: result.FaultKill, cells: []*cell{t.newCell(result.FaultKill, "")}}
	const tries = 10
	for i := range tries {
		if err := l.killRound(ctx, k, mix(l.Seed, "control", i)); err != nil {
			return err
		}
		if k.cells[0].keeps.failed > 0 {
			return nil
		}
	}
	return &controlError{fmt.Sprintf("%s lost commits in %d images that hold everything it wrote (%s), and none when it was killed",
		t.entry.Name, control.keeps.failed, control.What)}
}
