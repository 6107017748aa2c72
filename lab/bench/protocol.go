package bench

import (
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// The parent drives a child over its standard input and output: one JSON request a line, one JSON
// response a line.

// request is one command to a child.
type request struct {
	Command command
	Probe   *probeSpec    `json:",omitempty"`
	Cell    *cellSpec     `json:",omitempty"`
	Slice   *sliceSpec    `json:",omitempty"`
	Target  time.Duration `json:",omitempty"` // of calibrate: how long a slice should take; of warm: how long to work
	Least   int           `json:",omitempty"` // of warm: how many operations, if warmStretch times Target allows
	Compact bool          `json:",omitempty"` // of finish: compact the store, too
}

type command string

const (
	cmdProbe     command = "probe"     // open a fresh store and tell what it promises
	cmdSetup     command = "setup"     // create a cell's runner and load its store
	cmdWarm      command = "warm"      // work without being measured
	cmdCalibrate command = "calibrate" // find how many iterations fill a slice
	cmdSlice     command = "slice"     // run one slice, timed
	cmdPrepare   command = "prepare"   // put in place what iterations need, without doing them
	cmdDo        command = "do"        // do the iterations that were prepared, and nothing else
	cmdFinish    command = "finish"    // measure sizes, close the store
)

type probeSpec struct {
	Entry Entry
	Dir   string
}

// cellSpec is what a child needs to know of its cell.
type cellSpec struct {
	Workload, Operation string
	Params              map[string]string
	Engine, Options     string
	Form                string
	Durability          kv.Durability
	Slow                float64 // as in Entry
	Seed                uint64
	Dir                 string
	Helper              []string
}

type sliceSpec struct {
	N      int
	Settle int     // iterations before those, which are not counted
	Rate   float64 // operations a second in open-loop mode; 0 is closed-loop
	Forget bool    // the latencies of the slices before this one
	keep   bool    // the store as it is, however old: making it again would be counted
}

// response answers one request. Error is empty on success.
type response struct {
	Error    string        `json:",omitempty"`
	Hint     string        `json:",omitempty"`
	Refused  bool          `json:",omitempty"` // the cell cannot run here (kv.Unsupported): skipped, not failed
	Invalid  bool          `json:",omitempty"` // what was asked for is wrong (kv.Invalid)
	Promises []kv.Promise  `json:",omitempty"`
	Setup    *setupReport  `json:",omitempty"`
	Slice    *sliceReport  `json:",omitempty"`
	Finish   *finishReport `json:",omitempty"`
}

type setupReport struct {
	Description workload.Description
	Size        kv.Size
	Goroutines  int  // with the store open and idle
	Workers     int  // goroutines that do the operation
	Cycle       int  // a slice is a whole number of so many iterations
	Resets      bool // every iteration needs something put in place, untimed
	Apart       bool // other processes do the operation
	Staying     bool // they live on after it
}

type sliceReport struct {
	N          int
	Wall       time.Duration // of the whole slice
	NS         float64       // per operation: Wall/N, or in open-loop mode the mean latency
	Allocs     float64       // of the slice's operations alone, without Prepare and Verify; so are the next three
	AllocBytes float64
	CPU        time.Duration
	Written    *int64 // nil where the system does not tell
	RSS        int64  // peak since setup
	Metrics    []workload.Metric
}

type finishReport struct {
	Churned   kv.Size
	Compacted *kv.Size
	Latencies []byte // of all slices since calibrate or Forget, as hdrhistogram encodes them
}
