package queue

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/keyspace"
)

// New returns the queues kept in db. It uses the keys that begin with one of "dejqrstuvx" and
// nothing else; to keep them beside other data, give it a [kv.DB.Namespace]. Close the store before
// db.
func New(db *kv.DB, opts *Options) (*Store, error) {
	db, err := db.RequireAtomic()
	if err != nil {
		return nil, err
	}
	b := newKVBackend(db)
	s, err := NewStore(b, opts)
	if err != nil {
		return nil, err
	}
	if b.leave, err = keyspace.Enter(db, "store of queues", "dejqrstuvx", false); err != nil {
		return nil, err
	}
	s.peers = db.Common("queues", func() any { return new(peers) }).(*peers)
	s.peers.join(s)
	return s, nil
}

func newKVBackend(db *kv.DB) *kvBackend {
	b := &kvBackend{db: db, turns: new(atomic.Uint64), queues: map[string]*kvQueue{}}
	b.run = b.turn
	return b
}

// kvBackend keeps queues in a key-value store.
type kvBackend struct {
	db    *kv.DB
	leave func()   // of keyspace.Enter
	lows  sync.Map // by name: *atomic.Int64, kvQueue.low for Counts

	turns *atomic.Uint64 // counts the transactions of the Store

	// The rest is used by Commit alone.
	queues map[string]*kvQueue
	used   []*kvQueue // by the transaction that is running
	tx     *kv.Tx
	group  []*Op
	run    func(*kv.Tx) error
	value  []byte
	due    []claimed
}

var _ Backend = (*kvBackend)(nil)

// kvQueue is what is kept in memory of a queue. It holds as long as the stored version is the one
// it was made at.
type kvQueue struct {
	keys
	stats
	valid   bool // head, claims, due and low are right at version
	inUse   bool // in kvBackend.used
	changed bool // by the transaction that is running
	head    head
	claims  map[uint64]claimed // by id: of the live claims that have no slot, some
	due     int64              // no timer ends before it; math.MaxInt64 if there is none
	// no timer's key is before it: what is left of deleted ones is not to be stepped over again
	low int64

	shownLow *atomic.Int64 // low, for others
}

// mostClaims is how many live claims of a queue are kept in memory.
const mostClaims = 4096

// Traits implements Backend. A store that is Remote goes on after a transaction in doubt, of which
// nobody is told.
func (b *kvBackend) Traits() Traits {
	return Traits{Shared: b.db.Mode() == kv.Shared || b.db.Caps().Remote}
}

// Close implements Backend.
func (b *kvBackend) Close() error {
	b.leave()
	return nil
}

// errUnchanged rolls a transaction back that changed nothing: on some engines a commit of nothing
// costs as much as any.
var errUnchanged = errors.New("unchanged")

// Commit implements Backend.
func (b *kvBackend) Commit(ctx context.Context, d kv.Durability, group []*Op) error {
	b.group = group
	return b.ended(b.db.Update(ctx, d, b.run))
}

// ended forgets the transaction of turn, which ended with err.
func (b *kvBackend) ended(err error) error {
	if err == errUnchanged {
		err = nil
	}
	for _, q := range b.used {
		q.inUse = false
		if err != nil {
			q.valid = false
		} else {
			q.shownLow.Store(q.low)
		}
	}
	clear(b.used)
	b.used, b.group, b.tx = b.used[:0], nil, nil
	return err
}

// turn is one transaction. It runs again if it met another one: what the run before has made of the
// queues in memory is void.
func (b *kvBackend) turn(tx *kv.Tx) error {
	for _, q := range b.used {
		q.valid, q.inUse = false, false
	}
	b.used = b.used[:0]
	b.tx = tx
	order := b.turns.Add(1) // one writer at a time is here
	for _, op := range b.group {
		op.Begin()
		op.order = order
		q, err := b.load(op.Queue)
		if err == nil {
			err = verbs[op.Verb](q, b, op)
		}
		if err != nil {
			return err
		}
		op.Ready = q.counts.Ready
		if op.Due = max(1, q.due); q.due == math.MaxInt64 { // 0 is not known, and not never
			op.Due = 0
		}
	}
	return b.store()
}

// load returns a queue as the transaction sees it.
func (b *kvBackend) load(name string) (q *kvQueue, err error) {
	q, ok := b.queues[name]
	if !ok {
		q = &kvQueue{keys: newKeys(name), claims: map[uint64]claimed{}, shownLow: new(atomic.Int64)}
		b.queues[name] = q
		b.lows.Store(name, q.shownLow)
	}
	if q.inUse {
		return q, nil
	}
	q.inUse, q.changed = true, false
	b.used = append(b.used, q)
	b.value, err = b.tx.Append(b.value[:0], q.queue)
	if err != nil && !errors.Is(err, kv.NotFound) {
		return nil, err
	}
	if q.valid && q.isStored(b.value) {
		return q, nil
	}
	var stored stats
	if err == nil {
		if stored, err = parseStats(q.queue, b.value); err != nil {
			return nil, err
		}
	}
	q.valid, q.stats = true, stored
	q.head.reset()
	clear(q.claims)
	q.due, q.low = 0, 0
	return q, nil
}

// store writes what the queues of the transaction have become.
func (b *kvBackend) store() error {
	some := false
	for _, q := range b.used {
		if !q.changed {
			continue
		}
		some = true
		q.version++
		b.value = q.stats.append(b.value[:0])
		if err := b.tx.Put(q.queue, b.value); err != nil {
			return err
		}
	}
	if !some {
		return errUnchanged
	}
	return nil
}

// put and del change the queue in the running transaction.
func (b *kvBackend) put(q *kvQueue, key, value []byte) error {
	q.changed = true
	return b.tx.Put(key, value)
}

func (b *kvBackend) del(q *kvQueue, key []byte) error {
	q.changed = true
	return b.tx.Delete(key)
}

// verbs do one operation each.
var verbs = [...]func(*kvQueue, *kvBackend, *Op) error{Publish: (*kvQueue).publish, Claim: (*kvQueue).claimJobs,
	Tick: (*kvQueue).tick, Requeue: (*kvQueue).requeue, Purge: (*kvQueue).purge, Sweep: (*kvQueue).sweep,
	Ack: settling((*kvQueue).ack), Nack: settling((*kvQueue).nack), Release: settling((*kvQueue).release),
	Extend: settling((*kvQueue).extend), Delete: (*kvQueue).deleteJobs}

// settling returns the verb that calls fn for every receipt's claim.
func settling(fn func(*kvQueue, *kvBackend, *Op, claimed) error) func(*kvQueue, *kvBackend, *Op) error {
	return func(q *kvQueue, b *kvBackend, op *Op) error { return q.withClaims(b, op, fn) }
}
