package observe

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
)

// ops are the operations that are counted. Those that are listed while they run come first, of these
// those that a program holds.
var ops = []string{"held snapshot", "held transaction", "view", "update", "open", "close", "snapshot", "begin", "commit",
	"write", "get", "len", "scan", "put", "delete", "delete range", "turn", "lock", "check", "compact", "backup"}

const (
	opCount     = 21
	lastHeld    = 1
	lastRunning = 3
	opClose     = 5
	classes     = 3
)

// withClass are the operations that have a class.
var withClass = []string{"held transaction", "update", "begin", "commit", "write"}

// opOf returns the place of op among ops, -1 if it has none. The compiler makes a search of it.
func opOf(op string) int {
	switch op {
	case "held snapshot":
		return 0
	case "held transaction":
		return 1
	case "view":
		return 2
	case "update":
		return 3
	case "open":
		return 4
	case "close":
		return opClose
	case "snapshot":
		return 6
	case "begin":
		return 7
	case "commit":
		return 8
	case "write":
		return 9
	case "get":
		return 10
	case "len":
		return 11
	case "scan":
		return 12
	case "put":
		return 13
	case "delete":
		return 14
	}
	return slices.Index(ops, op)
}

// classOf names the class of operation i, "" if it has none.
func classOf(i int, d kv.Durability) string {
	if i < 0 || !slices.Contains(withClass, ops[i]) {
		return ""
	}
	return d.String()
}

// The geometry of the histograms: HdrHistogram's, of two digits, so that a latency is off by less
// than 1 %. What is above 18 minutes counts as that.
const (
	lowestLatency  = 16 // ns
	highestLatency = 1<<40 - 1
	digits         = 2

	unitBits = 4 // 2^4 is lowestLatency
	halfBits = 7 // half of the 256 parts that two digits take
	parts    = (40 - unitBits - halfBits + 1) << halfBits
)

// kinds is how many kinds of error are counted; all beyond are the last.
const kinds = 32

// counter counts one operation. All of it is atomic, and what is counted always is one addition each:
// HdrHistogram's own histograms are for one goroutine, and a lock would make writers wait that the
// engine does not make wait.
type counter struct {
	pairs, bytes atomic.Int64
	longest      atomic.Int64 // ns
	failed       [kinds]atomic.Int64
	latency      [parts]atomic.Int64
}

func (c *counter) count(e *kv.Event) {
	c.latency[partOf(int64(e.Took))].Add(1)
	if e.Pairs > 0 {
		c.pairs.Add(int64(e.Pairs))
		c.bytes.Add(int64(e.Bytes))
	}
	if e.Err != nil {
		c.failed[min(int(kv.KindOf(e.Err)), kinds-1)].Add(1)
	}
	for longest := c.longest.Load(); int64(e.Took) > longest; longest = c.longest.Load() {
		if c.longest.CompareAndSwap(longest, int64(e.Took)) {
			return
		}
	}
}

// partOf returns where HdrHistogram counts v.
func partOf(v int64) int {
	v = min(max(v, 0), highestLatency)
	bucket := bits.Len64(uint64(v)|(1<<(halfBits+1)-1)<<unitBits) - unitBits - halfBits - 1
	return bucket<<halfBits + int(v>>(bucket+unitBits))
}

// figures returns what was counted so far.
func (c *counter) figures(op string, class string) Op {
	s := hdrhistogram.Snapshot{LowestTrackableValue: lowestLatency, HighestTrackableValue: highestLatency,
		SignificantFigures: digits, Counts: make([]int64, parts)}
	for i := range c.latency {
		s.Counts[i] = c.latency[i].Load()
	}
	f := Op{Op: op, Class: class, Pairs: c.pairs.Load(), Bytes: c.bytes.Load()}
	for kind := range c.failed {
		if n := c.failed[kind].Load(); n > 0 {
			if f.Failed == nil {
				f.Failed = map[string]int64{}
			}
			f.Failed[kv.Kind(kind).Error()] += n
		}
	}
	f.fill(hdrhistogram.Import(&s))
	f.Latency.Max = time.Duration(c.longest.Load())
	return f
}
