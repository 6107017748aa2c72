package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv/driver"
)

// DB is an open store. Its methods may be called concurrently.
//
// A function given to View or Update must not call Update or Write of the same store: there is one writer at a time,
// and where Caps say that readers and writers block each other, it would wait for itself.
type DB struct {
	store driver.Store
	caps  Caps
	*core
}

// core is what a DB shares with the namespaces and observers derived from it.
type core struct {
	engine, path string
	mode         Mode
	root         driver.Store
	writers      turns // one alone, or several concurrent Applies

	active  atomic.Int64 // running calls other than those that are in by turns.tryShared, plus closedBit once Close began
	mu      sync.Mutex
	idle    sync.Cond // on mu: active fell to closedBit
	closing sync.Once
	err     error // of Close
}

const closedBit = 1 << 62

func newDB(store driver.Store, engine string, c driver.Config) *DB {
	db := &DB{store: store, caps: store.Caps(), core: &core{
		engine: engine, path: c.Path, mode: c.Mode, root: store,
		writers: newTurns(),
	}}
	db.idle.L = &db.mu
	return db
}

// Engine returns the name of the engine, Path the file or folder.
func (db *DB) Engine() string { return db.engine }

// Path returns the file or folder that holds the store.
func (db *DB) Path() string { return db.path }

// Mode returns the mode that the store was opened in.
func (db *DB) Mode() Mode { return db.mode }

// Caps tells what this store can do with the options it was opened with.
func (db *DB) Caps() Caps { return db.caps }

// Settings tells the settings in force, read back from the engine.
func (db *DB) Settings() []Setting { return db.store.Settings() }

var snapshots = sync.Pool{New: func() any { return new(Snapshot) }}

// View runs fn on a snapshot that was fixed before fn began. It returns fn's error, or the error of a scan that ended
// early.
func (db *DB) View(ctx context.Context, fn func(*Snapshot) error) (err error) {
	if err := db.enter(ctx, "view"); err != nil {
		return err
	}
	r, err := db.store.Snapshot()
	if err != nil {
		db.leave()
		return db.wrap("view", err)
	}
	s := snapshots.Get().(*Snapshot)
	*s = Snapshot{r: r, db: db}
	defer func() {
		if cerr := r.Close(); cerr != nil && err == nil {
			err = db.wrap("view", cerr)
		}
		s.end()
		db.leave()
	}()
	if err := fn(s); err != nil {
		return err
	}
	return s.err
}

// end makes s unusable and, unless that is to be noticed, another View's.
func (s *Snapshot) end() {
	s.r = nil
	if !debug {
		snapshots.Put(s)
	}
}

var txs = sync.Pool{New: func() any { return new(Tx) }}

// Update runs fn on a read-write transaction and commits it with at least the durability d. If fn returns an error or
// panics, or a scan ended early, everything is rolled back. Transactions are serializable; Update waits for its turn
// until ctx ends, and does not consult ctx once the commit began.
func (db *DB) Update(ctx context.Context, d Durability, fn func(*Tx) error) (err error) {
	if err := db.enterWriting(ctx, "update", d); err != nil {
		return err
	}
	defer db.leaveWriting()
	w, err := db.store.Begin(ctx, d)
	if err != nil {
		return db.wrap("update", err)
	}
	tx := txs.Get().(*Tx)
	*tx = Tx{Snapshot: Snapshot{r: w, db: db}, w: w}
	defer func() {
		if cerr := w.Close(); cerr != nil && err == nil {
			err = db.wrap("update", cerr)
		}
		tx.r, tx.w = nil, nil
		if !debug {
			txs.Put(tx)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	if err := w.Commit(); err != nil {
		return db.wrap("commit", err)
	}
	return nil
}

// Write commits the writes of b, in order, as one transaction with at least the durability d. It is the fast path for
// writes that need no read: on engines whose Caps say ConcurrentApply, calls at the same time share a sync.
// An empty batch does nothing. b is unchanged and may be reset and used again.
func (db *DB) Write(ctx context.Context, d Durability, b *Batch) error {
	if err := b.check(&db.caps); err != nil {
		return db.wrap("write", err)
	}
	if !db.caps.ConcurrentApply {
		return db.applyAlone(ctx, d, b)
	}
	if err := db.mayWrite("write", d); err != nil {
		return err
	}
	if db.writers.tryShared() {
		return db.applyShared(ctx, d, b)
	}
	return db.awaitShared(ctx, d, b)
}

func (db *DB) applyAlone(ctx context.Context, d Durability, b *Batch) error {
	if err := db.enterWriting(ctx, "write", d); err != nil {
		return err
	}
	defer db.leaveWriting()
	return db.apply(ctx, d, b)
}

// applyShared is for a writer that writers.tryShared let in.
func (db *DB) applyShared(ctx context.Context, d Durability, b *Batch) error {
	defer db.writers.leaveFast()
	if db.active.Load() >= closedBit {
		return db.closed("write")
	}
	if err := ctx.Err(); err != nil {
		return db.wrap("write", err)
	}
	return db.apply(ctx, d, b)
}

// awaitShared is for one that it did not.
func (db *DB) awaitShared(ctx context.Context, d Durability, b *Batch) error {
	if err := db.enter(ctx, "write"); err != nil {
		return err
	}
	defer db.leave()
	if err := db.writers.enterShared(ctx); err != nil {
		return db.wrap("write", err)
	}
	defer db.writers.leaveShared()
	return db.apply(ctx, d, b)
}

func (db *DB) apply(ctx context.Context, d Durability, b *Batch) error {
	if len(b.ops) == 0 {
		return nil
	}
	if err := db.store.Apply(ctx, b.ops, d); err != nil {
		return db.wrap("write", err)
	}
	return nil
}

// Close waits for running transactions, then closes the store. Later calls of any method fail with Closed; closing
// again returns what the first Close returned. Closing a derived DB (Namespace, Observe) closes the store.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.active.Add(closedBit)
		db.mu.Lock()
		for db.active.Load() != closedBit {
			db.idle.Wait()
		}
		db.mu.Unlock()
		_ = db.writers.enterAlone(context.Background()) // for good; it cannot be canceled
		if err := db.root.Close(); err != nil {
			db.core.err = wrapError("close", db.engine, db.path, err)
		}
	})
	return db.core.err
}

// enter counts a running call, and refuses it if the store is closed or ctx has ended.
func (db *DB) enter(ctx context.Context, op string) error {
	if db.active.Add(1) > closedBit {
		db.leave()
		return db.closed(op)
	}
	if err := ctx.Err(); err != nil {
		db.leave()
		return db.wrap(op, err)
	}
	return nil
}

func (db *DB) leave() {
	if db.active.Add(-1) == closedBit {
		db.mu.Lock() // so that Close is not between its look and its wait
		db.idle.Broadcast()
		db.mu.Unlock()
	}
}

func (db *DB) closed(op string) error {
	return db.wrap(op, &Error{Kind: Closed, Err: errors.New("the store is closed")})
}

// mayWrite refuses what this store never does.
func (db *DB) mayWrite(op string, d Durability) error {
	if db.mode == ReadOnly {
		return db.wrap(op, &Error{Kind: NotWritable, Err: errors.New("the store was opened read-only")})
	}
	if !db.caps.Promise(d).Supported {
		return db.wrap(op, &Error{Kind: Unsupported, Err: fmt.Errorf("the store does not deliver %v", d),
			Hint: fmt.Sprintf("open it with ?durability=%v, or choose another engine", d)})
	}
	return nil
}

// enterWriting waits until nobody else writes.
func (db *DB) enterWriting(ctx context.Context, op string, d Durability) error {
	if err := db.mayWrite(op, d); err != nil {
		return err
	}
	if err := db.enter(ctx, op); err != nil {
		return err
	}
	if err := db.writers.enterAlone(ctx); err != nil {
		db.leave()
		return db.wrap(op, err)
	}
	return nil
}

func (db *DB) leaveWriting() {
	db.writers.leaveAlone()
	db.leave()
}

func (db *DB) wrap(op string, err error) error { return wrapError(op, db.engine, db.path, err) }

// wrapError makes err an *Error that names what was done to what. An Error of the driver keeps its kind and hint.
func wrapError(op, engine, path string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Kind: driver.KindOf(err), Err: err, Hint: kindHint(err)}
	}
	c := *e
	c.Op, c.Engine, c.Path = op, engine, path
	return &c
}

// kindHint is the advice for errors of the operating system, which know none.
func kindHint(err error) string {
	switch driver.KindOf(err) {
	case Full:
		return "free some space, or use another folder"
	case Permission:
		return "use a folder that you may write to"
	}
	return ""
}
