package prove

import (
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
)

// The defaults of Options.
const (
	DefaultBudget = 270 * time.Second
	DefaultHang   = 20 * time.Second
)

// Faults lists what can be inflicted, in the order of the proof's cells.
var Faults = []string{result.FaultKill, result.FaultPower, result.FaultRecovery, result.FaultEIO, result.FaultENOSPC}

// Options says what to prove and how. The zero value of a field is its default.
type Options struct {
	Entries []bench.Entry
	Classes []kv.Durability // asked for; nil is every class
	Faults  []string        // nil is all of Faults
	// Rules lists what may remain when power fails, as powerfs.ParseRule takes it:
	// "ordered/sectors". nil is every rule but those of powerfs.PerFile.
	Rules []string

	// Rounds is how many recorded runs, kills or faults each cell has, and bounds what is looked at
	// of each. 0 is as many as fit into the budget.
	Rounds int
	// Seed determines what is written, which operations fail and what remains. The first round uses
	// it as it is, so that the seed of a finding makes that round again.
	Seed uint64
	// Writers is how many goroutines commit at the same time. 0 is one in some rounds and several
	// in others.
	Writers int

	// Earlier is a proof by the same options that this one goes on with: what it found is part of
	// the result, and states that it has Seen are not counted again. Engines whose driver or
	// modules are others now begin anew, and so do promises of which something was not verified in
	// time. nil begins anew with all.
	Earlier *result.Proof
	// Anew, if set, is told of each of those engines and promises, and why.
	Anew func(what string, why error)

	Dir string // where the run makes its folder; "" is workdir.Default
	// Evidence is a folder for the states that lack what was claimed, one for each cell, for Again.
	// "" keeps none.
	Evidence string
	// Keep, if set, is called now and then with what was found so far, as if the run were
	// interrupted there, so that one that is killed can go on. It must not change it.
	Keep func(*result.Proof)

	Budget time.Duration // the whole run ends within, but every cell has at least one round
	Hang   time.Duration // a process that gives no answer for so long has hung

	Child    []string // the command that runs Child in a new process
	Command  []string // recorded in the result
	Progress func(Progress)
}

// Progress is where a run stands. It is reported whenever that changes; one call at a time.
type Progress struct {
	Engine  string // at work now, one of several
	Class   string
	Fault   string
	Round   int // of this engine, class and fault
	Rounds  int // 0: as many as fit into the budget
	Images  int // verified so far, in the whole run
	Unkept  int // cells so far in which a claimed property was disproved
	Done    int // engines × classes × faults that are done, of All
	All     int
	Elapsed time.Duration
	Budget  time.Duration
}

func (o Options) withDefaults() Options {
	if o.Classes == nil {
		o.Classes = []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered}
	}
	if o.Faults == nil {
		o.Faults = Faults
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Hang == 0 {
		o.Hang = DefaultHang
	}
	if o.Anew == nil {
		o.Anew = func(string, error) {}
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}
