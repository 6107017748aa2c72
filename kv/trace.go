package kv

import (
	"context"
	"time"
)

// Tracer is told of every operation of a store: the one place for counting, timing and tracing. See [WithTracer]. Its
// methods are called by the goroutine that runs the operation, and must not call the store.
type Tracer interface {
	// Start is called when the operation op begins. The context it returns is the parent of operations inside this one,
	// as a Get is inside a View, and is given to End.
	Start(ctx context.Context, op string) context.Context

	// End is called when the operation has ended.
	End(ctx context.Context, e Event)
}

// Event is one operation of a store.
type Event struct {
	// Op is "open", "close", "view", "snapshot", "update", "begin", "commit", "write", "get", "len", "scan", "put",
	// "delete", "delete range", "check", "compact" or "backup".
	Op         string
	Durability Durability    // the class asked for, of update, begin, commit and write
	Pairs      int           // pairs read or written
	Bytes      int           // in the keys and values of those pairs
	Took       time.Duration // from Start to End
	Err        error         // NotFound included; nil for most
}

// span is an operation that is being traced. A nil span is that of a store without a tracer, and does nothing.
type span struct {
	tracer Tracer
	ctx    context.Context
	start  time.Time
	event  Event
}

// startSpan begins a span, and returns the context for what runs inside the operation. Without a tracer it is nil.
func startSpan(ctx context.Context, t Tracer, e Event) (context.Context, *span) {
	if t == nil {
		return ctx, nil
	}
	ctx = t.Start(ctx, e.Op)
	return ctx, &span{tracer: t, ctx: ctx, start: time.Now(), event: e}
}

// traced runs do within a span.
func traced(ctx context.Context, t Tracer, e Event, do func(ctx context.Context) error) (err error) {
	ctx, sp := startSpan(ctx, t, e)
	defer func() { sp.end(err) }()
	return do(ctx)
}

// end tells the tracer how the operation went.
func (s *span) end(err error) {
	if s == nil {
		return
	}
	s.event.Took, s.event.Err = time.Since(s.start), err
	s.tracer.End(s.ctx, s.event)
}

// pair counts a pair.
func (s *span) pair(key, value []byte) {
	if s == nil {
		return
	}
	s.event.Pairs++
	s.event.Bytes += len(key) + len(value)
}
