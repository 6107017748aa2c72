// Package bench runs workloads on engines and measures them.
//
// Each contender of an operation works in a child process of its own. Only one child runs at a
// time; the others are stopped. Every round visits all contenders in random order, so that drift of
// the machine meets all alike. After a sitting of some rounds the processes end; who is surely far
// behind, or surely told apart, sits no more, and time goes to what is open. See docs/measuring.md.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workdir"
)

// The defaults of Options.
const (
	DefaultBudget    = 90 * time.Second
	DefaultPrecision = 0.05
	DefaultHang      = 30 * time.Second
)

// Options says what to run and how. The zero value of a field is its default.
type Options struct {
	Entries    []Entry
	Selections []Selection     // nil is DefaultSelections
	Classes    []kv.Durability // asked for; nil is every class, without Synced where nothing can be synced
	Strongest  bool            // of Classes that are nil, only the strongest
	Dir        string          // where the run makes its folder; "" is workdir.Default
	// of a modelled disk that is mounted in that folder for the data; zero is the folder's own disk
	Storage   powerfs.Latency
	Budget    time.Duration // the whole run ends within
	Precision float64       // half-width of a ratio's interval at which it is known well enough; 0.05 is 5 %
	Even      bool          // nobody leaves early, however sure it is who is faster
	Rounds    int           // of each operation, at most; 0 is as many as are of use
	Seed      uint64
	Form      string        // leaves out the other forms of operations: "kv", "sql"; "" is all
	Rate      float64       // operations per second in open-loop mode; 0 is closed-loop
	Hang      time.Duration // a child that gives no answer for so long has hung

	// Child is the command that runs Child in a new process, Helper the one that runs
	// workload.Helper.
	Child, Helper []string
	Unranked      string // why timings of Child mean nothing: "built with -race"; of this binary's own they are known

	Proofs result.Proofs // say of each promise whether it was proved
	// runs that were kept, the newest first: they tell before the start what a run needs
	Earlier iter.Seq[*result.Run]
	// a run on another machine, which tells that where none of Earlier does; nil if there is none
	Elsewhere *result.Run

	Command  []string // recorded in the result
	Progress func(Progress)
}

// Progress is where a run stands.
type Progress struct {
	Workload, Operation string
	Params              string // of the workload, as a URL query
	Phase               string // "probe", "plan", "load", "warm up", "measure", "close"
	Engine              string // at work now
	Round               int
	Group, Groups       int // operations: this one, counted from 1, and all
	Elapsed, Budget     time.Duration
	Needs               time.Duration // of phase "plan": about how long a run takes that decides all this
	By                  string        // of phase "plan": what tells that, such as "its first rounds"
}

// Run measures. It returns what was measured even if ctx ended meanwhile (Interrupted is then set)
// or cells failed; an error means that nothing could be run. Nothing is left in Dir.
func Run(ctx context.Context, o Options) (_ *result.Run, err error) {
	o = o.withDefaults()
	if len(o.Entries) == 0 || len(o.Selections) == 0 {
		return nil, invalid(errors.New("nothing to run"), "name at least one engine and one workload")
	}
	if o.Dir == "" {
		if o.Dir, err = workdir.Default(); err != nil {
			return nil, err
		}
	}
	dir, err := workdir.New(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	r := &runner{Options: o, machine: newMachine(), dir: dir, data: dir.Path, started: time.Now(),
		children: map[childKey]*child.Process{},
		random:   rand.New(rand.NewPCG(o.Seed, 0x61737361790a))}
	defer func() { err = errors.Join(err, r.unmount()) }()
	defer r.endSpares()
	defer r.endAll()
	if err := r.mount(); err != nil {
		return nil, err
	}
	r.floor.dir = r.data
	if err := r.describe(); err != nil {
		return nil, err
	}
	if err := r.probe(ctx); err != nil {
		return nil, err
	}
	r.measure(ctx)
	r.endAll()
	r.endSpares()
	r.run.Floor = r.floor.result()
	r.reportMachine()
	r.run.Took = time.Since(r.started)
	r.run.Interrupted = ctx.Err() != nil
	stats.Finish(&r.run)
	return &r.run, nil
}

func (o Options) withDefaults() Options {
	if o.Selections == nil {
		o.Selections = DefaultSelections()
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Precision == 0 {
		o.Precision = DefaultPrecision
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// hang returns how long an engine has for an answer, and whether the budget makes that so short
// that one who does not answer need not have hung.
func (o Options) hang() (limit time.Duration, short bool) {
	if o.Hang > 0 {
		return o.Hang, false
	}
	limit = min(DefaultHang, max(o.Budget/3, 5*time.Second))
	return limit, limit < DefaultHang
}

// runner is the state of a run.
type runner struct {
	Options
	run      result.Run
	dir      *workdir.Dir
	data     string   // the folder of the stores: dir's, or that of storage
	storage  *storage // nil if the stores lie on the folder's own disk
	floor    floor
	started  time.Time
	random   *rand.Rand
	promises map[string][]kv.Promise // by entry, indexed by the class asked for
	broken   map[string]error        // entries that could not be opened at all
	children map[childKey]*child.Process
	spares   []*child.Process // started for the next sitting while the last one closes its stores
	machine  machine
	named    bool // the classes were asked for by name
	cells    int  // made so far, for their folders' names
	groups   []*group
	rounds   int  // of all groups so far
	counting bool // nothing is timed any more
	planned  bool // it was said how long the run would have to be
	foreseen bool // an earlier run told how long this one must be

	counters  []*storage // mounted while syncs are counted
	countable *bool      // whether syncs can be counted; nil until it was tried
}

// childKey names a child process: one a contender and class.
type childKey struct {
	entry, form string
	class       kv.Durability
}

// describe records where and how the run takes place, and refuses what would be meaningless there.
func (r *runner) describe() error {
	env, warnings := result.CurrentEnvironment(r.data, r.modules())
	env.Networks = networks(r.Entries)
	env.Unranked = cmp.Or(env.Unranked, r.Unranked)
	if r.storage != nil {
		env.Storage = r.Storage.String()
	}
	r.run = result.Run{Schema: result.Schema, Command: r.Command, Started: r.started.UTC(), Seed: r.Seed,
		Precision: r.Precision, Environment: env, Warnings: warnings}
	for _, e := range r.Entries {
		if e.Plain != "" && slices.ContainsFunc(r.Entries, func(o Entry) bool { return o.Name == e.Plain }) {
			if r.run.Plain == nil {
				r.run.Plain = map[string]string{}
			}
			r.run.Plain[e.Name] = e.Plain
		}
	}
	r.named = r.Classes != nil
	if env.Tmpfs {
		if slices.Contains(r.Classes, kv.Synced) {
			return &kv.Error{Op: "run", Path: r.dir.Path, Kind: kv.Unsupported,
				Err:  errors.New("a tmpfs lies in memory: nothing on it can be synced, and synced timings would mean nothing"),
				Hint: "name a folder on a disk with --dir, or ask for --durability flushed"}
		}
		if r.Classes == nil {
			r.Classes = r.strongest([]kv.Durability{kv.Flushed, kv.Buffered})
			r.warn("the data lies on a tmpfs, where nothing can be synced: synced was left out",
				"name a folder on a disk with --dir")
		}
	}
	if r.Classes == nil {
		r.Classes = r.strongest(driver.Durabilities)
	}
	if !child.CanStop {
		r.warn("this system cannot stop a process: idle engines' background work may disturb the others", "")
	}
	if err := r.floor.measure(); err != nil {
		return &kv.Error{Op: "measure the disk in", Path: r.dir.Path, Kind: kv.KindOf(err), Err: err,
			Hint: "free some space, or name another folder with --dir"}
	}
	return nil
}

// strongest returns the classes, or only the first if no more were asked for.
func (r *runner) strongest(classes []kv.Durability) []kv.Durability {
	if r.Strongest {
		return classes[:1]
	}
	return classes
}

func (r *runner) warn(text, hint string) {
	r.run.Warnings = append(r.run.Warnings, result.Warning{Text: text, Hint: hint})
}

// modules returns the modules of the engines that take part.
func (r *runner) modules() []string {
	var modules []string
	for _, e := range r.Entries {
		if d, ok := driver.Lookup(e.Engine); ok {
			modules = append(modules, d.Info().Modules...)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// mount makes the modelled disk, if one was asked for.
func (r *runner) mount() (err error) {
	if r.Storage == (powerfs.Latency{}) {
		return nil
	}
	if err := powerfs.Available(); err != nil {
		return &kv.Error{Op: "storage", Path: r.Storage.Name, Kind: kv.Unsupported, Err: err, Hint: kv.HintOf(err)}
	}
	if r.storage, err = openStorage(r.dir.Path, r.Storage); err != nil {
		return err
	}
	r.data = r.storage.path
	return nil
}

func (r *runner) unmount() (err error) {
	for _, s := range append(r.counters, r.storage) {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

// probe asks the engines what they promise, each in a child of its own. An option with a wrong
// value ends the run; an engine that fails otherwise is shown as failed in every cell.
func (r *runner) probe(ctx context.Context) error {
	r.promises, r.broken = map[string][]kv.Promise{}, map[string]error{}
	r.Progress(Progress{Phase: "probe", Elapsed: time.Since(r.started), Budget: r.Budget})
	limit, _ := r.hang()
	resps, errs := make([]response, len(r.Entries)), make([]error, len(r.Entries))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0)) // half of the time they wait for the disk
	for i, e := range r.Entries {
		group.Go(func() error {
			p, err := child.Start(r.Child)
			if err != nil {
				return err
			}
			spec := probeSpec{Entry: e, Dir: filepath.Join(r.data, fmt.Sprintf("probe-%d", i))}
			errs[i] = p.Call(ctx, string(cmdProbe), request{Command: cmdProbe, Probe: &spec}, &resps[i], limit)
			_ = p.End(time.Second) // its answer is all that was wanted
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, e := range r.Entries {
		resp := resps[i]
		switch {
		case errs[i] != nil:
			r.broken[e.Name] = errs[i]
		case resp.Invalid:
			return &kv.Error{Op: "engine", Engine: e.Name, Kind: kv.Invalid, Err: errors.New(resp.Error),
				Hint: resp.Hint}
		case resp.Error != "":
			r.broken[e.Name] = &child.Error{Text: resp.Error, Hint: resp.Hint}
		}
		r.promises[e.Name] = resp.Promises
	}
	return nil
}

// child returns the process of a contender, starting it if there is none.
func (r *runner) child(key childKey) (*child.Process, error) {
	if p := r.children[key]; p != nil {
		return p, nil
	}
	if last := len(r.spares) - 1; last >= 0 {
		p := r.spares[last]
		p.Resume()
		r.children[key], r.spares = p, r.spares[:last]
		return p, nil
	}
	p, err := child.Start(r.Child)
	if err == nil {
		r.children[key] = p
	}
	return p, err
}

// ahead starts processes until there are n that have done nothing: to start takes a processor as
// long as to close a store, which mostly waits for the disk. One that cannot be started is tried
// again when it is needed, where that is an error of a cell.
func (r *runner) ahead(n int) {
	for len(r.spares) < n {
		p, err := child.Start(r.Child)
		if err != nil {
			return
		}
		r.spares = append(r.spares, p)
	}
}

// drop forgets a process that can no longer be used.
func (r *runner) drop(key childKey) {
	if p := r.children[key]; p != nil {
		_ = p.End(0) // how it ended was reported where it was noticed
		delete(r.children, key)
	}
}

// rest stops the processes that nobody needs yet, so that they use nothing while others run.
func (r *runner) rest() {
	for _, p := range r.spares {
		p.Suspend()
	}
}

// endAll ends the processes that have worked.
func (r *runner) endAll() {
	for _, p := range r.children {
		p.Resume()
		p.CloseInput() // all begin to end together
	}
	for key, p := range r.children {
		_ = p.End(5 * time.Second) // its results are in already
		delete(r.children, key)
	}
}

// endSpares ends the processes that have done nothing.
func (r *runner) endSpares() {
	for _, p := range r.spares {
		p.CloseInput()
	}
	for _, p := range r.spares {
		_ = p.End(time.Second) // there is no result of it
	}
	r.spares = nil
}
