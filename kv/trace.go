package kv

import (
	"context"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// Tracer is told of every operation of a store: the one place for counting, timing and tracing. See
// [WithTracer]. Its methods are called by the goroutine that runs the operation, of a sync also by
// those of the engine, and must not call the store.
type Tracer interface {
	// Start is called when the operation op begins. The context it returns is the parent of
	// operations inside this one, as a Get is inside a View, and is given to End.
	Start(ctx context.Context, op string) context.Context

	// End is called when the operation has ended.
	End(ctx context.Context, e Event)
}

// Watcher is a Tracer that also asks the store from time to time what it tells of itself: its size,
// its engine's figures. It may call the store, in goroutines of its own.
type Watcher interface {
	Tracer

	// Watch is called with a store that was opened with this tracer, before Open returns.
	Watch(db *DB)
}

// Timer is a Tracer that times operations itself, as a look at the clock costs more than counting.
// Where it is the only tracer of a store, Begin and Finish are called instead of Start and End.
type Timer interface {
	Tracer

	// Begin is Start, and returns what Finish is given as began.
	Begin(ctx context.Context, op string) (within context.Context, began int64)

	// Finish is End; e.Took is 0.
	Finish(ctx context.Context, began int64, e Event)
}

// Event is one operation of a store.
//
// What a program calls is "open", "close", "view", "snapshot", "update", "begin", "write", "check",
// "compact" or "backup". Inside views and transactions there are "get", "len", "scan", "put",
// "delete", "delete range" and "commit". Inside any of them are its waits: "turn" for the writers
// of this process, "lock" for what others hold. A "held snapshot" or "held transaction" lasts from
// Snapshot or Begin to its end.
//
// A "sync" is one of the store's files, where the engine tells of them (see docs/observe.md). Who
// syncs is often a goroutine of the engine's, so that it is within no other operation, and is told
// when it is over: Start and End are called one behind the other, Timers too, and Took is what the
// sync took.
type Event struct {
	Op         string
	Durability Durability    // the class asked for, of update, begin, held transaction, commit and write
	Pairs      int           // pairs read or written; of a commit, those of its transaction
	Bytes      int           // in the keys and values of those pairs
	Took       time.Duration // from Start to End; see above for sync
	Err        error         // NotFound included; nil for most
}

// timed makes a Timer of a tracer that is none, by two looks at the clock.
type timed struct{ Tracer }

func (t timed) Begin(ctx context.Context, op string) (context.Context, int64) {
	ctx = t.Start(ctx, op)
	return ctx, int64(time.Since(epoch))
}

func (t timed) Finish(ctx context.Context, began int64, e Event) {
	e.Took = time.Since(epoch) - time.Duration(began)
	t.End(ctx, e)
}

// timerOf returns t as a timer, nil if t is nil.
func timerOf(t Tracer) Timer {
	if timer, ok := t.(Timer); ok || t == nil {
		return timer
	}
	return timed{t}
}

// tracers are several that are told of the same: the first is told of a beginning first, and of an
// end last.
type tracers []Tracer

func (all tracers) Start(ctx context.Context, op string) context.Context {
	for _, t := range all {
		ctx = t.Start(ctx, op)
	}
	return ctx
}

func (all tracers) End(ctx context.Context, e Event) {
	for i := len(all) - 1; i >= 0; i-- {
		all[i].End(ctx, e)
	}
}

// Watch gives db to those who ask it.
func (all tracers) Watch(db *DB) {
	for _, t := range all {
		if w, ok := t.(Watcher); ok {
			w.Watch(db)
		}
	}
}

// onSync returns what makes an event of each sync, nil without a tracer.
func onSync(t Tracer) driver.OnSync {
	if t == nil {
		return nil
	}
	return func(took time.Duration, err error) {
		t.End(t.Start(context.Background(), "sync"), Event{Op: "sync", Took: took, Err: err})
	}
}

// epoch is what spans count from. The time since then costs one look at the clock, time.Now two.
var epoch = time.Now()

// span is an operation that is being traced. A nil span, and one that has not begun, is that of a
// store without a tracer, and does nothing.
type span struct {
	timer Timer
	ctx   context.Context
	began int64 // as the timer has it
	event Event
}

// begin begins a span, and returns the context for what runs inside the operation.
func (s *span) begin(ctx context.Context, t Timer, e Event) context.Context {
	if t == nil {
		return ctx
	}
	s.timer, s.event = t, e
	s.ctx, s.began = t.Begin(ctx, e.Op)
	return s.ctx
}

// startSpan begins a span that outlives the function. Without a tracer it is nil.
func startSpan(ctx context.Context, t Timer, e Event) (context.Context, *span) {
	if t == nil {
		return ctx, nil
	}
	s := new(span)
	return s.begin(ctx, t, e), s
}

// traced runs do within a span.
func traced(ctx context.Context, t Timer, e Event, do func(ctx context.Context) error) (err error) {
	var sp span
	ctx = sp.begin(ctx, t, e)
	defer func() { sp.end(err) }()
	return do(ctx)
}

// end tells the tracer how the operation went.
func (s *span) end(err error) {
	if s == nil || s.timer == nil {
		return
	}
	if err != nil { // to copy what was just stored has the processor wait for its parts
		s.event.Err = err
	}
	s.timer.Finish(s.ctx, s.began, s.event)
}

// pair counts a pair.
func (s *span) pair(key, value []byte) {
	if s == nil {
		return
	}
	s.event.Pairs++
	s.event.Bytes += len(key) + len(value)
}
