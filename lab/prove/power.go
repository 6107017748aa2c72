package prove

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// checkRules reads the rules and asks whether power can fail on this machine.
func (r *runner) checkRules() error {
	r.rules, r.recoveryRules = r.Rules, r.Rules
	if r.Rules == nil {
		for _, rule := range powerfs.Rules() {
			if rule.Entries != powerfs.PerFile { // that is tried when it is asked for
				r.rules = append(r.rules, rule.String())
			}
		}
		r.recoveryRules = []string{""}
	}
	for _, name := range r.rules {
		if _, err := powerfs.ParseRule(name); err != nil {
			return err
		}
	}
	r.unavailable = powerfs.Available()
	return nil
}

var (
	nothing    = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Nothing}
	everything = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Everything}
)

// shortCommits is how many commits the control makes, and the run that counts syncs.
const shortCommits = 24

// controlLying proves that power cuts cut: on a lying disk, which ignores syncs, nothing may be
// left of what was acknowledged.
func (l *lane) controlLying(ctx context.Context, t *task, lying powerfs.Options) error {
	if t.caps.Class != kv.Synced {
		return nil
	}
	r, err := l.record(ctx, t, scene{writers: 1, legs: []leg{{"", shortCommits}}}, l.Seed, run{options: lying})
	if err != nil {
		return err
	}
	img, err := r.end(nothing)
	if err != nil {
		return err
	}
	left := 0
	if err := img.Walk(func(f powerfs.File) error {
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

// countCommits measures syncs, writes and bytes of a commit on a disk that nothing happens to.
func (l *lane) countCommits(ctx context.Context, p *pair) error {
	r, err := l.record(ctx, &task{pair: p}, scene{writers: 1, legs: []leg{{"", 2 * shortCommits}}}, l.Seed, run{})
	if err != nil {
		return err
	}
	acks := r.ledger.acks[0]
	if len(acks) < shortCommits {
		return nil
	}
	f := &figures{commits: len(acks) - shortCommits/2}
	from := acks[shortCommits/2-1].Done // the first commits also create the store
	for _, s := range r.steps {
		switch {
		case s.Monotonic < from || s.Monotonic > acks[len(acks)-1].Done:
		case s.Kind == powerfs.OnSync:
			f.syncs++
		case s.Kind == powerfs.OnWrite:
			f.writes++
			f.bytes += int64(s.Bytes)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.measured = f
	return nil
}

// figures are counts of a pair's operations.
type figures struct {
	commits, syncs, writes int
	bytes                  int64
}

// warnHung notes, once for each engine, that it did not return from a commit or from closing.
func (l *lane) warnHung(t *task) {
	l.warn(result.Warning{
		Text: fmt.Sprintf("%s hung after a failure of its disk: its process had to be killed", t.entry.Name),
		Hint: "give commits and closing a time limit in a program that must outlive a failing disk"})
}

// warn notes what a reader must know, once.
func (l *lane) warn(w result.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proof.Warnings = united(l.proof.Warnings, []result.Warning{w})
}
