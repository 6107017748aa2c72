package workload

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv"
)

// The shape of a store of which a file says nothing.
const (
	defaultRecords = "10k"
	defaultValue   = 100
)

// ownRunner runs an operation of a file. Each worker has records of its own, of which it knows the
// versions, in one store.
type ownRunner struct {
	kvStore
	parts []*ycsbRunner
	begin []byte           // of each key
	each  bool             // every iteration opens and closes the store
	free  chan *ycsbRunner // those that have something left to do and are at rest
}

var _ Runner = (*ownRunner)(nil)

// newOwn returns the Runner of an operation.
func newOwn(env Env, op ownOp, store ownStore, m mix, known []Param) (*ownRunner, error) {
	count := defaultRecords
	if store.Keys.Count != nil {
		count = fmt.Sprint(store.Keys.Count)
	}
	v := values{seed: env.Seed, size: cmp.Or(store.Values.Size, defaultValue)}
	v.more = max(store.Values.To-v.size, 0)
	p := env.params(known)
	if given := p.text("value"); given != "file" {
		v.size, v.more = p.count("value", minValue, 8<<10), 0
	}
	if given := p.text("records"); given != "file" {
		count = given
	}
	p.given = map[string]string{"records": count}
	records := p.count("records", maxScan, 1e8)
	if p.err != nil {
		return nil, p.err
	}
	if store.Keys.Order == "ascending" {
		m.order = ascending
	}
	r := &ownRunner{kvStore: newKVStore(env), each: op.Open == "each",
		begin: beginning(max(store.Keys.Size-keySize, 0))}
	r.closed = r.each
	workers := op.parts()
	for i := range workers {
		part := &ycsbRunner{kvStore: r.kvStore, null: env.Engine == "null", records: max(records/workers, maxScan),
			values: v}
		part.values.seed += uint64(i) * golden
		part.plan = plan{mix: m, rand: random(env.Seed+uint64(i)*golden, "ycsb/"+op.Name), pick: uniform{},
			model: model{order: m.order, base: uint64(i) << 32}}
		if m.choose != nil {
			part.plan.pick = m.choose(uint64(part.records))
		}
		part.onModify, part.onScan = part.modify, part.scan
		r.parts = append(r.parts, part)
	}
	return r, nil
}

// Setup loads the records of all workers.
func (r *ownRunner) Setup(ctx context.Context) error {
	err := r.create(ctx, func(db *kv.DB) error {
		for _, p := range r.parts {
			if err := p.fill(ctx, r.within(db), p.records, func(_ int,
				b *kv.Batch) {
				p.put(b, p.plan.model.add())
			}); err != nil {
				return err
			}
		}
		return nil
	})
	r.lend(r.db)
	return err
}

// beginning returns n bytes with which keys begin, as those of programs do: "store/" again and
// again.
func beginning(n int) []byte { return bytes.Repeat([]byte("store/"), n/6+1)[:n] }

// within returns the pairs of db whose keys begin as those of the file do.
func (r *ownRunner) within(db *kv.DB) *kv.DB {
	if db == nil || len(r.begin) == 0 {
		return db
	}
	return db.Namespace(r.begin)
}

// lend gives all workers the open store.
func (r *ownRunner) lend(db *kv.DB) {
	for _, p := range r.parts {
		p.db = r.within(db)
	}
}

// Prepare draws the steps of the next slice, for each worker its part.
func (r *ownRunner) Prepare(n int) error {
	r.free = make(chan *ycsbRunner, len(r.parts))
	for i, p := range r.parts {
		part := n / len(r.parts)
		if i < n%len(r.parts) {
			part++
		}
		p.plan.draw(part)
		if p.at = 0; part > 0 {
			r.free <- p
		}
	}
	return nil
}

// Do does the next step of a part that nobody is at: in each, steps are done in their order, since
// a read must find what the step before it wrote.
func (r *ownRunner) Do(ctx context.Context, worker, i int) error {
	if len(r.parts) == 1 { // to take a part and give it back would cost more than some reads
		return r.step(ctx, r.parts[0], worker, i)
	}
	p := <-r.free
	i = p.at
	p.at++
	err := r.step(ctx, p, worker, i)
	if p.at < len(p.plan.steps) {
		r.free <- p
	}
	return err
}

func (r *ownRunner) step(ctx context.Context, p *ycsbRunner, worker, i int) error {
	if !r.each {
		return p.Do(ctx, worker, i)
	}
	return r.with(ctx, func(db *kv.DB) error {
		p.db = r.within(db)
		return p.Do(ctx, worker, i)
	})
}

// Verify reads what all workers wrote.
func (r *ownRunner) Verify(ctx context.Context) error {
	return r.with(ctx, func(db *kv.DB) error {
		r.lend(db)
		for _, p := range r.parts {
			if err := p.Verify(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// summary says what a mix does: "read 95, update 5".
func (m mix) summary() string {
	if len(m.phases) > 0 {
		var all []string
		for _, p := range m.phases {
			all = append(all, fmt.Sprintf("%d times %s", p.iterations, p.mix.summary()))
		}
		return strings.Join(all, "; ")
	}
	var all []string
	for a, name := range []string{actRead: "read", actUpdate: "update", actInsert: "insert", actModify: "modify",
		actScan: "scan"} {
		if part := m.parts()[a]; part > 0 {
			all = append(all, fmt.Sprintf("%s %d", name, part))
		}
	}
	return strings.Join(all, ", ")
}
