package kv

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// leastTries is how often Update runs a function whose transactions meet others, whatever the wait.
const leastTries = 20

// Update runs fn on a read-write transaction and commits it with at least the durability d. If fn
// returns an error or panics, or a scan ended early, everything is rolled back. Transactions are
// serializable; Update waits for its turn until ctx ends, also for the readers that its commit may
// have to wait for, and does not consult ctx once the commit writes. What an error says of the
// commit stands in the package comment.
//
// Where Caps say MayAbort, fn may run several times, each time on a new transaction, before one
// commits: it must not change anything but the transaction. The error is Aborted after 20 tries,
// but not before the time of WithWait has passed.
func (db *DB) Update(ctx context.Context, d Durability, fn func(*Tx) error) error {
	if db.tracer == nil {
		return db.updateAgain(ctx, d, fn)
	}
	return traced(ctx, db.tracer, Event{Op: "update", Durability: d}, func(ctx context.Context) error {
		return db.updateAgain(ctx, d, fn)
	})
}

func (db *DB) updateAgain(ctx context.Context, d Durability, fn func(*Tx) error) error {
	err := db.update(ctx, d, fn)
	if err != nil && db.caps.MayAbort {
		return db.retry(ctx, "update", err, func() error { return db.update(ctx, d, fn) })
	}
	return err
}

// retry runs try, which failed with err, until it is not Aborted, which only engines that MayAbort
// return.
func (db *DB) retry(ctx context.Context, op string, err error, try func() error) error {
	pause := db.limit
	pause.longest, pause.least = longestAbort, leastTries-1
	for driver.KindOf(err) == Aborted {
		if !pause.rest(ctx) {
			if ctx.Err() != nil {
				return db.wrap(op, &Error{Kind: Canceled, Err: errors.Join(ctx.Err(), err)})
			}
			return db.wrap(op, &Error{Kind: Aborted, Err: err,
				Hint: "other transactions keep changing what this one reads: make it smaller, or try later"})
		}
		err = try()
	}
	return err
}

func (db *DB) update(ctx context.Context, d Durability, fn func(*Tx) error) (err error) {
	if err := db.enterAlone(ctx, "update", d, updating); err != nil {
		return err
	}
	defer db.writers.leave(updating)
	w, err := db.begin(ctx, d)
	if err != nil {
		return db.wrap("update", err)
	}
	f := takeFrame(&db.updated)
	s := f.begin(ctx, db, w)
	f.w.w, f.w.d = w, d
	tx := f.txs.next()
	tx.Snapshot, tx.writing = s, &f.w
	defer func() {
		tx.writing = &endedWriting
		if cerr := f.end(s, &db.updated); cerr != nil && err == nil {
			err = db.wrap("update", cerr)
		}
	}()
	if err := run(fn, tx); err != nil {
		return err
	}
	return db.commit(tx)
}

// begin waits, within reason, for another process's transaction to end.
func (db *DB) begin(ctx context.Context, d Durability) (driver.Txn, error) {
	w, err := db.store.Begin(ctx, d)
	if err != nil {
		err = db.limit.again(ctx, err, func() (err error) { w, err = db.store.Begin(ctx, d); return err })
	}
	return w, err
}

// commit commits tx unless a scan of it failed or is still running.
func (db *DB) commit(tx *Tx) (err error) {
	ctx := tx.ctx
	if db.tracer != nil {
		var sp span
		ctx = sp.begin(ctx, db.tracer, Event{Op: "commit", Durability: tx.d, Pairs: tx.pairs, Bytes: tx.bytes})
		defer func() { sp.end(err) }()
	}
	// a scan that is open is told of, and rolled back, by the end of the transaction
	if tx.err != nil || tx.open != nil {
		return tx.err
	}
	if err := tx.keepNone(); err != nil {
		return db.wrap("commit", err)
	}
	if err := db.finish(ctx, "commit", tx.w); err != nil {
		return err
	}
	for _, fn := range tx.after {
		fn()
	}
	return nil
}

// finish commits w, and waits, within reason, for the readers that are in its way.
func (db *DB) finish(ctx context.Context, op string, w driver.Txn) error {
	err := w.Commit()
	if err == nil {
		return nil
	}
	p := db.limit
	p.longest = longestCommit
	return db.outcome(op, p.again(ctx, err, w.Commit))
}

// outcome makes err, of a commit, the program's, and stops the store if the commit is in doubt.
func (db *DB) outcome(op string, err error) error {
	if driver.IsInDoubt(err) {
		hint := "it may be there or not: close the store, open it again, and look"
		if !db.caps.Remote {
			db.stopped.Stop(err)
		}
		if kind := driver.KindOf(err); kind != driver.Other && !errors.Is(err, kind) { // in the words of the system
			err = &Error{Kind: kind, Err: err}
		}
		err = &Error{Kind: InDoubt, Err: err, Hint: cmp.Or(driver.HintOf(err), hint)}
	}
	return db.wrap(op, err)
}

// Begin starts a read-write transaction, for programs whose writing does not fit into one function.
// The caller ends it by Commit or Rollback; until then all other writers of the store wait. It is
// Update's transaction in every other respect, but that it is not run again when it is Aborted.
func (db *DB) Begin(ctx context.Context, d Durability) (tx *Tx, err error) {
	err = traced(ctx, db.tracer, Event{Op: "begin", Durability: d}, func(ctx context.Context) error {
		if err := db.enterAlone(ctx, "begin", d, alone); err != nil {
			return err
		}
		err := db.enter(ctx, "begin") // Close looks for what is held when this call has ended
		if err == nil {
			defer db.leave()
			var w driver.Txn
			if w, err = db.begin(ctx, d); err == nil {
				v := db.heldView(context.WithoutCancel(ctx), w, Event{Op: "held transaction", Durability: d})
				tx = &Tx{Snapshot: &Snapshot{view: v, db: db}, writing: &writing{w: w, d: d, held: true}}
				db.hold(v, tx)
				return nil
			}
		}
		db.writers.leaveAlone()
		return db.wrap("begin", err)
	})
	return tx, err
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

// Write commits the writes of b, in order, as one transaction with at least the durability d. It is
// the fast path for writes that need no read: on engines whose Caps say ConcurrentApply, calls at
// the same time share a sync. An empty batch does nothing. b is unchanged and may be reset and used
// again.
func (db *DB) Write(ctx context.Context, d Durability, b *Batch) error {
	if db.tracer == nil {
		return db.writeBatch(ctx, d, b)
	}
	e := Event{Op: "write", Durability: d, Pairs: b.Len(), Bytes: b.Size()}
	return traced(ctx, db.tracer, e, func(ctx context.Context) error { return db.writeBatch(ctx, d, b) })
}

func (db *DB) writeBatch(ctx context.Context, d Durability, b *Batch) error {
	if err := b.check(&db.caps); err != nil {
		return db.wrap("write", err)
	}
	if len(b.ranges) > 0 {
		return db.updateAgain(ctx, d, b.runInTurn)
	}
	ops := b.ops
	if len(db.prefix) > 0 {
		ops = b.below(db.prefix)
	}
	return db.write(ctx, d, nil, ops, b.turn)
}

// ones are the operations of writers who met another.
var ones = sync.Pool{New: func() any { return new([1]driver.Op) }}

// writeOne is Write of one operation, which need not be copied.
func (db *DB) writeOne(ctx context.Context, d Durability, op *driver.Op) error {
	t, began, size := db.tracer, int64(0), len(op.Key)+len(op.Value)
	if t != nil {
		ctx, began = t.Begin(ctx, "write")
	}
	err := db.wrap("write", checkPair(&db.caps, op.Key, op.Value))
	if err == nil {
		if len(db.prefix) > 0 {
			op.Key = slices.Concat(db.prefix, op.Key)
		}
		err = db.write(ctx, d, op, nil, nil)
	}
	if t != nil {
		// no span: its event would be made here, and copied again at the end
		t.Finish(ctx, began, Event{Op: "write", Durability: d, Pairs: 1, Bytes: size, Err: err})
	}
	return err
}

// write commits op, or ops if that is nil, in the turn of a writer, again where it meets others.
// turn is Batch.turn.
func (db *DB) write(ctx context.Context, d Durability, op *driver.Op, ops []driver.Op, turn func() error) error {
	err := db.inTurn(ctx, d, op, ops, turn)
	if err != nil && db.caps.MayAbort {
		return db.retry(ctx, "write", err, func() error { return db.inTurn(ctx, d, op, ops, turn) })
	}
	return err
}

func (db *DB) inTurn(ctx context.Context, d Durability, op *driver.Op, ops []driver.Op, turn func() error) (err error) {
	as, first := int64(alone), true
	if db.caps.ConcurrentApply {
		as = 1
		first, err = db.writers.enterShared(ctx)
	} else {
		err = db.writers.enterAlone(ctx, alone)
	}
	if err != nil {
		return db.wrap("write", waitedForItself(err))
	}
	defer db.writers.leave(as)
	if err = db.mayWrite(ctx, "write", d); err == nil && turn != nil {
		err = turn()
	}
	switch {
	case err != nil:
		return err
	case op == nil:
		return db.apply(ctx, d, ops)
	}
	one := &db.one
	if !first {
		one = ones.Get().(*[1]driver.Op)
		defer ones.Put(one)
	}
	one[0].Key, one[0].Value, one[0].Delete = op.Key, op.Value, op.Delete // see driver.Range.Set
	err = db.apply(ctx, d, one[:])
	one[0] = driver.Op{}
	return err
}

// apply commits ops in the turn of the caller.
func (db *DB) apply(ctx context.Context, d Durability, ops []driver.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if db.applier == nil {
		return db.applyInSteps(ctx, d, ops)
	}
	err := db.applier.Apply(ctx, ops, d)
	if err == nil {
		return nil
	}
	if driver.KindOf(err) == Busy && !db.caps.ConcurrentApply {
		// A commit keeps its place while it waits for readers, where Apply would begin anew behind
		// others.
		return db.applyInSteps(ctx, d, ops)
	}
	return db.outcome("write", db.limit.again(ctx, err, func() error { return db.applier.Apply(ctx, ops, d) }))
}

// applyInSteps is Apply on a store that has none.
func (db *DB) applyInSteps(ctx context.Context, d Durability, ops []driver.Op) (err error) {
	w, err := db.begin(ctx, d)
	if err != nil {
		return db.wrap("write", err)
	}
	defer func() {
		if cerr := w.Close(); cerr != nil && err == nil {
			err = db.wrap("write", cerr)
		}
	}()
	for i := range ops {
		if err := ops[i].Run(w); err != nil {
			return db.wrap("write", err)
		}
	}
	return db.finish(ctx, "write", w)
}
