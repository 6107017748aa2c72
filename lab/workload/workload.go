// Package workload holds the work that engines are compared on: what real applications do with a
// local store.
//
// Each [Workload] is a set of operations from one published comparison or a standard mix. A
// [Runner] does one operation on one engine; package bench drives it, times it and counts what it
// used. Workloads are seeded, so the same seed gives the same work on every engine, and checked:
// every read is compared with what was written, and values change at every write. They know kv and
// the stores, and no engine.
package workload

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// Workload is a named set of operations.
type Workload struct {
	Name    string
	Summary string  // one line: what kind of program does this
	Params  []Param // what can be varied
	Forms   []Form  // the ways to do its operations, of which an engine has some: see Op.Forms
	Ops     []Op

	// Helper is the whole life of a process that a Runner started as Env.Self, the workload's name,
	// and args; nil where there are none. Its error is printed on standard error before the process
	// ends with status 1.
	Helper func(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error
}

// Form is a way to do the operations of a workload on an engine. Reports name it behind a slash:
// sqlite/sql.
type Form struct {
	Name    string // "kv" alone is not shown behind an engine
	Summary string // a few words
}

// throughKV is what every engine can.
var throughKV = Form{"kv", "through package kv; shown as the engine alone, without a slash"}

// Param is one thing about a workload that can be varied: assay run 'hook?keys=100,10k'. A list of
// values separated by commas is a measurement of each; a Runner is given one of them.
type Param struct {
	Name    string
	Default string // may be a list, of which a run that names no workload takes the first
	Usage   string // one line, with the unit

	// Of are the operations that it bears on; nil is all.
	Of []string
}

// Defaults returns the values that Default lists. A Runner that is given none takes the first.
func (p Param) Defaults() []string { return strings.Split(p.Default, ",") }

// Op is one operation of a workload.
type Op struct {
	Name    string
	Summary string // what one iteration does

	// Commits tells that the operation writes, so that it is measured once for each promise that
	// the engine makes. An operation that only reads is measured once.
	Commits bool

	// Core operations run when no workload was named; all of a named workload's operations run.
	Core bool

	// Workers is how many goroutines call Do at the same time; 0 is one.
	Workers int

	// Items is how many records one iteration reads or writes, for a rate; 0 is one.
	Items int

	// Cycle is how many iterations hold each kind of work of a mix in its proportion. A slice is a
	// whole number of them, for which Prepare draws exactly these parts. 0 is one: all iterations
	// are of a kind.
	Cycle int

	// Sized operations are about the space taken: the store is also compacted at the end, and
	// measured again.
	Sized bool

	// Forms names the ways to do the operation on an engine with options, a URL query: "kv" through
	// kv, which every engine has, "sql" natively in SQL. Nil is kv alone.
	Forms func(engine, options string) []string

	// CoreForms are those in which a core operation runs when no workload was named; nil is all.
	CoreForms []string

	// Own names parameters that bear on this operation alone. It runs where it is named, or one of
	// them is given.
	Own []string

	// Shape tells Cycle and Commits of an operation whose parameters decide them; nil is as they
	// are above.
	Shape func(params map[string]string) (cycle int, commits bool)

	// New returns a Runner that has done nothing yet. Wrong parameters are kv.Invalid.
	New func(Env) (Runner, error)
}

// Env is what a Runner works in.
type Env struct {
	Dir        string            // an empty folder of its own
	Engine     string            // the engine's name, a scheme registered with kv
	Options    string            // the engine's options as a URL query without "?", may be empty
	Form       string            // one of the operation's forms
	Durability kv.Durability     // the class asked for at every commit of the measured operation
	Seed       uint64            // everything random comes from it
	Params     map[string]string // the workload's parameters that were given; names are checked

	// Self is the command that runs this program again, as a helper process of a workload: see
	// [Helper]. Empty where that is not possible, and operations that need it are then an
	// Unsupported error.
	Self []string

	Logger *slog.Logger
}

// Runner does one operation on one engine.
//
// The calls are: Setup, then any number of slices (Prepare, Do for each worker and iteration,
// Verify), then the rest. Do is called concurrently by different workers, everything else by one
// goroutine.
type Runner interface {
	// Setup creates the store and loads it.
	Setup(ctx context.Context) error

	// Prepare draws the inputs of the next slice: Do will be called once for each i in [0, n), in
	// order by one worker, split among several. It is not timed.
	Prepare(n int) error

	// Do is one iteration, timed. worker is in [0, Workers). It checks what it reads, or keeps it
	// for Verify where the check would cost as much as the read.
	Do(ctx context.Context, worker, i int) error

	// Verify checks what the slice left to check. It is not timed.
	Verify(ctx context.Context) error

	// Describe tells what the store is and promises, read back from it.
	Describe() Description

	// Size returns the space that the store takes now.
	Size() (kv.Size, error)

	// Compact gives back what space the engine can.
	Compact(ctx context.Context) error

	// Close ends everything; the folder is removed by the caller.
	Close() error
}

// Crowd is a Runner whose parameters say how many goroutines call Do at the same time, instead of
// Op.Workers. A slice is then a whole number of turns of all. Of a Crowd that is a Resetter too one
// goroutine calls Do, and each iteration is the work of so many processes.
type Crowd interface {
	Workers() int
}

// Resetter is a Runner whose iterations each need something put in place first, which is not timed.
type Resetter interface {
	Reset(ctx context.Context, worker, i int) error
}

// Restorer is a Runner whose store grows with use, and what an iteration costs with it. After every
// so many iterations its store is made again as Setup made it, untimed, so that the cost does not
// depend on how long it was measured.
type Restorer interface {
	// Every is that number; 0 is never.
	Every() int

	// Restore checks the store, and makes it again.
	Restore(ctx context.Context) error
}

// Whole is a Runner whose Verify may compare all that the store holds. It then need not come after
// each slice: once after several says as much.
type Whole interface {
	// Whole reports whether it does.
	Whole() bool
}

// Apart is a Runner whose iterations are done by processes of their own. What its own process
// allocates, and the memory that this takes, tell nothing of them.
type Apart interface {
	// Staying reports whether they live on after an iteration. Of those that do, the system does
	// not tell yet how much processor time they took and what they wrote.
	Staying() bool
}

// Weaker is a Runner that may commit by another class for a while. What a store becomes in use, one
// with a log that was full once, it becomes sooner where commits wait for nothing.
type Weaker interface {
	// Commit sets the class by which Do commits from now on, and returns the one until now.
	Commit(d kv.Durability) (before kv.Durability)
}

// Metered is a Runner that measures something of its own: waiting for locks, processes that were
// killed.
type Metered interface {
	// Metrics returns what was measured since the last call of Prepare.
	Metrics() []Metric
}

// Metric is one such figure of one slice. Slices are combined by their medians, or summed where Sum
// is set.
type Metric struct {
	Name  string // unit last, as in "lock-wait-p99-ns"
	Value float64
	Sum   bool
}

// Description is what a store says of itself.
type Description struct {
	Promise  kv.Promise    // what the commits of the measured operation survive
	Settings []kv.Setting  // read back from the engine
	Open     time.Duration // one open of the loaded store
}

// Lookup returns the workload called name.
func Lookup(name string) (Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// Op returns the operation called name.
func (w Workload) Op(name string) (Op, bool) {
	for _, op := range w.Ops {
		if op.Name == name {
			return op, true
		}
	}
	return Op{}, false
}

// With returns op as it is with the given parameters.
func (op Op) With(params map[string]string) Op {
	if op.Shape != nil {
		op.Cycle, op.Commits = op.Shape(params)
	}
	return op
}

// Asked returns the operations that run where none was named: those that have parameters of their
// own if one of these was given, and the others if not.
func (w Workload) Asked(given func(param string) bool) (ops []Op) {
	for _, op := range w.Ops {
		if slices.ContainsFunc(op.Own, given) {
			ops = append(ops, op)
		}
	}
	if ops != nil {
		return ops
	}
	for _, op := range w.Ops {
		if op.Own == nil {
			ops = append(ops, op)
		}
	}
	return ops
}
