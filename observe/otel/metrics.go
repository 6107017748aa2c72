package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// Metrics registers the figures of o with a provider, each with the attribute store, and returns
// the function that ends that. They are read when the SDK collects, and cost nothing in between.
//
// OpenTelemetry's API has no histogram that is read and not recorded to: latencies are gauges, one
// for each quantile and the longest, beside the counts. Those of single operations are in the
// spans.
func Metrics(provider metric.MeterProvider, store string, o *observe.Observer) (stop func() error, err error) {
	m := &meters{meter: provider.Meter(name)}
	ops := m.counter("kv.operations", "operations that have ended", "{operation}")
	failures := m.counter("kv.operation.failures", "operations that returned an error, an absent key included",
		"{operation}")
	pairs := m.counter("kv.pairs", "pairs read or written", "{pair}")
	bytes := m.counter("kv.bytes", "bytes in the keys and values of these pairs", "By")
	slow := m.counter("kv.slow", "operations and waits that took longer than the limit", "{operation}")
	foreign := m.counter("kv.store.foreign_changes", "looks at the store that found commits of others", "{look}")
	counted := m.counter("kv.engine.figures", "what the engine counts, by its own names", "1")
	running := m.gauge("kv.running", "views and transactions that have not ended, at most 32 of them", "{transaction}")
	size := m.gauge("kv.store.size", "space that the store takes on disk, in allocated blocks", "By")
	log := m.gauge("kv.store.log", "bytes in the log that a recovery would read", "By")
	flushes := m.counter("kv.disk.flushes", "flushes of the disk that holds the store, by all programs", "{flush}")
	latency := m.seconds("kv.latency", "how long operations took since the store was opened")
	oldest := m.seconds("kv.running.oldest", "how long the oldest of what is running has been so; 0 if there is none")
	flushTime, err := m.meter.Float64ObservableCounter("kv.disk.flush_time", metric.WithUnit("s"),
		metric.WithDescription("what these flushes took"))
	if err = errors.Join(err, m.err); err != nil {
		return nil, err
	}
	m.all = append(m.all, flushTime)
	registration, err := m.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		f := o.Figures()
		of := func(more ...attribute.KeyValue) metric.MeasurementOption {
			return metric.WithAttributes(append(more, attribute.String("store", store))...)
		}
		for _, op := range f.Ops {
			what := []attribute.KeyValue{attribute.String("op", op.Op), attribute.String("class", op.Class)}
			with := func(key, value string) metric.MeasurementOption {
				return of(append(what[:2:2], attribute.String(key, value))...)
			}
			to.ObserveInt64(ops, op.Count, of(what[:2:2]...))
			to.ObserveInt64(pairs, op.Pairs, of(what[:2:2]...))
			to.ObserveInt64(bytes, op.Bytes, of(what[:2:2]...))
			for kind, n := range op.Failed {
				to.ObserveInt64(failures, n, with("kind", kind))
			}
			l := op.Latency
			to.ObserveFloat64(latency, l.P50.Seconds(), with("quantile", "0.5"))
			to.ObserveFloat64(latency, l.P90.Seconds(), with("quantile", "0.9"))
			to.ObserveFloat64(latency, l.P99.Seconds(), with("quantile", "0.99"))
			to.ObserveFloat64(latency, l.Max.Seconds(), with("quantile", "1"))
		}
		to.ObserveInt64(slow, f.SlowTotal, of())
		to.ObserveInt64(running, int64(len(f.Running)), of())
		age := 0.0
		if len(f.Running) > 0 {
			age = f.Running[0].For.Seconds()
		}
		to.ObserveFloat64(oldest, age, of())
		if d := f.Store.Disk; d != nil {
			to.ObserveInt64(flushes, d.Flushes, of(attribute.String("disk", d.Name)))
			to.ObserveFloat64(flushTime, d.FlushTime.Seconds(), of(attribute.String("disk", d.Name)))
		}
		to.ObserveInt64(size, f.Store.Size.Allocated, of())
		to.ObserveInt64(log, f.Store.Log, of())
		if f.Store.Watched {
			to.ObserveInt64(foreign, f.Store.Foreign, of())
		}
		for _, n := range f.Counted {
			if n.Name != kv.LogBytes && n.Name != kv.Foreign {
				to.ObserveInt64(counted, n.Value, of(attribute.String("name", n.Name)))
			}
		}
		return nil
	}, m.all...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}

// meters makes instruments, and keeps the first error.
type meters struct {
	meter metric.Meter
	all   []metric.Observable
	err   error
}

func (m *meters) counter(name, what, unit string) metric.Int64ObservableCounter {
	c, err := m.meter.Int64ObservableCounter(name, metric.WithDescription(what), metric.WithUnit(unit))
	m.all, m.err = append(m.all, c), errors.Join(m.err, err)
	return c
}

func (m *meters) seconds(name, what string) metric.Float64ObservableGauge {
	g, err := m.meter.Float64ObservableGauge(name, metric.WithDescription(what), metric.WithUnit("s"))
	m.all, m.err = append(m.all, g), errors.Join(m.err, err)
	return g
}

func (m *meters) gauge(name, what, unit string) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(name, metric.WithDescription(what), metric.WithUnit(unit))
	m.all, m.err = append(m.all, g), errors.Join(m.err, err)
	return g
}
