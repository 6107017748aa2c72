package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// Close waits for running calls, ends snapshots and transactions that the program still holds, and
// closes the store. That some were held is an error. Later calls of any method fail with Closed;
// closing again returns what the first Close returned. Within the function of an Update it is
// Invalid and does nothing.
func (db *DB) Close() error {
	if len(db.prefix) > 0 {
		return nil
	}
	if err := db.MayWait(context.Background()); err != nil {
		return err
	}
	db.closing.Do(func() {
		db.core.err = traced(context.Background(), db.tracer, Event{Op: "close"}, func(ctx context.Context) error {
			return db.wrap("close", db.close(ctx))
		})
	})
	return db.core.err
}

func (db *DB) close(ctx context.Context) error {
	db.active.Add(closedBit)
	db.mu.Lock()
	for db.active.Load() != closedBit {
		db.idle.Wait()
	}
	held := db.held
	db.held = nil
	db.mu.Unlock()
	err := db.endHeld(held)
	_ = db.writers.enterAlone(ctx, alone) // which does not end
	defer db.writers.leaveAlone()         // those who wait are told that the store is closed
	allTurns.Delete(&db.writers)
	return errors.Join(err, db.store.Close())
}

// endHeld ends what the program did not.
func (db *DB) endHeld(held map[*view]*Tx) error {
	left := 0
	var err error
	for v, tx := range held {
		v.enter()
		if v.r != nil {
			left++
			if tx != nil {
				err = errors.Join(err, db.let(tx, false))
			} else {
				err = errors.Join(err, v.end())
			}
		}
		v.leave()
	}
	if left > 0 {
		err = errors.Join(err, refusal(Invalid, "close what Snapshot returned; Commit or Rollback what Begin returned",
			"%d snapshots or transactions were still open", left))
	}
	return err
}

// hold remembers what Close must end; tx is nil for a snapshot.
func (c *core) hold(v *view, tx *Tx) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[*view]*Tx{}
	}
	c.held[v] = tx
}

// drop forgets what has ended.
func (c *core) drop(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, v)
}

// enter counts a running call, and refuses it if the store is closed or ctx has ended.
func (db *DB) enter(ctx context.Context, op string) error {
	if db.active.Add(1) < closedBit && ctx.Err() == nil {
		return nil
	}
	db.leave()
	return db.mayRun(ctx, op)
}

func (db *DB) leave() {
	if db.active.Add(-1) == closedBit {
		db.wakeClose()
	}
}

// wakeClose is apart from leave, which is part of its callers then.
func (db *DB) wakeClose() {
	db.mu.Lock() // so that Close is not between its look and its wait
	defer db.mu.Unlock()
	db.idle.Broadcast()
}

// mayRun refuses a call if the store is closed or ctx has ended.
func (db *DB) mayRun(ctx context.Context, op string) error {
	if db.active.Load() >= closedBit {
		return db.wrap(op, refusal(Closed, "", "the store is closed"))
	}
	return db.wrap(op, ctx.Err())
}

// mayWrite also refuses what this store never does, or does no more.
func (db *DB) mayWrite(ctx context.Context, op string, d Durability) error {
	switch {
	case db.takes>>d&1 == 0:
		return db.wrap(op, db.takesNot(d))
	case db.stopped.Err() != nil:
		return db.wrap(op, db.stopped.Err())
	case db.active.Load() < closedBit && ctx.Err() == nil:
		return nil
	}
	return db.mayRun(ctx, op)
}

// takesNot explains why no commit of class d is taken.
func (db *DB) takesNot(d Durability) *Error {
	switch {
	case db.config.Mode == ReadOnly:
		return refusal(NotWritable, "", "the store was opened read-only")
	case !db.caps.Promise(d).Supported:
		return refusal(Unsupported, fmt.Sprintf("open it with ?durability=%v, or choose another engine", d),
			"the store does not deliver %v", d)
	}
	return torn(d)
}

func torn(d Durability) *Error {
	return refusal(Unsupported,
		"choose another class, other options or another engine: assay engines tells which keep transactions whole",
		"a kill may leave a part of a transaction that was committed as %v", d)
}

// enterAlone waits until nobody else writes. The caller ends its turn by writers.leave(as).
func (db *DB) enterAlone(ctx context.Context, op string, d Durability, as int64) error {
	if err := db.writers.enterAlone(ctx, as); err != nil {
		return db.wrap(op, waitedForItself(err))
	}
	err := db.mayWrite(ctx, op, d)
	if err != nil {
		db.writers.leave(as)
	}
	return err
}

// waitedForItself adds what is most often wrong when a writer's turn does not come.
func waitedForItself(err error) error {
	if err == errWithin {
		return refusal(Invalid, "write by its transaction: tx.Put and the like, or In(tx) of a store", "%w", err)
	}
	return refusal(driver.KindOf(err),
		"end it first; do not call Update, Begin or Write within a function that View or Update runs",
		"another transaction of this program was running: %w", err)
}

// refusal is an error without an operation, which wrap adds.
func refusal(kind Kind, hint, text string, values ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(text, values...), Hint: hint}
}

// wrap makes err, if there is one, the program's.
func (db *DB) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return wrapError(op, db.engine, db.path, err)
}

// wrapError makes err an *Error that names what was done to what. An Error of the driver keeps its
// kind and hint, and nothing of err is lost.
func wrapError(op, engine, path string, err error) error {
	kind := driver.KindOf(err)
	c := Error{Kind: kind, Err: err, Hint: cmp.Or(driver.HintOf(err), systemHints[kind])}
	if e, ok := err.(*Error); ok {
		c = *e
		c.Hint = cmp.Or(c.Hint, systemHints[c.Kind])
	}
	c.Op, c.Engine, c.Path = op, engine, path
	return &c
}

// systemHints are the advice for errors of the operating system, which know none.
var systemHints = map[Kind]string{Full: "free some space, or use another folder",
	Permission: "use a folder that you may write to"}
