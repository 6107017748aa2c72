package otel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/observe"
	"github.com/assaydb/assay/observe/otel"
)

// open opens a store whose spans go to the returned exporter.
func open(t *testing.T, o *observe.Observer, ops ...string) (*kv.DB, *trace.TracerProvider,
	*tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	db, err := kv.Open(t.Context(), "mem:", kv.WithWeakest(kv.Buffered), kv.WithTracer(o),
		kv.WithTracer(otel.Spans(provider, ops...)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(); o.Close() })
	return db, provider, spans
}

func TestSpansNestAsOperationsDo(t *testing.T) {
	db, provider, exporter := open(t, observe.New(nil))
	exporter.Reset()
	ctx, request := provider.Tracer("program").Start(t.Context(), "request")
	err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		if _, err := tx.Get([]byte("absent")); kv.KindOf(err) != kv.NotFound {
			t.Error(err)
		}
		return tx.Put([]byte("key"), []byte("value"))
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Put(ctx, kv.Buffered, nil, nil) // refused
	request.End()
	spans := exporter.GetSpans()
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
	}
	if want := []string{"kv get", "kv put", "kv commit", "kv update", "kv write", "request"}; !slices.Equal(names,
		want) {
		t.Fatalf("got the spans %q, want %q", names, want)
	}
	update, root := spans[3], spans[5]
	for i, parent := range []tracetest.SpanStub{update, update, update, root, root} {
		if spans[i].Parent.SpanID() != parent.SpanContext.SpanID() {
			t.Errorf("%s is not inside %s", spans[i].Name, parent.Name)
		}
	}
	if get := spans[0]; get.Status.Code != codes.Unset || len(get.Events) != 0 {
		t.Errorf("an absent key is a failure: %+v", get.Status)
	}
	if write := spans[4]; write.Status.Code != codes.Error || len(write.Events) != 1 {
		t.Errorf("a refused write is no failure: %+v", write.Status)
	}
	for _, want := range []attribute.KeyValue{attribute.String("kv.class", "buffered"), attribute.Int("kv.pairs", 1),
		attribute.Int("kv.bytes", 8)} {
		if !slices.Contains(spans[2].Attributes, want) {
			t.Errorf("the commit has no %v: %v", want, spans[2].Attributes)
		}
	}
}

func TestASyncIsASpanOfTheTimeThatItTook(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	for _, tracer := range []kv.Tracer{otel.Spans(provider), otel.Spans(provider, "commit", "sync")} {
		exporter.Reset()
		tracer.End(tracer.Start(t.Context(), "sync"), kv.Event{Op: "sync", Took: time.Minute, Err: kv.Full})
		spans := exporter.GetSpans()
		if len(spans) != 1 || spans[0].Name != "kv sync" || spans[0].Parent.IsValid() ||
			spans[0].Status.Code != codes.Error {
			t.Fatalf("got %+v", spans)
		}
		if took := spans[0].EndTime.Sub(spans[0].StartTime); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the span lasts %v", took)
		}
	}
	exporter.Reset()
	tracer := otel.Spans(provider, "commit")
	tracer.End(tracer.Start(t.Context(), "sync"), kv.Event{Op: "sync"})
	if spans := exporter.GetSpans(); len(spans) != 0 {
		t.Errorf("nobody asked for %v", spans)
	}
}

func TestSpansOfSomeOperationsOnly(t *testing.T) {
	db, _, exporter := open(t, observe.New(nil), "view", "commit")
	if err := db.Put(t.Context(), kv.Buffered, []byte("key"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), []byte("key")); err != nil {
		t.Fatal(err)
	}
	if spans := exporter.GetSpans(); len(spans) != 1 || spans[0].Name != "kv view" {
		t.Errorf("got %v", spans)
	}
}

// TestTracersEndTheirOwnSpans has two of them, the first of which makes spans of views alone.
func TestTracersEndTheirOwnSpans(t *testing.T) {
	var exporters [2]*tracetest.InMemoryExporter
	var options []kv.Option
	for i, ops := range [][]string{{"view"}, nil} {
		exporters[i] = tracetest.NewInMemoryExporter()
		provider := trace.NewTracerProvider(trace.WithSyncer(exporters[i]))
		options = append(options, kv.WithTracer(otel.Spans(provider, ops...)))
	}
	db, err := kv.Open(t.Context(), "mem:", append(options, kv.WithWeakest(kv.Buffered))...)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		_, err := s.Get([]byte("absent"))
		if kv.KindOf(err) != kv.NotFound {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[kv view]", "[kv open kv get kv view]"} {
		var names []string
		for _, s := range exporters[i].GetSpans() {
			names = append(names, s.Name)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("tracer %d has the spans %v, want %s", i, names, want)
		}
	}
}

func TestMetricsAreWhatWasCounted(t *testing.T) {
	o := observe.New(nil)
	db, _, _ := open(t, o)
	reader := metric.NewManualReader()
	stop, err := otel.Metrics(metric.NewMeterProvider(metric.WithReader(reader)), "app", o)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := db.Put(t.Context(), kv.Buffered, []byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = db.Get(t.Context(), []byte("absent"))
	held, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	collect := func() map[string]metricdata.Aggregation {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		found := map[string]metricdata.Aggregation{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				found[m.Name] = m.Data
			}
		}
		return found
	}
	found := collect()
	for _, c := range []struct {
		name string
		want int64
		with []attribute.KeyValue
	}{
		{"kv.operations", 3, []attribute.KeyValue{attribute.String("op", "write"),
			attribute.String("class", "buffered")}},
		{"kv.bytes", 24, []attribute.KeyValue{attribute.String("op", "write"), attribute.String("class", "buffered")}},
		{"kv.operation.failures", 1, []attribute.KeyValue{attribute.String("op", "get"), attribute.String("class", ""),
			attribute.String("kind", "not found")}},
		{"kv.slow", 0, nil},
	} {
		sum, ok := found[c.name].(metricdata.Sum[int64])
		if !ok || !sum.IsMonotonic {
			t.Errorf("%s is %T", c.name, found[c.name])
			continue
		}
		labels := attribute.NewSet(append(c.with, attribute.String("store", "app"))...)
		i := slices.IndexFunc(sum.DataPoints, func(p metricdata.DataPoint[int64]) bool {
			return p.Attributes.Equals(&labels)
		})
		if i < 0 || sum.DataPoints[i].Value != c.want {
			t.Errorf("%s %v: got %+v, want %d", c.name, c.with, sum.DataPoints, c.want)
		}
	}
	gauge, ok := found["kv.latency"].(metricdata.Gauge[float64])
	if !ok || len(gauge.DataPoints) < 4*3 {
		t.Errorf("kv.latency is %+v", found["kv.latency"])
	}
	oldest := func() float64 {
		gauge, ok := collect()["kv.running.oldest"].(metricdata.Gauge[float64])
		if !ok || len(gauge.DataPoints) != 1 {
			t.Fatalf("kv.running.oldest is %+v", gauge)
		}
		return gauge.DataPoints[0].Value
	}
	for began := time.Now(); oldest() <= 0; { // whose clock ticks every 10 ms
		if time.Since(began) > time.Minute {
			t.Fatal("a held snapshot has no age")
		}
	}
	if err := held.Close(); err != nil || oldest() != 0 {
		t.Errorf("after the end of what was held: %v, %v", oldest(), err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if found := collect(); len(found) != 0 {
		t.Errorf("after the end: %v", found)
	}
}
