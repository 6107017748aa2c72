package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// evidence is a state that lacks a property, and how it came about.
type evidence struct {
	rec   *recording
	i     int
	state powerfs.State
	img   *powerfs.Image
	trial trial
	found outcome
	whole bool   // it lacks commits alone
	dir   string // where it was kept
}

// found counts a state of a recording. Of what lacks a property, the one with the smallest history
// is kept; one that is not whole before one that lacks commits.
func (c *cell) found(t *task, x *explorer, i int, s powerfs.State, img *powerfs.Image, tr trial, v *verified,
	known bool) {
	lacks, broke, what := false, c.whole.failed, c.What
	if !known {
		lacks = c.record(tr, v.outcome)
	} else if c.judged++; !v.lacks {
		lacks = c.judge(tr, v.outcome)
	}
	if v.lacks = v.lacks || lacks; !lacks {
		return
	}
	if options := x.rec.store.Entry.Options; c.What != what && options != t.entry.Options {
		c.What = "with ?" + options + ": " + c.What
	}
	whole := c.whole.failed == broke // only commits are lost
	if c.shown == nil || c.shown.whole && !whole || c.shown.whole == whole && tr.acked() < c.shown.trial.acked() {
		c.shown = &evidence{rec: x.rec, i: i, state: s, img: img, trial: tr, found: v.outcome, whole: whole}
	}
}

// story is what a folder of evidence holds beside the files of the store.
type story struct {
	Engine   string     // and its promise
	Fault    string     //
	State    string     // what of the changes that were not durable was there
	Before   []string   // the last operations before the crash
	Acked    [][]ack    // before it, of each writer
	Copies   []copied   // the backups that were made before it
	At       int64      // by the clock of the acknowledgements
	Expected string     //
	Found    outcome    //
	Atomic   bool       // a transaction in part is a broken promise
	Verify   verifySpec // how it was verified
}

const (
	storyName = "story.json"
	imageName = "store"
	lastSteps = 24
)

// keep writes the evidence to a folder.
func (e *evidence) keep(dir string, t *task, atomic bool) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := e.img.Export(filepath.Join(dir, imageName)); err != nil {
		return err
	}
	s := story{Engine: t.entry.Name + " " + t.class.String(), Fault: t.fault, State: e.state.String(), At: e.trial.at,
		Found:  e.found,
		Atomic: atomic, Acked: make([][]ack, e.trial.writers()),
		Verify: verifySpec{Store: e.rec.store, Past: e.rec.past, Salt: mix(e.rec.seed, "salt", 1), More: moreCommits,
			Reopen: e.img.Sum()[1]%2 == 0,
			Copies: e.rec.copies}}
	s.Verify.Store.Dir = ""
	for _, c := range e.trial.ledger.copies {
		if c.Done < e.trial.at {
			s.Copies = append(s.Copies, c)
		}
	}
	n := int64(0)
	for w, list := range e.trial.ledger.acks {
		for _, a := range list {
			if a.Done < e.trial.at {
				s.Acked[w] = append(s.Acked[w], a)
				n++
			}
		}
	}
	s.Expected = fmt.Sprintf("%d acknowledged commits, in a store that is whole", n)
	for i := max(e.i-lastSteps, 0); i < e.i; i++ {
		s.Before = append(s.Before, fmt.Sprintf("%d %s", i+1, e.rec.steps[i]))
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, storyName), append(data, '\n'), 0o644)
}

// Again verifies once more the state that a folder of evidence holds. What is lacking is the
// answer, "" is nothing; before says what led to it.
func Again(ctx context.Context, dir string, command []string) (before []string, lacking string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, storyName))
	if err != nil {
		return nil, "", &kv.Error{Op: "show again", Path: dir, Kind: kv.NoStore, Err: err,
			Hint: "name a folder that assay prove has named"}
	}
	var s story
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, "", &kv.Error{Op: "show again", Path: dir, Kind: kv.Corrupt, Err: err}
	}
	work, err := os.MkdirTemp("", "assay-again-*")
	if err != nil {
		return nil, "", err
	}
	defer discard(work)
	if err := os.CopyFS(filepath.Join(work, imageName), os.DirFS(filepath.Join(dir, imageName))); err != nil {
		return nil, "", err
	}
	s.Verify.Store.Dir = filepath.Join(work, imageName)
	p, err := child.Start(command)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = p.End(time.Second) }() // its answer is all that is wanted
	var m message
	if err := p.Call(ctx, "verify", request{Verify: &s.Verify}, &m, time.Minute); err != nil {
		return s.Before, err.Error(), ctx.Err()
	}
	tr := trial{past: s.Verify.Past, ledger: ledger{acks: s.Acked, copies: s.Copies}, at: s.At}
	c := &cell{atomic: s.Atomic}
	c.judge(tr, *m.Done.Outcome)
	before = append([]string{s.Engine + ", " + s.Fault + ", " + s.State + ", behind:"}, s.Before...)
	switch {
	case c.whole.failed > 0:
		lacking = c.What
	case c.keeps.failed > 0:
		lacking = fmt.Sprintf("%d acknowledged commits are lost", c.Lost)
	}
	return before, lacking, nil
}
