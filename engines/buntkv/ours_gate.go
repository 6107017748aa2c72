package buntkv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// gate lets in readers, who share one transaction of BuntDB's, or one writer. BuntDB's own lock
// would do so too, but its waits know no context, and a goroutine of BuntDB's asks for it once a
// second: whoever comes later then waits for all who are in, even a reader within a reader.
type gate struct {
	mu      sync.Mutex
	left    sync.Cond // on mu: somebody has left, or it is time to look again
	db      *buntdb.DB
	broken  error // why nobody gets in any more
	tx      *buntdb.Tx
	readers int
	writing bool
	upkeep  bool      // the writer is a compaction, which ends by itself
	wanted  time.Time // since when a writer waits for the readers
}

// The argument of BuntDB's Begin.
const (
	readOnly  = false
	readWrite = true
)

const (
	// courtesy is how long readers who come let a writer go first who waits for readers. It is
	// over soon, because what is in may be waiting for them: a View around a View.
	courtesy = 20 * time.Millisecond
	// patience is how long anybody waits for another user of the same handle. Then kv is told that
	// the store is busy, and tries again until its own time is up.
	patience = time.Second
)

// read lets a reader in, until endRead.
func (g *gate) read(ctx context.Context) (tx *buntdb.Tx, err error) {
	g.mu.Lock()
	if tx, err = g.tryRead(); tx == nil && err == nil {
		err = g.await(ctx, func() (_ bool, err error) { tx, err = g.tryRead(); return tx != nil, err })
	}
	g.mu.Unlock()
	return tx, err
}

// tryRead lets a reader in, with the mutex held, unless a writer comes first: tx is nil then.
func (g *gate) tryRead() (tx *buntdb.Tx, err error) {
	if g.broken != nil || g.writing || !g.wanted.IsZero() && time.Since(g.wanted) < courtesy {
		return nil, g.broken
	}
	if g.readers == 0 {
		if g.tx, err = g.db.Begin(readOnly); err != nil {
			return nil, err
		}
	}
	g.readers++
	return g.tx, nil
}

func (g *gate) endRead() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readers--; g.readers == 0 {
		err = g.tx.Rollback()
		g.left.Broadcast()
	}
	return err
}

// write lets a writer in, until endWrite.
func (g *gate) write(ctx context.Context, upkeep bool) (err error) {
	g.mu.Lock()
	if !g.tryWrite(upkeep) {
		err = g.await(ctx, func() (bool, error) { return g.tryWrite(upkeep), g.broken })
	}
	g.mu.Unlock()
	return err
}

// tryWrite lets a writer in, with the mutex held, unless others are.
func (g *gate) tryWrite(upkeep bool) bool {
	if g.writing || g.readers > 0 || g.broken != nil {
		if g.wanted.IsZero() {
			g.wanted = time.Now()
		}
		return false
	}
	g.writing, g.upkeep, g.wanted = true, upkeep, time.Time{}
	return true
}

// commit commits tx and ends the write. Where BuntDB cannot take a half-written commit back it
// panics, and holds its lock.
func (g *gate) commit(tx *buntdb.Tx) (err error) {
	var broken error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("bunt: %v", p)
			broken = err
		}
		g.endWrite(broken)
	}()
	return tx.Commit()
}

// close closes the database, unless BuntDB holds its lock for good.
func (g *gate) close() error {
	if g.broken != nil {
		return nil
	}
	return g.db.Close()
}

// endWrite lets others in, unless something is broken for good.
func (g *gate) endWrite(broken error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing, g.upkeep, g.broken = false, false, broken
	g.left.Broadcast()
}

// await calls try until it succeeds; the mutex is held.
func (g *gate) await(ctx context.Context, try func() (bool, error)) error {
	g.left.L = &g.mu
	var deadline time.Time
	for {
		if ok, err := try(); ok || err != nil {
			return err
		}
		now, err := time.Now(), ctx.Err()
		if deadline.IsZero() { // the first time round
			defer context.AfterFunc(ctx, g.look)()
		}
		if deadline.IsZero() || g.upkeep {
			deadline = now.Add(patience)
		}
		if !g.upkeep && (err != nil || now.After(deadline)) {
			err = &driver.Error{Kind: driver.Busy,
				Err:  errors.New("a snapshot or a transaction of this program is open"),
				Hint: "end it first: on BuntDB nothing is written while something is read, and the other way round"}
		}
		if err != nil {
			g.wanted = time.Time{} // if somebody else waits to write, he will say so again
			return err
		}
		again := time.AfterFunc(courtesy, g.look)
		g.left.Wait()
		again.Stop()
	}
}

// look has those who wait look again.
func (g *gate) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left.Broadcast()
}
