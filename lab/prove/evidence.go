package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/workdir"
)

// evidence is a state, how it came about, and what it lacks.
type evidence struct {
	rec   *recording // without a tape, if the store lay on a real disk
	i     int        // the operation before which the crash came
	state powerfs.State
	img   *powerfs.Image
	trial trial
	found outcome
	whole bool   // it lacks commits alone
	dir   string // where it was kept
}

// found counts a state, among the images of the rule that first led to it, and of one under which
// it is then seen to lack a property. Of what lacks one, the one with the smallest history is kept;
// one that is not whole before one that lacks commits.
func (c *cell) found(t *task, e evidence, v *verified, known bool) {
	lacks, broke, what := false, c.whole.failed, c.What
	if !known {
		lacks, v.in = c.record(e.trial, v.outcome), c
	} else if c.judged++; !v.lacks {
		if lacks = c.judge(e.trial, v.outcome); lacks && v.in != c && !v.Late {
			c.Images++
		}
	}
	if v.lacks = v.lacks || lacks; !lacks {
		return
	}
	if options := e.rec.store.Entry.Options; c.What != what && options != t.entry.Options {
		c.What = "with ?" + options + ": " + c.What
	}
	e.found, e.whole = v.outcome, c.whole.failed == broke // only commits are lost
	if s := c.shown; s == nil || s.whole && !e.whole || s.whole == e.whole && e.trial.acked() < s.trial.acked() {
		c.shown = &e
	}
}

// story is what a folder of evidence holds beside the files of the store.
type story struct {
	Engine   string     // and its promise
	Fault    string     //
	Moment   string     // of the crash
	State    string     // what of the changes that were not durable was there
	Before   []string   // the last operations before the crash, and those that failed
	Acked    [][]ack    // before it, of each writer
	Copies   []copied   // the backups that were made before it
	Refused  []failure  // the commits of which an error said before it that nothing is there
	At       int64      // by the clock of the acknowledgements
	Expected string     //
	Found    outcome    //
	Atomic   bool       // a transaction in part is a broken promise
	Verify   verifySpec // how it was verified
}

const (
	storyName = "story.json" // for Again
	tellsName = "story.txt"  // for people
	imageName = "store"
	lastSteps = 24
)

// keep writes the evidence of a cell to a folder.
func (c *cell) keep(dir string, t *task) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	e := c.shown
	image := filepath.Join(dir, imageName)
	if err := e.img.Export(image); err != nil {
		return err
	}
	keeps, whole := claims(t.caps, t.fault, c.Rule)
	s := story{Engine: t.entry.Name + " " + t.class.String(), Fault: t.fault, Moment: e.moment(),
		State: e.state.String(), At: e.trial.at, Found: e.found, Expected: expected(keeps, whole),
		Atomic: c.atomic, Acked: make([][]ack, e.trial.writers()),
		Verify: verifySpec{Store: e.rec.store, Past: e.rec.past, Salt: mix(e.rec.seed, "salt", 1), More: moreCommits,
			Reopen: e.img.Sum()[1]%2 == 0,
			Copies: e.rec.copies}}
	s.Verify.Store.Dir = ""
	for _, c := range e.trial.ledger.copies {
		if c.Done < e.trial.at {
			s.Copies = append(s.Copies, c)
		}
	}
	for _, f := range e.trial.ledger.failed {
		if f.Denied && f.At < e.trial.at {
			s.Refused = append(s.Refused, f)
		}
	}
	for w, list := range e.trial.ledger.acks {
		for _, a := range list {
			if a.Done < e.trial.at {
				s.Acked[w] = append(s.Acked[w], a)
			}
		}
	}
	for i, step := range e.rec.steps[:e.i] {
		if step.Failed || i >= e.i-lastSteps {
			s.Before = append(s.Before, fmt.Sprintf("%d %s", i+1, step))
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tells := strings.Join(append(s.tell(image), "found: "+s.lacks(s.Found), ""), "\n")
	return errors.Join(os.WriteFile(filepath.Join(dir, storyName), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, tellsName), []byte(tells), 0o644))
}

// moment says between which operations the crash came.
func (e *evidence) moment() string {
	if e.rec.tape == nil {
		return "kill -9 of the process; on a real disk, where its operations are not recorded"
	}
	if e.i == len(e.rec.steps) {
		return fmt.Sprintf("after all of %d operations", len(e.rec.steps))
	}
	return fmt.Sprintf("before operation %d of %d, %s", e.i+1, len(e.rec.steps), e.rec.steps[e.i])
}

// expected says what a cell promises.
func expected(keeps, whole bool) string {
	const opens = "a store that opens, passes its check and holds a prefix of the commits"
	switch {
	case keeps && whole:
		return opens + ", all that were acknowledged among them"
	case whole:
		return opens
	case keeps:
		return "all commits that were acknowledged"
	}
	return "nothing is promised here"
}

// tell says how the state below image came about, in lines.
func (s story) tell(image string) []string {
	lines := []string{s.Engine + ", fault: " + s.Fault, "crash: " + s.Moment, "left: " + s.State, "acknowledged before it:"}
	for w, list := range s.Acked {
		lines = append(lines, fmt.Sprintf("  by writer %d: %s", w, commits(list)))
	}
	lines = append(lines, "operations before it:")
	for _, step := range s.Before {
		lines = append(lines, "  "+step)
	}
	lines = append(lines, "on the disk:")
	for _, file := range workdir.Listed(image) {
		lines = append(lines, "  "+file)
	}
	return append(lines, "expected: "+s.Expected)
}

// commits names the commits of one writer.
func commits(list []ack) string {
	switch n := len(list); n {
	case 0:
		return "none"
	case 1:
		return fmt.Sprintf("commit %d", list[0].N)
	default:
		return fmt.Sprintf("%d commits, %d to %d", n, list[0].N, list[n-1].N)
	}
}

// lacks says what o, which a verifier has found, lacks of what was acknowledged; "" is nothing.
func (s story) lacks(o outcome) string {
	tr := trial{past: s.Verify.Past, ledger: ledger{acks: s.Acked, copies: s.Copies, failed: s.Refused}, at: s.At}
	c := &cell{atomic: s.Atomic}
	c.judge(tr, o)
	switch {
	case c.whole.failed > 0:
		return c.What
	case c.keeps.failed > 0:
		text := fmt.Sprintf("%d acknowledged commits are lost", c.Lost)
		for w, n := range o.N {
			text += fmt.Sprintf("; of writer %d there is what ends with commit %d", w, n)
		}
		return text
	case o.Late:
		return "no answer in time"
	}
	return ""
}

// Again verifies once more the state that a folder of evidence holds. What is lacking is the
// answer, "" is nothing; tells says how the state came about, in lines.
func Again(ctx context.Context, dir string, command []string) (tells []string, lacking string, err error) {
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
	tells = s.tell(filepath.Join(dir, imageName))
	s.Verify.Store.Dir = filepath.Join(work, imageName)
	p, err := child.Start(command)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = p.End(time.Second) }() // its answer is all that is wanted
	var m message
	if err := p.Call(ctx, "verify", request{Verify: &s.Verify}, &m, time.Minute); err != nil {
		return tells, err.Error(), ctx.Err()
	}
	return tells, s.lacks(*m.Done.Outcome), nil
}
