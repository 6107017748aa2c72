package kv

import (
	"context"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// View runs fn on a snapshot that was fixed before fn began. It returns fn's error, or the error of
// a scan that ended early.
func (db *DB) View(ctx context.Context, fn func(*Snapshot) error) error {
	if db.tracer == nil {
		return db.view(ctx, fn)
	}
	return traced(ctx, db.tracer, Event{Op: "view"}, func(ctx context.Context) error { return db.view(ctx, fn) })
}

func (db *DB) view(ctx context.Context, fn func(*Snapshot) error) (err error) {
	if err := db.enter(ctx, "view"); err != nil {
		return err
	}
	own := &db.viewed
	if db.active.Load() != 1 { // who is alone here stays so until it leaves: who comes meanwhile finds two
		own = nil
	}
	f := takeFrame(own)
	if f.renewer == nil || f.renewer.Renew(ctx) != nil {
		if f.last, err = db.reader(ctx); err != nil {
			db.leave()
			return db.wrap("view", err)
		}
		f.renewer, _ = f.last.(driver.Renewer)
	}
	s := f.begin(ctx, db, f.last)
	defer func() {
		cerr := f.end(s, own)
		db.leave()
		if cerr != nil && err == nil {
			err = db.wrap("view", cerr)
		}
	}()
	if err := fn(s); err != nil {
		return err
	}
	return f.err
}

// append reads one value without the memory of a View, and without a snapshot where the driver can.
func (db *DB) append(ctx context.Context, dst, key []byte) ([]byte, error) {
	if err := db.enter(ctx, "get"); err != nil {
		return dst, err
	}
	defer db.leave()
	if len(key) == 0 {
		return dst, db.wrap("get", errEmptyKey())
	}
	if len(db.prefix) > 0 {
		key = slices.Concat(db.prefix, key)
	}
	v, err := db.getOnce(ctx, dst, key)
	if err != nil && err != error(driver.NotFound) {
		return db.getAgain(ctx, err, dst, key)
	}
	return v, err
}

func (db *DB) getOnce(ctx context.Context, dst, key []byte) ([]byte, error) {
	if db.getter != nil {
		return db.getter.Get(ctx, dst, key)
	}
	r, err := db.store.Snapshot(ctx)
	if err != nil {
		return dst, err
	}
	v, err := r.Get(dst, key)
	if cerr := r.Close(); cerr != nil {
		return dst, cerr
	}
	return v, err
}

// getAgain waits, within reason, for what keeps a value from being read, which err says.
func (db *DB) getAgain(ctx context.Context, err error, dst, key []byte) (v []byte, _ error) {
	err = db.limit.again(ctx, err, func() (err error) { v, err = db.getOnce(ctx, dst, key); return err })
	switch err {
	case nil, error(driver.NotFound):
		return v, err
	}
	return dst, db.wrap("get", err)
}

// reader returns the last committed state, and waits, within reason, for what keeps it from being
// read.
func (db *DB) reader(ctx context.Context) (driver.Reader, error) {
	r, err := db.store.Snapshot(ctx)
	if err != nil {
		err = db.limit.again(ctx, err, func() (err error) { r, err = db.store.Snapshot(ctx); return err })
	}
	return r, err
}

// Snapshot returns the last committed state, for programs whose reading does not fit into one
// function: pages of a listing, iterators that are handed on. The caller closes it. Engines keep
// old data for as long as a snapshot is open, and some keep writers waiting (see [Caps]). On a
// store that is Remote ctx holds for the snapshot's life.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) {
	return db.snapshot(ctx, context.WithoutCancel)
}

// snapshot is Snapshot, of which what is read ends with the context that of makes of the caller's.
func (db *DB) snapshot(ctx context.Context, of func(context.Context) context.Context) (s *Snapshot, err error) {
	err = traced(ctx, db.tracer, Event{Op: "snapshot"}, func(ctx context.Context) error {
		if err := db.enter(ctx, "snapshot"); err != nil {
			return err
		}
		defer db.leave()
		r, err := db.reader(ctx)
		if err != nil {
			return db.wrap("snapshot", err)
		}
		s = &Snapshot{view: db.heldView(of(ctx), r, Event{Op: "held snapshot"}), db: db}
		db.hold(s.view, nil)
		return nil
	})
	return s, err
}

// heldView returns a view of r, which ends with ctx, and whose life is the event e.
func (db *DB) heldView(ctx context.Context, r driver.Reader, e Event) *view {
	v := &view{r: r, mu: new(sync.Mutex)}
	v.ctx, v.life = startSpan(ctx, db.tracer, e)
	return v
}

// frame is the memory of a View or an Update, which the next one of the store uses again; where
// Views run beside others it is the pool's, which costs more. What the program may still have is
// not used again: the Snapshot and the Tx, which are made many at a time, lose their view at the
// end.
type frame struct {
	view
	last      driver.Reader  // of a View
	renewer   driver.Renewer // last, if it is one and its store's own frame has it
	w         writing
	snapshots slab[Snapshot]
	txs       slab[Tx]
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// slab makes values many at a time, and gives each out once.
type slab[T any] struct {
	all  *[32]T
	used int
}

func (s *slab[T]) next() *T {
	if s.all == nil || s.used == len(s.all) {
		s.all, s.used = new([32]T), 0
	}
	s.used++
	return &s.all[s.used-1]
}

// The view and the writing of what has ended. Nobody changes them.
var (
	endedView    = view{ctx: context.Background()}
	endedWriting writing
)

// mostScratch is how many bytes for values the store keeps in a frame.
const mostScratch = 64 << 10

// takeFrame takes what own holds, and from the pool what it does not. A nil own is the pool.
func takeFrame(own **frame) (f *frame) {
	if own == nil || *own == nil {
		return frames.Get().(*frame)
	}
	f, *own = *own, nil
	return f
}

// begin begins the view, of r.
func (f *frame) begin(ctx context.Context, db *DB, r driver.Reader) *Snapshot {
	f.r, f.ctx = r, ctx
	s := f.snapshots.next()
	s.view, s.db = &f.view, db
	return s
}

// end ends the view and its snapshot, and gives the frame back. It is not used again if something
// else may have the view: a namespace, or a scan that was left open.
func (f *frame) end(s *Snapshot, own **frame) error {
	again := f.open == nil && !f.lent
	err := f.view.end()
	s.view = &endedView
	if again {
		if f.w.w != nil {
			f.w = writing{}
		}
		f.ctx, f.err = nil, nil
		if own != nil && cap(f.scratch) <= mostScratch {
			*own = f
		} else {
			f.last, f.renewer = nil, nil
			frames.Put(f)
		}
	}
	return err
}
