// Package result is one run on disk: what was measured, where, with which settings, and what was
// concluded.
//
// The document is result.json; docs/formats.md is its contract. It can be read with nothing else at
// hand, so this package imports the standard library and golang.org/x/sys only. Readers ignore
// fields that they do not know; a change that breaks readers gives the document a new Schema.
//
// Times are in nanoseconds, sizes in bytes. A value that was not measured is absent (nil), never 0.
package result

import "time"

// Schema names the format of the document.
const Schema = "assay.result/1"

// Run is one run of the lab.
type Run struct {
	Schema      string        `json:"schema"`
	Command     []string      `json:"command"`
	Started     time.Time     `json:"started"`
	Took        time.Duration `json:"took_ns"`
	Seed        uint64        `json:"seed"`
	Precision   float64       `json:"precision"` // the half-width asked for, 0.05 is 5 %
	Interrupted bool          `json:"interrupted,omitempty"`
	Warnings    []Warning     `json:"warnings,omitempty"`
	Environment Environment   `json:"environment"`
	Processes   Processes     `json:"processes"`
	Machine     *Machine      `json:"machine,omitempty"`     // during the run
	Measured    time.Duration `json:"measured_ns,omitempty"` // the part of Took in which operations were timed
	Spent       Spent         `json:"spent,omitzero"`        // most of the rest of Took
	Floor       Floor         `json:"floor"`
	// Plain names, of contenders that are more than their engine, the one of the run that is the
	// engine alone.
	Plain    map[string]string `json:"plain,omitempty"`
	Cells    []Cell            `json:"cells"`
	Verdicts []Verdict         `json:"verdicts"`
}

// Warning is something that a reader must know to trust the numbers: what was noticed and what to
// do about it.
type Warning struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Environment is where a run took place.
type Environment struct {
	Go         string            `json:"go"`
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel,omitempty"`
	CPU        string            `json:"cpu,omitempty"`
	CPUs       int               `json:"cpus"`
	Memory     int64             `json:"memory,omitempty"`
	FileSystem string            `json:"file_system,omitempty"` // "ext4"
	Device     string            `json:"device,omitempty"`
	Tmpfs      bool              `json:"tmpfs"`              // the data lay in memory: nothing can be synced
	Storage    string            `json:"storage,omitempty"`  // the modelled disk that the data lay on, with its parameters
	Networks   []string          `json:"networks,omitempty"` // by which those are reached that are on servers: "pg: loopback"
	Assay      string            `json:"assay,omitempty"`
	Modules    map[string]string `json:"modules,omitempty"`  // versions of the engines' modules
	Unranked   string            `json:"unranked,omitempty"` // why this binary's timings mean nothing: "built with -race"
}

// Floor is what the disk itself can do, measured in the same run with plain system calls.
type Floor struct {
	AppendSync    *Interval `json:"append_sync_ns,omitempty"`    // append 128 B to a file and sync its data
	OverwriteSync *Interval `json:"overwrite_sync_ns,omitempty"` // overwrite 4 KiB in place and sync the data
	OpenClose     *Interval `json:"open_close_ns,omitempty"`     // open, lock, read 4 KiB, close
}

// Processes says how much two processes of one program differ for as long as they live, as the
// sigma of the logarithm of their mean times, and by how many restarts that is known.
type Processes struct {
	Sigma   float64 `json:"sigma"`
	Freedom float64 `json:"freedom"`
}

// Machine is what else went on while a run lasted. What the system does not tell is absent.
type Machine struct {
	LoadBefore *float64 `json:"load_before,omitempty"` // load average of one minute, as the run began
	LoadMost   *float64 `json:"load_most,omitempty"`   // the highest seen during the run, which itself adds about 1
	Others     *float64 `json:"others,omitempty"`      // processor time of other programs, as a share of all processors
	Steal      *float64 `json:"steal,omitempty"`       // processor time that the hypervisor gave to other machines, as such a share
	CPUDrift   *float64 `json:"cpu_drift,omitempty"`   // how much slower the processor was in the slowest third of the run than in the fastest: 0.1 is 10 %
	DiskDrift  *float64 `json:"disk_drift,omitempty"`  // the same of a small append and its sync
}

// Spent is where the time of a run went beside Measured. What is left of Took began the run and
// ended it.
type Spent struct {
	Load    time.Duration `json:"load_ns"`    // processes were started, their stores loaded, the floor measured
	Warm    time.Duration `json:"warm_ns"`    // processes worked before they were measured
	Between time.Duration `json:"between_ns"` // slices settled, inputs were drawn, results checked, processes woken
	Close   time.Duration `json:"close_ns"`   // stores were closed, processes ended
	Count   time.Duration `json:"count_ns"`   // syncs and writes were counted
}

// Interval is an estimate and the bounds of its 95 % confidence interval.
type Interval struct {
	Lo  float64 `json:"lo"`
	Mid float64 `json:"mid"`
	Hi  float64 `json:"hi"`
}

// Status says how a cell ended.
type Status string

const (
	OK      Status = "ok"
	Failed  Status = "failed"  // the engine returned an error or a wrong answer, crashed or hung; the cell has no time
	Skipped Status = "skipped" // not run; Error says why
)

// Cell is one operation on one engine at one promise.
type Cell struct {
	Workload  string    `json:"workload"`
	Operation string    `json:"operation"`
	Params    string    `json:"params,omitempty"` // of the workload, as a URL query
	Engine    string    `json:"engine"`           // the name of the entry, unique in the run: "bbolt", "a"
	Form      string    `json:"form,omitempty"`   // "sql" where not through kv
	URL       string    `json:"url"`              // engine and options
	Ranked    bool      `json:"ranked"`           // false for the harness's own floor (null)
	Settings  []Setting `json:"settings,omitempty"`
	Promise   Promise   `json:"promise"`

	Status Status `json:"status"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`

	Workers int      `json:"workers"`
	Items   int      `json:"items"`             // records per operation
	Cycle   int      `json:"cycle,omitempty"`   // of a mix: how many operations hold each kind in proportion
	Rate    float64  `json:"rate,omitempty"`    // operations per second asked for in open-loop mode
	N       int64    `json:"n"`                 // operations measured
	Samples []Sample `json:"samples,omitempty"` // one a round
	Early   string   `json:"early,omitempty"`   // why it got no more rounds than it has: EarlyBehind or EarlyDecided
	// NS is total time over total operations; of a cell that is compared with the fastest, the time
	// of that times the ratio.
	NS      *Interval `json:"ns,omitempty"`
	Latency *Latency  `json:"latency,omitempty"`
	Ratio   *Ratio    `json:"ratio,omitempty"` // to the fastest ranked cell of the same table row group
	Floor   *float64  `json:"floor,omitempty"` // NS.Mid as a multiple of the disk's floor for such an operation

	Allocs     *float64 `json:"allocs,omitempty"`      // per operation
	AllocBytes *float64 `json:"alloc_bytes,omitempty"` // per operation
	// What an operation that commits asks of the disk, counted exactly in a short run on a disk
	// that counts. Where that could not be done, Written is what the system accounts to the process
	// over the whole measurement.
	Syncs   *float64 `json:"syncs,omitempty"`   // of files and folders, per operation
	Writes  *float64 `json:"writes,omitempty"`  // calls, and write-backs of mapped pages, per operation
	Written *float64 `json:"written,omitempty"` // bytes per operation
	Counted int      `json:"counted,omitempty"` // operations of that short run

	CPU        *float64 `json:"cpu,omitempty"` // processor time per operation
	RSS        *int64   `json:"rss,omitempty"` // peak, of the engine's process
	Open       *int64   `json:"open_ns,omitempty"`
	Files      *int     `json:"files,omitempty"`
	Goroutines *int     `json:"goroutines,omitempty"`
	Size       *Size    `json:"size,omitempty"`
	Metrics    []Metric `json:"metrics,omitempty"` // the workload's own figures
}

// Why a cell got no more rounds, though there was time: how it compared with the best was sure
// already, at a higher confidence than that of the ratio.
const (
	EarlyBehind  = "behind"  // it surely takes more than twice as long
	EarlyDecided = "decided" // its verdict is sure
)

// Setting is one setting of the engine, read back from it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Metric is one figure that a workload measures of its own; its name ends with the unit.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Promise is what the commits of a cell survive. Of an operation that only reads, Delivered is
// "read".
type Promise struct {
	Requested string `json:"requested,omitempty"`
	Delivered string `json:"delivered"` // "synced", "flushed", "buffered", "read"
	Intact    bool   `json:"intact"`    // the store stays whole when power fails
	Proof     string `json:"proof"`     // Proved, Disproved or Unproved
	// Images is how many crashed stores were verified to tell Proof; 0 of Unproved.
	Images int `json:"images,omitempty"`
	// States is how many of those were distinct.
	States int `json:"states,omitempty"`
}

// Sample is one round. Cells that have samples of the same round were measured together.
type Sample struct {
	Round   int     `json:"round"`
	N       int64   `json:"n"`
	NS      float64 `json:"ns"`                // per operation
	Process int     `json:"process,omitempty"` // the number of the process that measured it, from 0
}

// Latency is the distribution of single operations. In open-loop mode it counts from the intended
// start. A percentile beyond which fewer than 10 operations lie tells of these few alone, so that
// it is absent, here 0: P50 needs 20 operations, P90 100, P99 1,000 and P999 10,000.
type Latency struct {
	P50  int64 `json:"p50,omitempty"`
	P90  int64 `json:"p90,omitempty"`
	P99  int64 `json:"p99,omitempty"`
	P999 int64 `json:"p999,omitempty"`
	Max  int64 `json:"max"`
}

// Ratio compares a cell with another by their paired rounds: above 1 is slower. Lo and Hi are the
// interval that decides, corrected for the number of contenders of the operation.
type Ratio struct {
	To  string  `json:"to"` // the other cell's engine, and its form behind a slash if it has one
	Lo  float64 `json:"lo"`
	Mid float64 `json:"mid"`
	Hi  float64 `json:"hi"`
	// Different: the interval is clear of 1, and the difference is large enough to matter.
	Different bool `json:"different"`
	// Equivalent: not Different, and the whole interval lies so near to 1 that the two are as good
	// as equal. What is neither Different nor Equivalent is open.
	Equivalent bool `json:"equivalent,omitempty"`
}

// Open reports whether it is not decided how the two compare.
func (r Ratio) Open() bool { return !r.Different && !r.Equivalent }

// Size is the allocated space of the store in the course of a cell.
type Size struct {
	Loaded    *int64 `json:"loaded,omitempty"`
	Churned   *int64 `json:"churned,omitempty"`
	Compacted *int64 `json:"compacted,omitempty"`
}

// Verdict is what a group of cells shows.
type Verdict struct {
	Workload  string   `json:"workload"`
	Params    string   `json:"params,omitempty"`
	Operation string   `json:"operation,omitempty"` // empty for a verdict on a whole table
	Promise   Promise  `json:"promise"`
	Text      string   `json:"text"`
	Best      []string `json:"best"`
	Ties      []string `json:"ties,omitempty"` // those that are equivalent to the best
	Open      []string `json:"open,omitempty"` // those of which it is not decided how they compare with the best
}

// Name returns the name of a cell's contender: the engine, and the form behind a slash if it is not
// kv.
func (c Cell) Name() string {
	if c.Form == "" || c.Form == "kv" {
		return c.Engine
	}
	return c.Engine + "/" + c.Form
}
