package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// Close waits for running calls, ends snapshots and transactions that the program still holds, and closes the store.
// That some were held is an error. Later calls of any method fail with Closed; closing again returns what the first
// Close returned.
func (db *DB) Close() error {
	if len(db.prefix) > 0 {
		return nil
	}
	db.closing.Do(func() { db.core.err = db.close() })
	return db.core.err
}

func (db *DB) close() (err error) {
	_, sp := db.startSpan(context.Background(), "close")
	defer func() { sp.end(err) }()
	db.active.Add(closedBit)
	db.mu.Lock()
	for db.active.Load() != closedBit {
		db.idle.Wait()
	}
	held := db.held
	db.held = nil
	db.mu.Unlock()
	err = db.endHeld(held)
	_ = db.writers.enterAlone(context.Background()) // for good; it cannot be canceled
	if err = errors.Join(err, db.store.Close()); err != nil {
		return db.wrap("close", err)
	}
	return nil
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
		err = errors.Join(err, &Error{Kind: Invalid, Err: fmt.Errorf("%d snapshots or transactions were still open", left),
			Hint: "close what Snapshot returned; Commit or Rollback what Begin returned"})
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

// mayWrite refuses what this store never does, or does no more.
func (db *DB) mayWrite(op string, d Durability) error {
	if db.config.Mode == ReadOnly {
		return db.wrap(op, &Error{Kind: NotWritable, Err: errors.New("the store was opened read-only")})
	}
	p := db.caps.Promise(d)
	if !p.Supported {
		return db.wrap(op, &Error{Kind: Unsupported, Err: fmt.Errorf("the store does not deliver %v", d),
			Hint: fmt.Sprintf("open it with ?durability=%v, or choose another engine", d)})
	}
	if db.atomic && !p.KillAtomic {
		return db.wrap(op, torn(d))
	}
	if err := db.stopped.Load(); err != nil {
		return db.wrap(op, err)
	}
	return nil
}

func torn(d Durability) error {
	return &Error{Kind: Unsupported, Err: fmt.Errorf("a kill may leave a part of a transaction that was committed as %v", d),
		Hint: "choose another class, other options or another engine: assay engines tells which keep transactions whole"}
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
		return db.wrap(op, waitedForItself(err))
	}
	if db.stopped.Load() != nil { // by the one before
		db.leaveWriting()
		return db.mayWrite(op, d)
	}
	return nil
}

// waitedForItself adds what is most often wrong when a writer's turn does not come.
func waitedForItself(err error) error {
	return &Error{Kind: driver.KindOf(err), Err: fmt.Errorf("another transaction of this program was running: %w", err),
		Hint: "end it first; do not call Update, Begin or Write within a function that View or Update runs"}
}

func (db *DB) leaveWriting() {
	db.writers.leaveAlone()
	db.leave()
}

func (db *DB) wrap(op string, err error) error { return wrapError(op, db.engine, db.path, err) }

// wrapError makes err an *Error that names what was done to what. An Error of the driver keeps its kind and hint, and
// nothing of err is lost.
func wrapError(op, engine, path string, err error) error {
	c := Error{Kind: driver.KindOf(err), Err: err, Hint: orElse(driver.HintOf(err), kindHint(err))}
	if e, ok := err.(*Error); ok {
		c = *e
	}
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
