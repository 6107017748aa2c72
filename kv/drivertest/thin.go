package drivertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/assaydb/assay/kv"
)

// Pair is one operation done twice: through the engine's own API and through kv, with the same
// promise and the same work. Raw and KV do the operation n times.
type Pair struct {
	Name  string
	Limit float64 // the ratio that KV ÷ Raw should not exceed; 0 is none
	Raw   func(n int) error
	KV    func(n int) error

	// Exception is why the limit cannot be kept; it is printed where the ratio is above.
	Exception string
}

const (
	thinSlice  = time.Millisecond // the least time of one slice
	thinRounds = 300              // pairs of slices per operation and b.N
)

// Thin measures how much slower kv is than the engine's own API.
//
// The two sides of a pair take turns in slices of about a millisecond, in random order within each
// turn, so that whatever else the machine does hits both. The result is the median of the ratios of
// the turns, with its 95 % interval; it is reported as the metric "ratio-NAME" and printed as a
// table. A pair whose whole interval is above its limit is named below the table; nothing fails,
// for a busy machine is no fault of the code. Measure for longer with -benchtime=5x; under -short
// the slices are a few, to see that all of it works.
func Thin(b *testing.B, pairs ...Pair) {
	rounds := thinRounds * b.N
	if testing.Short() {
		rounds = 10
	}
	var text, exceptions bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "op\traw ns\tkv ns\tratio\t95 %\tlimit\t\n")
	for _, p := range pairs {
		r, err := p.measure(rounds)
		if err != nil {
			b.Fatalf("%s: %v", p.Name, err)
		}
		b.ReportMetric(r.ratio, "ratio-"+p.Name)
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.3f\t%.3f..%.3f\t%.2f\t\n", p.Name, r.raw, r.kv, r.ratio, r.lo, r.hi, p.Limit)
		switch {
		case p.Limit == 0 || r.lo <= p.Limit:
		case p.Exception != "":
			fmt.Fprintf(&exceptions, "%s is above its limit: %s\n", p.Name, p.Exception)
		default:
			fmt.Fprintf(&exceptions, "%s is above its limit, which nothing explains\n", p.Name)
		}
	}
	w.Flush()
	b.Log("\n" + text.String() + exceptions.String())
}

// thinness is what Thin found: ns per operation, and the median ratio with its 95 % interval.
type thinness struct{ raw, kv, lo, ratio, hi float64 }

func (p Pair) measure(rounds int) (thinness, error) {
	n, err := p.sliceLength()
	if err != nil {
		return thinness{}, err
	}
	raws, kvs, ratios := make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
	for i := range rounds {
		first, second := p.Raw, p.KV
		swap := rand.N(2) == 1
		if swap {
			first, second = second, first
		}
		x, err := timeSlice(first, n)
		if err != nil {
			return thinness{}, err
		}
		y, err := timeSlice(second, n)
		if err != nil {
			return thinness{}, err
		}
		if swap {
			x, y = y, x
		}
		raws[i], kvs[i], ratios[i] = x, y, y/x
	}
	for _, s := range [][]float64{raws, kvs, ratios} {
		slices.Sort(s)
	}
	// The median's interval by order statistics: no assumption about the distribution.
	d := 0.98 * math.Sqrt(float64(rounds))
	at := func(x float64) int { return min(max(int(x), 0), rounds-1) }
	mid := rounds / 2
	return thinness{raw: raws[mid], kv: kvs[mid], ratio: ratios[mid],
		lo: ratios[at(float64(mid)-d)], hi: ratios[at(float64(mid)+d)]}, nil
}

// sliceLength returns how often both sides must run to fill a slice, and warms them up.
func (p Pair) sliceLength() (int, error) {
	for n := 1; ; n *= 2 {
		for _, side := range []func(int) error{p.KV, p.Raw} {
			ns, err := timeSlice(side, n)
			if err != nil {
				return 0, err
			}
			if ns*float64(n) < float64(thinSlice) {
				continue
			}
			return n, nil
		}
	}
}

// timeSlice returns the ns per operation.
func timeSlice(side func(int) error, n int) (float64, error) {
	start := time.Now()
	err := side(n)
	return float64(time.Since(start)) / float64(n), err
}

// The data of a ThinSide.
const (
	ThinKeys  = 10_000 // pairs in the store
	ThinScan  = 20     // pairs read by a scan
	ThinLong  = 1_000  // pairs read by a long one
	ThinBatch = 100    // pairs written by a batch
)

// ThinSide gives one side of the pairs its keys and values, at random. Keys are 16 bytes, values
// 100 bytes, and every value differs from all earlier ones of the side. It is used by one
// goroutine.
type ThinSide struct {
	rnd   *rand.Rand
	keys  [][]byte
	value []byte
	count uint64

	db    *kv.DB
	class kv.Durability
	batch kv.Batch
	buf   []byte
	// Pairs are how many a scan reads.
	Pairs int
	// Sum is where a scan puts what it read, so that no read is removed by the compiler.
	Sum int
}

// thinSides are how many sides there are.
var thinSides atomic.Uint64

// NewThinSide returns a side. Each has a sequence of its own: where both sides have one store, the
// one that came second to the same keys would find them in the processor's caches.
func NewThinSide() *ThinSide {
	s := &ThinSide{rnd: rand.New(rand.NewPCG(1, thinSides.Add(1))), value: bytes.Repeat([]byte("v"), 100), Pairs: ThinScan}
	for i := range ThinKeys {
		s.keys = append(s.keys, fmt.Appendf(nil, "key%013d", i*7))
	}
	return s
}

// NewThinKV returns the side that works on db, and fills db. Commits have the class d.
func NewThinKV(b *testing.B, db *kv.DB, d kv.Durability) *ThinSide {
	s := NewThinSide()
	s.db, s.class = db, d
	for _, key := range s.keys {
		s.batch.Put(key, s.Value())
	}
	if err := db.Write(b.Context(), d, &s.batch); err != nil {
		b.Fatal(err)
	}
	return s
}

// Key returns the next key, at random. It must not be changed.
func (s *ThinSide) Key() []byte { return s.keys[s.rnd.IntN(len(s.keys))] }

// Start returns the next key that has a whole scan after it.
func (s *ThinSide) Start() []byte { return s.keys[s.rnd.IntN(len(s.keys)-s.Pairs)] }

// Long has scan read ThinLong pairs.
func (s *ThinSide) Long(scan func(n int) error) func(n int) error {
	return func(n int) error {
		s.Pairs = ThinLong
		defer func() { s.Pairs = ThinScan }()
		return scan(n)
	}
}

// Value returns the next value, which holds until the next call.
func (s *ThinSide) Value() []byte {
	s.count++
	binary.LittleEndian.PutUint64(s.value, s.count)
	return s.value
}

// Touch reads from a pair that a scan returned.
func (s *ThinSide) Touch(key, value []byte) {
	s.Sum += int(key[0]) + int(key[len(key)-1]) + int(value[0]) + int(value[len(value)-1])
}

// Get reads n values within one View.
func (s *ThinSide) Get(n int) error {
	return s.db.View(context.Background(), func(snap *kv.Snapshot) (err error) {
		for range n {
			if s.buf, err = snap.Append(s.buf[:0], s.Key()); err != nil {
				return err
			}
		}
		return nil
	})
}

// ViewGet reads n values, each within its own View.
func (s *ThinSide) ViewGet(n int) error {
	for range n {
		if err := s.Get(1); err != nil {
			return err
		}
	}
	return nil
}

// GetAlone reads n values, each by itself.
func (s *ThinSide) GetAlone(n int) (err error) {
	for range n {
		if s.buf, err = s.db.Append(context.Background(), s.buf[:0], s.Key()); err != nil {
			return err
		}
	}
	return nil
}

// Scan reads Pairs pairs n times within one View.
func (s *ThinSide) Scan(n int) error {
	return s.db.View(context.Background(), func(snap *kv.Snapshot) error {
		for range n {
			left := s.Pairs
			for k, v := range snap.Scan(kv.Range{Start: s.Start()}) {
				s.Touch(k, v)
				if left--; left == 0 {
					break
				}
			}
			if left > 0 {
				return fmt.Errorf("scan ended %d pairs early", left)
			}
		}
		return nil
	})
}

// Put overwrites n pairs, each in its own Update.
func (s *ThinSide) Put(n int) error {
	for range n {
		err := s.db.Update(context.Background(), s.class, func(tx *kv.Tx) error { return tx.Put(s.Key(), s.Value()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// PutAlone overwrites n pairs, each without a transaction around it.
func (s *ThinSide) PutAlone(n int) error {
	for range n {
		if err := s.db.Put(context.Background(), s.class, s.Key(), s.Value()); err != nil {
			return err
		}
	}
	return nil
}

// Batch overwrites 100 pairs with one Write, n times.
func (s *ThinSide) Batch(n int) error {
	for range n {
		s.batch.Reset()
		for range ThinBatch {
			s.batch.Put(s.Key(), s.Value())
		}
		if err := s.db.Write(context.Background(), s.class, &s.batch); err != nil {
			return err
		}
	}
	return nil
}
