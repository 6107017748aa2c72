package observe

import (
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
)

// Figures is all that is known of a store at one time. In JSON durations are in ns.
type Figures struct {
	Program string    `json:"program"` // the name of the binary
	PID     int       `json:"pid"`
	At      time.Time `json:"at"`
	Engine  string    `json:"engine"`
	Mode    string    `json:"mode"`
	Opened  time.Time `json:"opened"`           // since when is counted
	Closed  bool      `json:"closed,omitempty"` // the store is no longer open

	Ops       []Op          `json:"ops"`                // what happened at least once
	Slow      []Slow        `json:"slow,omitempty"`     // the last ones, the oldest first
	SlowTotal int64         `json:"slow_total"`         // how many there were
	Running   []Running     `json:"running,omitempty"`  // views and transactions that have not ended, the oldest first
	Lasting   int           `json:"lasting"`            // how many of these are over the limit of what is long
	Store     Store         `json:"store"`              // as it was found the last time
	Counted   []Figure      `json:"counted,omitempty"`  // by the engine itself
	Interval  time.Duration `json:"interval,omitempty"` // of the result of Since
}

// Figure is one number that the engine counts.
type Figure = kv.Figure

// Op is one operation of one class, as kv.Event names it.
type Op struct {
	Op        string           `json:"op"`
	Class     string           `json:"class,omitempty"` // the durability that was asked for
	Count     int64            `json:"count"`
	Failed    map[string]int64 `json:"failed,omitempty"` // by the kind of error; "not found" is one, and "in doubt"
	Pairs     int64            `json:"pairs"`            // read or written
	Bytes     int64            `json:"bytes"`
	Latency   Latency          `json:"latency"`
	Histogram string           `json:"histogram"` // of the latencies in ns, in HdrHistogram's compressed form, version 2, as text
}

// Latency is how long an operation took. All but Max are off by less than 1 %. Of operations that
// take less than 20 µs on the average one in 32 is timed, at random, and stands for 32; Max is that
// of all, to 10 ms.
type Latency struct {
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

// Slow is an operation that took long.
type Slow struct {
	Op     string        `json:"op"`
	Class  string        `json:"class,omitempty"`
	Within string        `json:"within,omitempty"` // the view or transaction that it was part of
	Ended  time.Time     `json:"ended"`
	Took   time.Duration `json:"took"`
	Pairs  int           `json:"pairs,omitempty"`
	Bytes  int           `json:"bytes,omitempty"`
	Err    string        `json:"err,omitempty"`
	Where  []string      `json:"where,omitempty"` // with Options.Where: what began the view or transaction
}

// Running is a view or transaction that has not ended.
type Running struct {
	Op    string        `json:"op"`
	For   time.Duration `json:"for"`
	Where []string      `json:"where,omitempty"` // with Options.Where: what began it, the innermost first
}

// Store is what a store looks like from outside.
type Store struct {
	Path    string    `json:"path"`
	At      time.Time `json:"at"`
	Size    kv.Size   `json:"size"`
	Log     int64     `json:"log"`     // bytes in the log that a recovery would read
	Missing bool      `json:"missing"` // nothing is at Path any more

	// Foreign is how often somebody else's commits were found, and when the last time: in looks at
	// the store, of which each may stand for many commits. Watched says whether that can be seen at
	// all.
	Foreign int64     `json:"foreign"`
	Last    time.Time `json:"last_foreign,omitzero"`
	Watched bool      `json:"watched"`

	// Disk is what holds the store, at the time of the Figures; nil where the system does not count
	// its flushes.
	Disk *Disk `json:"disk,omitempty"`
}

// Disk is what a disk did since the system began, for all programs: a sync of any engine ends in a
// flush, but for those that share one.
type Disk struct {
	Name      string        `json:"name"`
	Flushes   int64         `json:"flushes"`
	FlushTime time.Duration `json:"flush_ns"`
}

// Since returns what d counts more than before, the same disk earlier; nil if it is another one, or
// either is nil.
func (d *Disk) Since(before *Disk) *Disk {
	if d == nil || before == nil || d.Name != before.Name {
		return nil
	}
	return &Disk{d.Name, d.Flushes - before.Flushes, d.FlushTime - before.FlushTime}
}

// Figures returns what was counted until now, by the engine too. It looks at the store's files if
// the last look is older than a second, and a second is long beside what a look takes.
func (o *Observer) Figures() Figures {
	if o.sampler.due() {
		o.look()
	}
	f := Figures{Program: program(), PID: os.Getpid(), At: time.Now()}
	o.sampler.fill(&f)
	if counted := o.sampler.counts(); counted != nil {
		f.Counted = counted // as of f.At: what they differ between two looks is then a rate
	}
	f.Store.Disk = diskOf(f.Store.Path)
	for i := range o.ops {
		for d := range o.ops[i].counters {
			if c := o.ops[i].counters[d].Load(); c != nil {
				f.Ops = append(f.Ops, c.figures(ops[i], classOf(i, kv.Durability(d))))
			}
		}
	}
	f.Slow, f.SlowTotal = o.recent.list()
	for _, r := range o.running.oldest(longest, 0) {
		age := r.age()
		if age >= o.long {
			f.Lasting++
		}
		f.Running = append(f.Running, Running{Op: r.op, For: age, Where: r.frames()})
	}
	return f
}

func program() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(name)
}

// figure returns the one called name, and whether it is there.
func figure(list []Figure, name string) (int64, bool) {
	for _, f := range list {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// Since returns what f counts more than before, figures of the same observer at an earlier time:
// what happened in between, with the latencies of that alone. What is no count is that of f.
// Figures of another process, or of one that has begun anew, are returned as they are.
func (f Figures) Since(before Figures) Figures {
	if before.PID != f.PID || !before.Opened.Equal(f.Opened) || before.At.After(f.At) {
		return f
	}
	f.Interval = f.At.Sub(before.At)
	f.SlowTotal -= before.SlowTotal
	f.Store.Disk = f.Store.Disk.Since(before.Store.Disk)
	f.Ops = append([]Op(nil), f.Ops...)
	for i := range f.Ops {
		for j := range before.Ops {
			if b := &before.Ops[j]; b.Op == f.Ops[i].Op && b.Class == f.Ops[i].Class {
				f.Ops[i] = f.Ops[i].since(b)
			}
		}
	}
	f.Counted = append([]Figure(nil), f.Counted...)
	for i := range f.Counted {
		if b, ok := figure(before.Counted, f.Counted[i].Name); ok && f.Counted[i].Name != kv.LogBytes {
			f.Counted[i].Value -= b
		}
	}
	return f
}

func (op Op) since(before *Op) Op {
	d := Op{Op: op.Op, Class: op.Class, Count: op.Count - before.Count,
		Pairs: op.Pairs - before.Pairs, Bytes: op.Bytes - before.Bytes}
	for kind, n := range op.Failed {
		if n -= before.Failed[kind]; n > 0 {
			if d.Failed == nil {
				d.Failed = map[string]int64{}
			}
			d.Failed[kind] = n
		}
	}
	now, err := hdrhistogram.Decode([]byte(op.Histogram))
	if err != nil {
		return op
	}
	then, err := hdrhistogram.Decode([]byte(before.Histogram))
	if err != nil {
		return op
	}
	s, earlier := now.Export(), then.Export().Counts
	for i := range s.Counts {
		s.Counts[i] = max(s.Counts[i]-earlier[i], 0)
	}
	d.fill(hdrhistogram.Import(s))
	return d
}

// fill takes the latencies from h.
func (op *Op) fill(h *hdrhistogram.Histogram) {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	op.Latency = Latency{Mean: time.Duration(h.Mean()), Max: time.Duration(h.Max()),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9)}
	// It fails for geometries that cannot be, and writing to memory.
	text, _ := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	op.Histogram = string(text)
}

// AtMost returns how many of op's latencies were no longer than each bound, within the 1 % of the
// histogram, how many there are in all, which differs from Count where not all were timed, and
// their sum. Each only grows.
func (op Op) AtMost(bounds ...time.Duration) (counts []int64, all int64, sum time.Duration, err error) {
	h, err := hdrhistogram.Decode([]byte(op.Histogram))
	if err != nil {
		return nil, 0, 0, err
	}
	counts = make([]int64, len(bounds))
	for _, bar := range h.Distribution() {
		sum += time.Duration(bar.Count * (bar.From + (bar.To-bar.From)/2))
		for i, bound := range bounds {
			if bar.From <= int64(bound) {
				counts[i] += bar.Count
			}
		}
	}
	return counts, h.TotalCount(), sum, nil
}
