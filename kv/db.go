package kv

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// DB is an open store, or a namespace of one. Its methods may be called concurrently.
//
// A function given to View or Update must not call Update or Write of the same store: there is one
// writer at a time, and where Caps say that readers and writers block each other, it would wait for
// itself until its context ends.
type DB struct {
	*core
	caps        Caps
	prefix, end []byte // of a namespace: the first key after it is end, nil if there is none
	takes       uint8  // a bit for each class of which commits are taken
	tracer      Timer
}

// core is what a DB shares with its namespaces.
type core struct {
	engine  string
	path    string // as the program wrote it
	driver  driver.Driver
	config  driver.Config
	limit   patience // for locks of others
	store   driver.Store
	applier driver.Applier // store, if it is one
	getter  driver.Getter  // likewise
	writers turns          // one alone, or several concurrent Applies
	stopped driver.Failure // why no more commits are taken

	active  atomic.Int64 // running calls other than those that have a turn of writers, plus closedBit once Close began
	viewed  *frame       // for a View that is the only call that active counts
	updated *frame       // for the Update that has the turn
	one     [1]driver.Op // for the writer of one who met no other
	mu      sync.Mutex
	idle    sync.Cond         // on mu: active fell to closedBit
	held    map[*view]*Tx     // snapshots and transactions that the program holds, under mu; nil values are snapshots
	common  map[commonKey]any // of Common and Occupy, under mu
	closing sync.Once
	err     error // of Close
}

const closedBit = 1 << 62

func newDB(store driver.Store, d driver.Driver, r *request) *DB {
	caps := store.Caps()
	applier, ok := store.(driver.Applier)
	getter, _ := store.(driver.Getter)
	caps.ConcurrentApply = caps.ConcurrentApply && ok
	t := timerOf(r.tracer)
	db := &DB{caps: caps, tracer: t, core: &core{
		engine: r.info.Name, path: r.path, driver: d, config: r.config, store: store, applier: applier,
		getter: getter,
		limit:  patience{limit: r.wait, what: "another transaction is in the way", tracer: t}, writers: newTurns(t),
	}}
	db.idle.L = &db.mu
	allTurns.Store(&db.writers, nil)
	if db.Mode() != ReadOnly {
		db.takes = classes(caps, func(p Promise) bool { return p.Supported })
	}
	return db
}

// classes returns a bit for each class whose promise holds.
func classes(caps Caps, holds func(Promise) bool) (set uint8) {
	for d, p := range caps.Promises {
		if holds(p) {
			set |= 1 << d
		}
	}
	return set
}

// Engine returns the name of the engine.
func (db *DB) Engine() string { return db.engine }

// Path returns the file or folder that holds the store, absolute.
func (db *DB) Path() string { return db.config.Path }

// Mode returns the mode that the store was opened in.
func (db *DB) Mode() Mode { return db.config.Mode }

// Wait returns how long calls wait for a lock of another process, unless their context ends before.
func (db *DB) Wait() time.Duration { return db.limit.limit }

// Caps tells what this store can do with the options it was opened with.
func (db *DB) Caps() Caps { return db.caps }

// Driver returns what the engine's package opened: the way of that package to its own handle.
func (db *DB) Driver() driver.Store { return db.store }

// Namespace returns a view of db that holds only the keys beginning with prefix, shown without it.
// Writers of db and of all its namespaces exclude each other as those of one store. An empty prefix
// is db itself. Compact, Check, Size and Backup concern the whole store; closing a namespace does
// nothing.
func (db *DB) Namespace(prefix []byte) *DB {
	n := *db
	if len(prefix) > 0 {
		n.prefix = slices.Concat(db.prefix, prefix)
		n.end = PrefixEnd(n.prefix)
		if n.caps.MaxKey > 0 {
			n.caps.MaxKey = max(n.caps.MaxKey-len(prefix), 1)
		}
	}
	return &n
}

// RequireAtomic returns a handle to the same store that refuses Update, Begin and Write at classes
// at which the death of the process may leave a part of a transaction (see [Promise]). It is for
// programs that keep several pairs in step. A store where that holds at no class is Unsupported.
func (db *DB) RequireAtomic() (*DB, error) {
	whole := classes(db.caps, func(p Promise) bool { return p.Supported && p.KillAtomic })
	if whole == 0 {
		return nil, db.wrap("open", torn(db.caps.Cheapest()))
	}
	n := *db
	n.takes &= whole
	return &n, nil
}

// Get returns a copy of the value of key in the last committed state. An absent key is NotFound.
func (db *DB) Get(ctx context.Context, key []byte) ([]byte, error) {
	v, err := db.Append(ctx, nil, key)
	if v == nil && err == nil {
		v = []byte{}
	}
	return v, err
}

// Append appends the value of key in the last committed state to dst and returns the extended
// slice; it allocates only if dst is too short. An absent key returns dst and NotFound. For a
// single key it costs less than a View.
func (db *DB) Append(ctx context.Context, dst, key []byte) ([]byte, error) {
	if db.tracer == nil {
		return db.append(ctx, dst, key)
	}
	v := dst
	err := db.View(ctx, func(s *Snapshot) (err error) { v, err = s.Append(dst, key); return err })
	return v, err
}

// Has reports whether key is present in the last committed state.
func (db *DB) Has(ctx context.Context, key []byte) (has bool, err error) {
	err = db.View(ctx, func(s *Snapshot) (err error) { has, err = s.Has(key); return err })
	return has, err
}

// Len returns the length of the value of key in the last committed state, in bytes. An absent key
// is NotFound.
func (db *DB) Len(ctx context.Context, key []byte) (n int, err error) {
	err = db.View(ctx, func(s *Snapshot) (err error) { n, err = s.Len(key); return err })
	return n, err
}

// Put commits "set key to value" with at least the durability d.
func (db *DB) Put(ctx context.Context, d Durability, key, value []byte) error {
	return db.writeOne(ctx, d, &driver.Op{Key: key, Value: value})
}

// Delete commits "remove key" with at least the durability d. That it is absent is no error.
func (db *DB) Delete(ctx context.Context, d Durability, key []byte) error {
	return db.writeOne(ctx, d, &driver.Op{Key: key, Delete: true})
}
