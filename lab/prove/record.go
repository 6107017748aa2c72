package prove

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
)

// recording is one run of a writer process on a disk that keeps everything that is done to it.
type recording struct {
	scene     scene
	seed      uint64
	store     storeSpec // Dir is another one for each image
	tape      *powerfs.Tape
	steps     []powerfs.Step
	past      past
	ledger    ledger
	at        int64 // when it ended
	trouble   error // what went wrong, though nothing was done to the disk
	hung      bool
	mapped    bool // it wrote through memory maps, of which the disk hears late
	strikes   []powerfs.Strike
	recovered *candidate // what the disk held at first; nil is nothing
	options   powerfs.Options
}

// syncTime is how long a sync takes in a slow scene.
const syncTime = 2 * time.Millisecond

// record runs a scene on a disk. A past that is not empty is what is in the image that the disk begins with.
func (l *lane) record(ctx context.Context, t *task, s scene, seed uint64, o powerfs.Options, before *generation) (_ *recording, err error) {
	o.Record = true
	if s.slow {
		o.Latency.Sync = syncTime
	}
	g, err := l.newRig(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	faulty := len(o.Faults) > 0 || o.Space > 0
	r := &recording{scene: s, seed: seed, store: t.storeOf(s, g.dir)}
	spec := writeSpec{Store: r.store, Past: newPast(seed, s.writers), From: make([]uint64, s.writers), Legs: s.legs, Resume: faulty}
	spec.Past.Work = s.work
	if before != nil {
		spec.Past, spec.From = before.past, before.from
	}
	w, err := startWriter(l.Child, spec, 0, nil)
	if err != nil {
		return nil, err
	}
	d, ended, err := l.untilEnd(ctx, w, faulty)
	if err != nil {
		w.stop()
		return nil, err
	}
	r.hung = d == nil && ended == nil
	if ended == nil && !r.hung {
		g.settle(w.p.PID())
	}
	r.at = clock()
	g.disk.Cut()
	r.ledger = w.stop()
	crash, err := g.crash()
	if err != nil {
		return nil, err
	}
	r.trouble = troubleOf(d, r, ended, faulty, l.Hang)
	r.tape, r.past, r.strikes = g.disk.Tape(), spec.Past.after(r.ledger), g.disk.Struck()
	if before != nil {
		all := before.ledger
		all.add(r.ledger)
		r.ledger = all
	}
	r.steps = r.tape.Steps()
	for _, step := range r.steps {
		r.mapped = r.mapped || step.Cache && path.Ext(step.Path) != "" && !sharedIndex.MatchString(step.Path)
	}
	return r, r.faithful(crash)
}

// sharedIndex matches the file in which processes that use SQLite share an index of the log. It is made anew by the
// first that opens the store, so that what is in it after a crash does not matter.
var sharedIndex = regexp.MustCompile(`-shm$`)

// troubleOf returns what went wrong in a run. On a disk that fails, an engine may do anything but read what is wrong.
func troubleOf(d *doneMessage, r *recording, ended error, faulty bool, limit time.Duration) error {
	switch {
	case faulty:
		for _, f := range r.ledger.failed {
			if f.Wrong {
				return errors.New(f.Text)
			}
		}
		return nil
	case r.hung:
		return &lateError{limit}
	}
	return trouble(d, r.ledger, ended)
}

// faithful is a control: played again, the tape must lead to the files that the process saw.
func (r *recording) faithful(crash *powerfs.Crash) error {
	p, err := r.tape.Play()
	if err == nil {
		err = p.Forward(len(r.steps))
	}
	if err != nil {
		return err
	}
	img, err := p.Image(powerfs.Random(everything, 0))
	if err != nil {
		return err
	}
	if want := crash.Image(everything, 0); img.Sum() != want.Sum() {
		return &controlError{fmt.Sprintf("played again, %d operations lead to other files than the process had", len(r.steps))}
	}
	return nil
}

// untilEnd waits until a process has done all that was asked, or has ended, or says nothing any more for so long that it
// hangs.
func (l *lane) untilEnd(ctx context.Context, w *writer, faulty bool) (d *doneMessage, ended error, err error) {
	patience := l.Hang
	if faulty {
		patience = shortHang
	}
	for said := -1; ; {
		limited, cancel := context.WithTimeout(ctx, patience)
		d, err = w.wait(limited, nil)
		cancel()
		if err == nil || ctx.Err() != nil {
			return d, w.ended(), ctx.Err()
		}
		now := w.said()
		if now == said {
			return nil, nil, nil
		}
		said = now
	}
}

// after returns the past with what a process said of commits that failed: each of those may be there or not, and where
// the writer went on, it did so in a segment of its own.
func (p past) after(l ledger) past {
	out := past{Seed: p.Seed, Work: p.Work, Unsure: make([][]stampJSON, len(p.Chains))}
	out.Chains = append(out.Chains, p.Chains...)
	for w := range p.Unsure {
		out.Unsure[w] = append(out.Unsure[w], p.Unsure[w]...)
	}
	for _, f := range l.failed {
		out.Unsure[f.W] = append(out.Unsure[f.W], stampJSON{f.N, f.Salt})
	}
	for _, r := range l.resumed {
		out.Chains[r.W] = out.Chains[r.W].resumed(r)
	}
	return out
}

// generation is what a process finds that goes on in a store which was crashed before.
type generation struct {
	past   past
	from   []uint64
	ledger ledger // of what was acknowledged and is there
}

// trial returns the crash before the step at index i.
func (r *recording) trial(i int) trial {
	t := trial{seed: r.seed, cut: uint64(i) + 1, past: r.past, ledger: r.ledger, at: r.at}
	if i < len(r.steps) {
		t.at = r.steps[i].Monotonic
	}
	return t
}
