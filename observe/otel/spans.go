// Package otel tells OpenTelemetry what a store does: spans of its operations by [Spans], and the
// figures of an [observe.Observer] as metrics by [Metrics]. It needs OpenTelemetry's API alone;
// which SDK and exporter there are is the program's choice.
//
//	o := observe.New(nil)
//	db, err := kv.Open(ctx, url, kv.WithTracer(o), kv.WithTracer(otel.Spans(provider)))
//	stop, err := otel.Metrics(meters, "app", o)
package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/assaydb/assay/kv"
)

// name is the scope of what is told.
const name = "github.com/assaydb/assay/observe/otel"

// tracer makes a span of every operation.
type tracer struct {
	spans trace.Tracer
	of    map[string]bool // nil is all
}

// Spans returns a tracer for kv.WithTracer that makes a span of every operation, within the span of
// the caller's context: "kv view" with "kv get" inside it. A sync is within no other, as the engine
// runs it for several. The least operations are many; given names of operations, as kv.Event has
// them, it makes spans of those alone.
func Spans(provider trace.TracerProvider, ops ...string) kv.Tracer {
	t := &tracer{spans: provider.Tracer(name)}
	for _, op := range ops {
		if t.of == nil {
			t.of = map[string]bool{}
		}
		t.of[op] = true
	}
	return t
}

// Start begins a span.
func (t *tracer) Start(ctx context.Context, op string) context.Context {
	if op == "sync" || t.of != nil && !t.of[op] { // it is over, and how long it took comes with its end
		return ctx
	}
	return t.begin(ctx, op, time.Now())
}

func (t *tracer) begin(ctx context.Context, op string, at time.Time) context.Context {
	ctx, span := t.spans.Start(ctx, "kv "+op, trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(at))
	return context.WithValue(ctx, t, span)
}

// End ends it. A key that is absent is no failure.
func (t *tracer) End(ctx context.Context, e kv.Event) {
	if t.of != nil && !t.of[e.Op] {
		return
	}
	if e.Op == "sync" {
		ctx = t.begin(ctx, e.Op, time.Now().Add(-e.Took))
	}
	span, ok := ctx.Value(t).(trace.Span) // the context's own may be another tracer's
	if !ok {
		return
	}
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("kv.op", e.Op))
	switch e.Op {
	case "update", "begin", "held transaction", "commit", "write":
		span.SetAttributes(attribute.String("kv.class", e.Durability.String()))
	}
	if e.Pairs > 0 {
		span.SetAttributes(attribute.Int("kv.pairs", e.Pairs), attribute.Int("kv.bytes", e.Bytes))
	}
	if e.Err != nil {
		span.SetAttributes(attribute.String("kv.kind", kv.KindOf(e.Err).Error()))
	}
	if e.Err != nil && !errors.Is(e.Err, kv.NotFound) {
		span.RecordError(e.Err)
		span.SetStatus(codes.Error, e.Err.Error())
	}
}
