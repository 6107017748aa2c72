package observe

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
)

// ops are the operations that are counted. Those that are listed while they run come first, of
// these those that a program holds.
var ops = []string{"held snapshot", "held transaction", "view", "update", "open", "close", "snapshot", "begin",
	"commit", "write", "get", "len", "scan", "put", "delete", "delete range", "turn", "lock", "check", "compact",
	"backup", "sync"}

const (
	opCount     = 22
	lastHeld    = 1
	lastRunning = 3
	opClose     = 5
	firstQuick  = 2 // of those of which not all are timed if they are quick
	lastQuick   = 14
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

// What is quicker than quickest on the average is timed once in oneOf, at random: to look at the
// clock twice takes as long as 5 % of a write to Pebble. A rough clock, kept by a goroutine, still
// finds those that are slow.
const (
	quickest = 20 * time.Microsecond
	oneOf    = 32
	tick     = 10 * time.Millisecond
)

// operation is one of ops. It is a cache line: one that is quick looks at this line, and at its
// counter's, alone.
type operation struct {
	now        atomic.Int64               // ns since epoch, a tick ago at most; 0 if nobody keeps it
	counters   [4]atomic.Pointer[counter] // by class, of which there are three
	timed, sum atomic.Int64               // of those that were timed
	quick      atomic.Bool
	due        atomic.Bool // the next one is timed although they are quick
}

// note adds one that was timed.
func (p *operation) note(took time.Duration) {
	n, sum := p.timed.Add(1), p.sum.Add(int64(took))
	if is := n >= 256 && sum/n < int64(quickest); is != p.quick.Load() {
		p.quick.Store(is)
	}
}

// first makes the counter of a class, unless somebody else just did.
func (p *operation) first(d kv.Durability) *counter {
	p.counters[d&3].CompareAndSwap(nil, &counter{seed: rand.Uint64()})
	return p.counters[d&3].Load()
}

// counter counts one operation. All of it is atomic: HdrHistogram's own histograms are for one
// goroutine, and a lock would make writers wait that the engine does not make wait. Operations,
// their pairs and their bytes are counted in one word, by one addition; before a part of it
// overflows, it is moved to the totals.
type counter struct {
	recent             atomic.Uint64
	runs, pairs, bytes atomic.Int64
	longest            atomic.Int64 // ns
	seed               uint64
	failed             [kinds]atomic.Int64
	latency            [parts]atomic.Int64
	moves              sync.Mutex // held while recent is moved: what is in neither would be missed
}

// The parts of counter.recent, from its low end: bytes, pairs, operations. Each is moved when its
// highest bit is set, and what one operation adds leaves room for more goroutines than meet.
const (
	byteBits, pairBits, runBits = 28, 20, 16

	pairShift = byteBits
	runShift  = byteBits + pairBits
	full      = 1<<(byteBits-1) | 1<<(pairShift+pairBits-1) | 1<<(runShift+runBits-1)

	mostBytes = 1 << (byteBits - 12)
	mostPairs = 1 << (pairBits - 12)
)

// count counts e, whose latency stands for weight operations. It reports, at random, once in oneOf.
func (c *counter) count(e *kv.Event, weight int64) bool {
	add := uint64(1) << runShift
	if e.Bytes < mostBytes && e.Pairs < mostPairs {
		add |= uint64(e.Pairs)<<pairShift | uint64(e.Bytes)
	} else {
		c.pairs.Add(int64(e.Pairs))
		c.bytes.Add(int64(e.Bytes))
	}
	n := c.recent.Add(add)
	if n&full != 0 {
		c.total()
	}
	if weight > 0 || e.Err != nil || int64(e.Took) > c.longest.Load() {
		c.seldom(e, weight)
	}
	// What was counted differs each time: to mix it takes less than to draw a number.
	n = (n + uint64(c.runs.Load()) ^ c.seed) * 0xbf58476d1ce4e5b9
	return (n^n>>32)*0x94d049bb133111eb < 1<<63/oneOf*2
}

// seldom counts of e what few have.
func (c *counter) seldom(e *kv.Event, weight int64) {
	if weight > 0 {
		c.latency[partOf(int64(e.Took))].Add(weight)
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

// total moves what was counted lately to the totals, and returns these. They only grow.
func (c *counter) total() (runs, pairs, bytes int64) {
	c.moves.Lock()
	defer c.moves.Unlock()
	n := c.recent.Swap(0)
	return c.runs.Add(int64(n >> runShift)), c.pairs.Add(int64(n >> pairShift & (1<<pairBits - 1))),
		c.bytes.Add(int64(n & (1<<byteBits - 1)))
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
	f := Op{Op: op, Class: class}
	f.Count, f.Pairs, f.Bytes = c.total()
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
