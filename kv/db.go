package kv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// DB is an open store, or a namespace of one. Its methods may be called concurrently.
//
// A function given to View or Update must not call Update or Write of the same store: there is one writer at a time,
// and where Caps say that readers and writers block each other, it would wait for itself until its context ends.
type DB struct {
	*core
	caps        Caps
	prefix, end []byte // of a namespace: the first key after it is end, nil if there is none
	atomic      bool   // see RequireAtomic
}

// core is what a DB shares with its namespaces.
type core struct {
	engine  string
	path    string // as the program wrote it
	driver  driver.Driver
	config  driver.Config
	limit   patience // for locks of others
	tracer  Tracer
	store   driver.Store
	applier driver.Applier        // store, if it is one
	writers turns                 // one alone, or several concurrent Applies
	stopped atomic.Pointer[Error] // why no more commits are taken

	active  atomic.Int64 // running calls other than those that are in by turns.tryShared, plus closedBit once Close began
	mu      sync.Mutex
	idle    sync.Cond     // on mu: active fell to closedBit
	held    map[*view]*Tx // snapshots and transactions that the program holds, under mu; nil values are snapshots
	closing sync.Once
	err     error // of Close
}

const closedBit = 1 << 62

func newDB(store driver.Store, d driver.Driver, r *request) *DB {
	caps := store.Caps()
	applier, ok := store.(driver.Applier)
	caps.ConcurrentApply = caps.ConcurrentApply && ok
	db := &DB{caps: caps, core: &core{
		engine: r.info.Name, path: r.path, driver: d, config: r.config, store: store, applier: applier, tracer: r.tracer,
		limit: patience{limit: r.wait, what: "another transaction is in the way"}, writers: newTurns(),
	}}
	db.idle.L = &db.mu
	return db
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

// Namespace returns a view of db that holds only the keys beginning with prefix, shown without it. Writers of db and
// of all its namespaces exclude each other as those of one store. An empty prefix is db itself. Compact, Check, Size and
// Backup concern the whole store; closing a namespace does nothing.
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

// RequireAtomic returns a handle to the same store that refuses Update, Begin and Write at classes at which the death
// of the process may leave a part of a transaction (see [Promise]). It is for programs that keep several pairs in step.
// A store where that holds at no class is Unsupported.
func (db *DB) RequireAtomic() (*DB, error) {
	if !slices.ContainsFunc(db.caps.Promises[:], func(p Promise) bool { return p.Supported && p.KillAtomic }) {
		return nil, db.wrap("open", torn(db.caps.Cheapest()))
	}
	n := *db
	n.atomic = true
	return &n, nil
}

// Get returns a copy of the value of key in the last committed state. An absent key is NotFound.
func (db *DB) Get(ctx context.Context, key []byte) (value []byte, err error) {
	err = db.View(ctx, func(s *Snapshot) error {
		value, err = s.Get(key)
		return err
	})
	return value, err
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// Put commits "set key to value" with at least the durability d.
func (db *DB) Put(ctx context.Context, d Durability, key, value []byte) error {
	b := batches.Get().(*Batch)
	defer batches.Put(b)
	b.Reset()
	b.Put(key, value)
	return db.Write(ctx, d, b)
}

// Delete commits "remove key" with at least the durability d. That it is absent is no error.
func (db *DB) Delete(ctx context.Context, d Durability, key []byte) error {
	b := batches.Get().(*Batch)
	defer batches.Put(b)
	b.Reset()
	b.Delete(key)
	return db.Write(ctx, d, b)
}

// viewFrame is the memory of a View, updateFrame that of an Update.
type viewFrame struct {
	v view
	s Snapshot
}

type updateFrame struct {
	viewFrame
	w  writing
	tx Tx
}

var (
	viewFrames   slab[viewFrame]
	updateFrames slab[updateFrame]
)

// slab makes values many at a time. Each is given out once: a Snapshot that is kept after its end must stay ended.
type slab[T any] struct{ pool sync.Pool }

type chunk[T any] struct {
	used int
	all  [32]T
}

func (s *slab[T]) get() *T {
	c, _ := s.pool.Get().(*chunk[T])
	if c == nil || c.used == len(c.all) {
		c = new(chunk[T])
	}
	one := &c.all[c.used]
	c.used++
	s.pool.Put(c) // from here on it is another goroutine's
	return one
}

// View runs fn on a snapshot that was fixed before fn began. It returns fn's error, or the error of a scan that ended
// early.
func (db *DB) View(ctx context.Context, fn func(*Snapshot) error) (err error) {
	if db.tracer == nil {
		return db.view(ctx, fn)
	}
	ctx, sp := db.startSpan(ctx, "view")
	defer func() { sp.end(err) }()
	return db.view(ctx, fn)
}

func (db *DB) view(ctx context.Context, fn func(*Snapshot) error) (err error) {
	if err := db.enter(ctx, "view"); err != nil {
		return err
	}
	r, err := db.store.Snapshot(ctx)
	if err != nil {
		if r, err = db.readerAgain(ctx, err); err != nil {
			db.leave()
			return db.wrap("view", err)
		}
	}
	f := viewFrames.get()
	f.v.r, f.v.ctx, f.v.done = r, ctx, ctx.Done()
	f.s.init(&f.v, db)
	defer func() {
		cerr := f.v.end()
		db.leave()
		if cerr != nil && err == nil {
			err = db.wrap("view", cerr)
		}
	}()
	if err := fn(&f.s); err != nil {
		return err
	}
	return f.v.err
}

// reader returns the last committed state.
func (db *DB) reader(ctx context.Context) (driver.Reader, error) {
	r, err := db.store.Snapshot(ctx)
	if err != nil {
		return db.readerAgain(ctx, err)
	}
	return r, nil
}

// readerAgain waits, within reason, for what keeps a state from being read, after a first failure.
func (db *DB) readerAgain(ctx context.Context, err error) (r driver.Reader, _ error) {
	p := db.limit
	for p.again(ctx, err) {
		if r, err = db.store.Snapshot(ctx); err == nil {
			return r, nil
		}
	}
	return nil, p.gaveUp(ctx, err)
}

// Snapshot returns the last committed state, for programs whose reading does not fit into one function: pages of a
// listing, iterators that are handed on. The caller closes it. Engines keep old data for as long as a snapshot is open,
// and some keep writers waiting (see [Caps]). On a store that is Remote ctx holds for the snapshot's life.
func (db *DB) Snapshot(ctx context.Context) (s *Snapshot, err error) {
	ctx, sp := db.startSpan(ctx, "snapshot")
	defer func() { sp.end(err) }()
	if err := db.enter(ctx, "snapshot"); err != nil {
		return nil, err
	}
	defer db.leave()
	r, err := db.reader(ctx)
	if err != nil {
		return nil, db.wrap("snapshot", err)
	}
	s = newSnapshot(&view{r: r, ctx: context.WithoutCancel(ctx), mu: new(sync.Mutex)}, db)
	db.hold(s.view, nil)
	return s, nil
}

// Close ends a snapshot that [DB.Snapshot] returned. Closing again does nothing. View and Update end their own.
func (s *Snapshot) Close() error {
	if s.mu == nil {
		return s.db.wrap("close", &Error{Kind: Invalid, Err: errors.New("a View or Update ends its snapshot itself"),
			Hint: "close only what DB.Snapshot returned"})
	}
	s.enter()
	defer s.leave()
	if s.r == nil {
		return nil
	}
	s.db.drop(s.view)
	if err := errors.Join(s.err, s.view.end()); err != nil {
		return s.db.wrap("close", err)
	}
	return nil
}

// maxTries is how often Update runs a function whose transactions meet others.
const maxTries = 20

// Update runs fn on a read-write transaction and commits it with at least the durability d. If fn returns an error or
// panics, or a scan ended early, everything is rolled back. Transactions are serializable; Update waits for its turn
// until ctx ends, also for the readers that its commit may have to wait for, and does not consult ctx once the commit
// writes. What an error says of the commit stands in the package comment.
//
// Where Caps say MayAbort, fn may run several times, each time on a new transaction, before one commits: it must not
// change anything but the transaction. After 20 tries the error is Aborted.
func (db *DB) Update(ctx context.Context, d Durability, fn func(*Tx) error) (err error) {
	ctx, sp := db.startSpan(ctx, "update")
	sp.asked(d)
	defer func() { sp.end(err) }()
	if !db.caps.MayAbort {
		return db.update(ctx, d, fn)
	}
	return db.retry(ctx, "update", func() error { return db.update(ctx, d, fn) })
}

// retry runs try until it is not Aborted, which only engines that MayAbort return.
func (db *DB) retry(ctx context.Context, op string, try func() error) error {
	err := try()
	pause := db.limit
	pause.longest = longestAbort
	for n := 1; driver.KindOf(err) == Aborted; n++ {
		if n == maxTries || !pause.rest(ctx) {
			return db.wrap(op, &Error{Kind: Aborted, Err: errors.Join(err, ctx.Err()),
				Hint: "other transactions keep changing what this one reads: make it smaller, or try later"})
		}
		err = try()
	}
	return err
}

func (db *DB) update(ctx context.Context, d Durability, fn func(*Tx) error) (err error) {
	if err := db.enterWriting(ctx, "update", d); err != nil {
		return err
	}
	defer db.leaveWriting()
	w, err := db.begin(ctx, d)
	if err != nil {
		return db.wrap("update", err)
	}
	f := updateFrames.get()
	f.w = writing{w: w, d: d}
	f.v.r, f.v.ctx, f.v.done = w, ctx, ctx.Done()
	f.s.init(&f.v, db)
	f.tx = Tx{Snapshot: &f.s, writing: &f.w}
	defer func() {
		if cerr := f.v.end(); cerr != nil && err == nil {
			err = db.wrap("update", cerr)
		}
	}()
	if err := fn(&f.tx); err != nil {
		return err
	}
	return db.commit(&f.tx)
}

// begin waits, within reason, for another process's transaction to end.
func (db *DB) begin(ctx context.Context, d Durability) (driver.Txn, error) {
	w, err := db.store.Begin(ctx, d)
	if err == nil {
		return w, nil
	}
	p := db.limit
	for p.again(ctx, err) {
		if w, err = db.store.Begin(ctx, d); err == nil {
			return w, nil
		}
	}
	return nil, p.gaveUp(ctx, err)
}

// commit commits tx unless a scan of it failed or is still running.
func (db *DB) commit(tx *Tx) (err error) {
	_, sp := db.startSpan(tx.ctx, "commit")
	sp.asked(tx.d)
	defer func() { sp.end(err) }()
	switch {
	case tx.err != nil:
		return tx.err
	case tx.open != nil:
		return nil // ending the transaction says so, and rolls it back
	}
	return db.outcome("commit", db.finish(tx.ctx, tx.w))
}

// finish commits w, and waits, within reason, for the readers that are in its way.
func (db *DB) finish(ctx context.Context, w driver.Txn) error {
	err := w.Commit()
	if err == nil {
		return nil
	}
	p := db.limit
	p.longest = longestCommit
	for p.again(ctx, err) {
		if err = w.Commit(); err == nil {
			return nil
		}
	}
	return p.gaveUp(ctx, err)
}

// outcome makes err, of a commit, the program's, and stops the store if the commit is in doubt.
func (db *DB) outcome(op string, err error) error {
	if err == nil {
		return nil
	}
	if driver.IsInDoubt(err) {
		hint := "it may be there or not: close the store, open it again, and look"
		if !db.caps.Remote {
			db.stopped.CompareAndSwap(nil, driver.StoppedBy(err))
		}
		if kind := driver.KindOf(err); kind != driver.Other && !errors.Is(err, kind) { // in the words of the system
			err = &Error{Kind: kind, Err: err}
		}
		err = &Error{Kind: InDoubt, Err: err, Hint: orElse(driver.HintOf(err), hint)}
	}
	return db.wrap(op, err)
}

// Begin starts a read-write transaction, for programs whose writing does not fit into one function. The caller ends it by
// Commit or Rollback; until then all other writers of the store wait. It is Update's transaction in every other respect,
// but that it is not run again when it is Aborted.
func (db *DB) Begin(ctx context.Context, d Durability) (tx *Tx, err error) {
	ctx, sp := db.startSpan(ctx, "begin")
	sp.asked(d)
	defer func() { sp.end(err) }()
	if err := db.enterWriting(ctx, "begin", d); err != nil {
		return nil, err
	}
	defer db.leave()
	w, err := db.begin(ctx, d)
	if err != nil {
		db.writers.leaveAlone()
		return nil, db.wrap("begin", err)
	}
	v := &view{r: w, ctx: context.WithoutCancel(ctx), mu: new(sync.Mutex)}
	tx = &Tx{Snapshot: newSnapshot(v, db), writing: &writing{w: w, d: d, held: true}}
	db.hold(v, tx)
	return tx, nil
}

// let ends a transaction of Begin, within enter, and lets the next writer in.
func (db *DB) let(tx *Tx, commit bool) (err error) {
	if commit {
		err = db.commit(tx)
	}
	if cerr := tx.view.end(); cerr != nil && err == nil {
		err = db.wrap("commit", cerr)
	}
	db.drop(tx.view)
	db.writers.leaveAlone()
	return err
}

// Write commits the writes of b, in order, as one transaction with at least the durability d. It is the fast path for
// writes that need no read: on engines whose Caps say ConcurrentApply, calls at the same time share a sync.
// An empty batch does nothing. b is unchanged and may be reset and used again.
func (db *DB) Write(ctx context.Context, d Durability, b *Batch) error {
	if db.tracer == nil {
		return db.writeBatch(ctx, d, b)
	}
	ctx, sp := db.startSpan(ctx, "write")
	sp.event.Durability, sp.event.Pairs, sp.event.Bytes = d, b.Len(), b.Size()
	err := db.writeBatch(ctx, d, b)
	sp.end(err)
	return err
}

func (db *DB) writeBatch(ctx context.Context, d Durability, b *Batch) error {
	if err := b.check(&db.caps); err != nil {
		return db.wrap("write", err)
	}
	if len(b.ranges) > 0 {
		return db.retry(ctx, "write", func() error { return db.update(ctx, d, b.Run) })
	}
	ops := b.ops
	if len(db.prefix) > 0 {
		ops = b.below(db.prefix)
	}
	if db.caps.MayAbort {
		return db.retry(ctx, "write", func() error { return db.write(ctx, d, ops) })
	}
	return db.write(ctx, d, ops)
}

func (db *DB) write(ctx context.Context, d Durability, ops []driver.Op) error {
	if !db.caps.ConcurrentApply {
		return db.applyAlone(ctx, d, ops)
	}
	if err := db.mayWrite("write", d); err != nil {
		return err
	}
	if db.writers.tryShared() {
		return db.applyShared(ctx, d, ops)
	}
	return db.awaitShared(ctx, d, ops)
}

func (db *DB) applyAlone(ctx context.Context, d Durability, ops []driver.Op) error {
	if err := db.enterWriting(ctx, "write", d); err != nil {
		return err
	}
	defer db.leaveWriting()
	return db.apply(ctx, d, ops)
}

// applyShared is for a writer that writers.tryShared let in.
func (db *DB) applyShared(ctx context.Context, d Durability, ops []driver.Op) error {
	defer db.writers.leaveFast()
	if db.active.Load() >= closedBit {
		return db.closed("write")
	}
	if err := ctx.Err(); err != nil {
		return db.wrap("write", err)
	}
	return db.apply(ctx, d, ops)
}

// awaitShared is for one that it did not.
func (db *DB) awaitShared(ctx context.Context, d Durability, ops []driver.Op) error {
	if err := db.enter(ctx, "write"); err != nil {
		return err
	}
	defer db.leave()
	if err := db.writers.enterShared(ctx); err != nil {
		return db.wrap("write", waitedForItself(err))
	}
	defer db.writers.leaveShared()
	return db.apply(ctx, d, ops)
}

func (db *DB) apply(ctx context.Context, d Durability, ops []driver.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if db.applier == nil {
		return db.applyInSteps(ctx, d, ops)
	}
	if err := db.applier.Apply(ctx, ops, d); err != nil {
		return db.applyAgain(ctx, d, ops, err)
	}
	return nil
}
