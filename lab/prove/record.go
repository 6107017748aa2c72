package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
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
	began, at int64 // when its last process began, and ended
	trouble   error // what went wrong, though nothing was done to the disk
	hung      bool
	copies    bool // it made backups, and began with nothing
	mapped    bool // it wrote through memory maps, of which the disk hears late
	strikes   []powerfs.Strike
	options   powerfs.Options
	stopped   []int64 // when the processes were stopped, to see what their death would leave
	uses      []powerfs.Use
}

// In a slow scene a sync takes syncTime, and every fourth one hiccupTime, so that others come amid
// it on a busy machine, too. One in the background goes on until somebody does, for amidTime at
// most.
const (
	syncTime   = 2 * time.Millisecond
	hiccupTime = 8 * time.Millisecond
	amidTime   = 100 * time.Millisecond
)

// run is how a scene is recorded, beside the scene.
type run struct {
	options powerfs.Options
	before  *generation     // what is in the image that the disk begins with; nil is nothing
	dies    uint64          // of several processes, the last is killed before this operation; 0 is none
	kills   []uint64        // the operations at which the process is killed, which are done; another goes on then
	ofFault bool            // kills are counted from the first operation that fails, which is 0
	faults  []powerfs.Fault // that are to come once the last process begins
	freezes bool            // the processes are stopped again and again
	meets   *meeting        // two processes work one behind the other
	closes  bool            // a process that is done closes the store
}

// record runs a scene on a disk.
func (l *lane) record(ctx context.Context, t *task, s scene, seed uint64, in run) (_ *recording, err error) {
	o := in.options
	o.Record = true
	if s.slow {
		o.Latency = powerfs.Latency{Sync: syncTime, Hiccup: hiccupTime, Amid: amidTime}
	}
	g, err := l.newRig(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	faulty := len(o.Faults)+len(in.faults) > 0 || o.Space > 0
	r := &recording{scene: s, seed: seed, store: t.storeOf(s, g.dir), options: o}
	spec := writeSpec{Store: r.store, Past: newPast(seed, s.writers), From: make([]uint64, s.writers), Legs: s.legs,
		Resume: faulty, Close: in.closes}
	if s.slow {
		spec.Pause, spec.Level = 2*syncTime, s.level
	}
	spec.Past.Work = s.work
	spec.Buffers = slices.Contains([]kv.Durability{t.caps.Class, t.caps.Mixed, s.work.Loose}, kv.Buffered)
	r.ledger.acks = make([][]ack, s.writers)
	r.copies = in.before == nil && slices.ContainsFunc(s.legs, func(l leg) bool { return l.First == backup })
	if in.before != nil {
		spec.Past, spec.From, r.ledger = in.before.past, in.before.from, in.before.ledger
	}
	for _, k := range in.kills {
		if spec, err = l.killedAt(ctx, g, r, spec, k, in.ofFault); err != nil {
			return nil, err
		}
	}
	for _, f := range in.faults {
		if err := g.disk.Fail(f); err != nil {
			return nil, err
		}
	}
	r.began = clock()
	specs := []writeSpec{spec}
	switch {
	case in.meets != nil:
		specs = in.meets.oneBehindAnother(spec)
	case s.apart && len(in.kills) == 0:
		specs = apart(spec, s.writers)
	}
	all, err := l.finish(ctx, g, r, specs, faulty, in)
	if err != nil {
		return nil, err
	}
	crash, err := g.crash()
	if err != nil {
		return nil, err
	}
	r.tape, r.past, r.strikes, r.uses = g.disk.Tape(), spec.Past.after(all), g.disk.Struck(), g.disk.Uses()
	r.ledger.add(all)
	r.steps = r.tape.Steps()
	for _, step := range r.steps {
		r.mapped = r.mapped || step.Cache && path.Ext(step.Path) != "" && !sharedIndex.MatchString(step.Path)
	}
	return r, r.faithful(crash)
}

// apart returns what each of several processes is told, of which one alone does the upkeep.
func apart(spec writeSpec, writers int) []writeSpec {
	var all []writeSpec
	for w := range writers {
		one := spec
		if one.Only = []int{w}; w > 0 {
			one.Legs = slices.Clone(spec.Legs)
			for i, leg := range one.Legs {
				if leg.First == compact || leg.First == backup {
					one.Legs[i].First = ""
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// finish has processes do what is left to do, side by side, cuts the power behind them, and returns
// what they said.
func (l *lane) finish(ctx context.Context, g *rig, r *recording, specs []writeSpec, faulty bool,
	in run) (all ledger, err error) {
	var workers []*writer
	var died atomic.Int64 // when
	mortal := in.mortal(specs)
	all.acks = make([][]ack, len(specs[0].From))
	defer func() {
		for i, w := range workers {
			said := w.stop()
			if i == mortal && died.Load() > 0 {
				said.died(specs[i])
			}
			all.add(said)
		}
	}()
	if workers, err = l.start(ctx, g, r, specs, in, &died); err != nil {
		return all, err
	}
	stop := func() ([]int64, error) { return nil, nil }
	if in.freezes {
		stop = g.freezeOften(workers, r.seed)
	}
	for i, w := range workers {
		d, ended, err := l.untilEnd(ctx, w, faulty)
		stopped, failed := stop()
		if err = cmp.Or(err, failed); err != nil {
			return all, err
		}
		r.stopped = stopped
		killed := i == mortal && died.Load() > 0
		hung := d == nil && ended == nil
		if ended == nil && !hung {
			g.settle(w.p.PID())
		}
		r.hung = r.hung || hung
		r.trouble = cmp.Or(r.trouble, troubleOf(d, w.told(), hung, ended, faulty || killed, l.Hang))
	}
	if in.meets == nil {
		r.began = max(r.began, died.Load())
	}
	r.at = clock()
	g.disk.Cut()
	return all, nil
}

// start starts the processes of a run side by side, or one behind another. It returns those that it
// has started, even if it fails; died is when one was killed.
func (l *lane) start(ctx context.Context, g *rig, r *recording, specs []writeSpec, in run,
	died *atomic.Int64) (workers []*writer, err error) {
	for i, spec := range specs {
		w, err := startWriter(l.Child, spec, 1, func(w *writer) error {
			if i == in.mortal(specs) {
				in.arm(g, w, died)
			}
			return l.takeSyncs(g, r.scene, w)
		})
		if err != nil {
			return workers, err
		}
		if workers = append(workers, w); in.meets != nil && i == 0 {
			if err := l.untilStopped(ctx, w, in.meets); err != nil {
				return workers, err
			}
			r.began = clock()
		}
	}
	if in.meets != nil && in.meets.end(ctx, g, workers[0], workers[1]) {
		died.Store(clock())
	}
	return workers, nil
}

// mortal returns which of the processes may be killed: the last one, or the first one of a meeting.
func (in run) mortal(specs []writeSpec) int {
	if in.meets != nil {
		return 0
	}
	return len(specs) - 1
}

// arm has that process killed before an operation, or stopped behind one, if the run says so. When
// it was killed is stored.
func (in run) arm(g *rig, w *writer, died *atomic.Int64) {
	if in.dies > 0 {
		kill := killer(w.p.PID())
		g.disk.CallBefore(in.dies, func() {
			kill()
			died.Store(clock())
		})
	}
	if in.meets != nil {
		in.meets.arm(g, w.p.PID())
	}
}

// takeSyncs does the syncs of a process in a slow scene, so that others write to the same file
// meanwhile. Where the machine does not let it the process does them, and a warning says so.
func (l *lane) takeSyncs(g *rig, s scene, w *writer) error {
	if !s.slow {
		return nil
	}
	release, err := g.mount.TakeSyncs(w.p.PID(), w.handOver)
	if errors.Is(err, kv.Unsupported) {
		l.warn(result.Warning{Text: "writes to a file amid its own sync were not tried: " + err.Error(), Hint: kv.HintOf(err)})
		return nil
	}
	w.releaseSyncs = release
	return err
}

// sharedIndex matches the file in which processes that use SQLite share an index of the log. It is
// made anew by the first that opens the store, so that what is in it after a crash does not matter.
var sharedIndex = regexp.MustCompile(`-shm$`)

// troubleOf returns what went wrong in a run. On a disk that fails, an engine may do anything but
// read what is wrong.
func troubleOf(d *doneMessage, l ledger, hung bool, ended error, faulty bool, limit time.Duration) error {
	switch {
	case faulty:
		return l.wrong()
	case hung:
		return &lateError{limit}
	}
	return trouble(d, l, ended)
}

// faithful is a control: played again, the tape must lead to the files that the process saw.
func (r *recording) faithful(crash *powerfs.Crash) error {
	img, err := r.end(everything)
	if err != nil {
		return err
	}
	if want := crash.Image(everything, 0); img.Sum() != want.Sum() {
		return &controlError{fmt.Sprintf("played again, %d operations lead to other files than the process had",
			len(r.steps))}
	}
	return nil
}

// end returns what a cut at the end leaves by a rule that leaves one state: by everything, what the
// processes saw.
func (r *recording) end(rule powerfs.Rule) (*powerfs.Image, error) {
	p, err := r.tape.Play()
	if err != nil {
		return nil, err
	}
	if err := p.Forward(len(r.steps)); err != nil {
		return nil, err
	}
	return p.Image(powerfs.Random(rule, 0))
}

// untilEnd waits until a process has done all that was asked, or has ended, or says nothing any
// more for so long that it hangs.
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

// after returns the past with what a process said of commits that failed: each of those may be
// there or not, unless its error said that it is not, and where the writer went on, it did so in a
// segment of its own.
func (p past) after(l ledger) past {
	out := past{Seed: p.Seed, Work: p.Work, Unsure: make([][]stampJSON, len(p.Chains)),
		Refused: make([][]stampJSON, len(p.Chains))}
	out.Chains = append(out.Chains, p.Chains...)
	for w := range p.Unsure {
		out.Unsure[w] = append(out.Unsure[w], p.Unsure[w]...)
	}
	for w := range p.Refused {
		out.Refused[w] = append(out.Refused[w], p.Refused[w]...)
	}
	for _, f := range l.failed {
		if f.N == 0 { // a snapshot, and no commit
			continue
		}
		of := out.Unsure
		if f.Denied {
			of = out.Refused
		}
		of[f.W] = append(of[f.W], stampJSON{f.N, f.Salt})
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
	if i >= len(r.steps) {
		return t
	}
	t.at = r.steps[i].Monotonic
	return t
}
