package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload/encodings"
)

// recordsRunner runs one operation on one collection. The record with index i has the id i+1.
type recordsRunner struct {
	recordStore
	env     Env
	null    bool // the engine keeps nothing: reads find nothing, which measures the harness alone
	loaded  int  // records at the start
	insert  string
	inserts int // records that an iteration inserts
	do      func(*recordsRunner, iteration) error
	rand    *rand.Rand

	users encodings.Users

	// What the store must hold, by index.
	sums     []uint64
	balances []float64
	total    float64 // of the balances that were loaded, added up in order

	// The slice.
	list   []encodings.User // to insert
	chosen []int            // indexes to read or update
	values []float64        // to set

	// Of iterations over several records: how many, and how long they took.
	several int
	took    time.Duration
}

// iteration is one call of Do.
type iteration struct {
	context.Context
	i int
}

var (
	_ Runner  = (*recordsRunner)(nil)
	_ Metered = (*recordsRunner)(nil)
)

func newRecordsRunner(env Env, name string, inserts int, do func(*recordsRunner, iteration) error) (Runner, error) {
	p := env.params(recordsParams)
	n := p.count("n", 3, 1e8)
	insert := p.text("insert")
	if insert != "bulk" && insert != "single" {
		p.fail("insert", insert, "use bulk or single")
	}
	if p.err != nil {
		return nil, p.err
	}
	store, err := newRecordStore(env)
	if err != nil {
		return nil, err
	}
	return &recordsRunner{recordStore: store, env: env, null: env.Engine == "null", loaded: n, insert: insert,
		inserts: inserts, do: do,
		rand: random(env.Seed, "records/"+name)}, nil
}

// Setup creates the collection and loads it.
func (r *recordsRunner) Setup(ctx context.Context) (err error) {
	if r.users, err = r.create(ctx, func(c encodings.Users, weakest kv.Durability) error {
		return r.load(ctx, c,
			weakest)
	}); err != nil {
		return err
	}
	for _, b := range r.balances {
		r.total += b
	}
	return err
}

func (r *recordsRunner) load(ctx context.Context, c encodings.Users, weakest kv.Durability) error {
	for len(r.sums) < r.loaded {
		list := r.draw(min(bulk, r.loaded-len(r.sums)))
		if r.insert == "bulk" {
			if err := c.Put(ctx, r.env.Durability, list); err != nil {
				return err
			}
			continue
		}
		for i := range list {
			if err := c.Put(ctx, weakest, list[i:i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// draw returns the next n users, and notes that the store will hold them.
func (r *recordsRunner) draw(n int) []encodings.User {
	r.list = r.list[:0]
	for range n {
		u := encodings.NewUser(r.env.Seed, int64(len(r.sums)+1))
		r.list = append(r.list, u)
		r.sums = append(r.sums, u.Sum())
		r.balances = append(r.balances, u.Balance)
	}
	return r.list
}

// Prepare draws the users to insert, or which to read and update.
func (r *recordsRunner) Prepare(n int) error {
	r.several, r.took = 0, 0
	if r.inserts > 0 {
		r.draw(n * r.inserts)
		return nil
	}
	r.chosen, r.values = slices.Grow(r.chosen[:0], n)[:n], slices.Grow(r.values[:0], n)[:n]
	for i := range n {
		r.chosen[i] = r.rand.IntN(r.loaded)
		r.values[i] = r.rand.Float64() * 10_000
	}
	return nil
}

// Do does one iteration.
func (r *recordsRunner) Do(ctx context.Context, _, i int) error { return r.do(r, iteration{ctx, i}) }

// write inserts the iteration's records in one transaction.
func (r *recordsRunner) write(it iteration) error {
	if r.inserts > 1 {
		defer r.record(time.Now(), r.inserts)
	}
	return r.users.Put(it, r.env.Durability, r.list[it.i*r.inserts:][:r.inserts])
}

func (r *recordsRunner) readOne(it iteration) error {
	var u encodings.User
	err := r.users.Read(it, int64(r.chosen[it.i]+1), &u)
	return r.check(&u, r.chosen[it.i], err)
}

func (r *recordsRunner) readMany(it iteration) error {
	n, at := r.loaded/3, r.loaded/2
	defer r.record(time.Now(), n)
	left := n
	err := r.users.Walk(it, int64(at+1), n, func(u *encodings.User) error {
		if err := r.check(u, at, nil); err != nil {
			return err
		}
		at++
		left--
		return nil
	})
	if err != nil {
		return err
	}
	if left != 0 && !r.null {
		return fmt.Errorf("read many: %d records, want %d", n-left, n)
	}
	return nil
}

func (r *recordsRunner) fieldSum(it iteration) error {
	defer r.record(time.Now(), r.loaded)
	total, n, err := r.users.Sum(it)
	switch {
	case err != nil:
		return err
	case r.null:
		return nil
	case n != r.loaded || total != r.total:
		return fmt.Errorf("field sum: %v of %d records, want %v of %d", total, n, r.total, r.loaded)
	}
	return nil
}

func (r *recordsRunner) update(it iteration) error {
	index := r.chosen[it.i]
	err := r.users.SetBalance(it, r.env.Durability, int64(index+1), r.values[it.i])
	if err != nil {
		if r.null && kv.KindOf(err) == kv.NotFound {
			return nil
		}
		return err
	}
	r.balances[index] = r.values[it.i]
	return nil
}

// record notes an iteration over n records that began at start.
func (r *recordsRunner) record(start time.Time, n int) {
	r.took += time.Since(start)
	r.several += n
}

// check compares a user with what the store must hold at an index.
func (r *recordsRunner) check(u *encodings.User, index int, err error) error {
	switch {
	case r.null && (err == nil || kv.KindOf(err) == kv.NotFound):
		return nil
	case err != nil:
		return fmt.Errorf("record %d: %w", index+1, err)
	case u.Sum() != r.sums[index] || u.Balance != r.balances[index]:
		return fmt.Errorf("record %d: %+v, want %+v with the balance %v", index+1, *u,
			encodings.NewUser(r.env.Seed, int64(index+1)), r.balances[index])
	}
	return nil
}

// Verify reads what the slice inserted or updated: all of it, or, of more than mostVerified,
// records at even distances, the last among them.
func (r *recordsRunner) Verify(ctx context.Context) error {
	indexes := r.chosen
	if r.inserts > 0 {
		indexes = indexes[:0]
		for i := len(r.sums) - len(r.list); i < len(r.sums); i++ {
			indexes = append(indexes, i)
		}
		r.chosen = indexes
	}
	stride := max(1, (len(indexes)+mostVerified-1)/mostVerified)
	var u encodings.User
	for i := len(indexes) - 1; i >= 0; i -= stride {
		err := r.users.Read(ctx, int64(indexes[i]+1), &u)
		if err := r.check(&u, indexes[i], err); err != nil {
			return fmt.Errorf("after the slice: %w", err)
		}
	}
	return nil
}

// Metrics returns the time for one record, of iterations over several. It is what the published
// figures are.
func (r *recordsRunner) Metrics() []Metric {
	if r.several == 0 {
		return nil
	}
	return []Metric{{Name: "record-ns", Value: float64(r.took) / float64(r.several)}}
}
