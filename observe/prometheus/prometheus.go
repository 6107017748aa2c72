// Package prometheus shows the figures of an [observe.Observer] to Prometheus.
//
//	http.Handle("/metrics", prometheus.Handler("app", o))
//
// A program that has a registry registers a [Collector] there instead. Figures are read when they
// are asked for, and cost nothing in between.
package prometheus

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// Handler serves the figures of one store, under a name that tells it from others, in the formats
// that Prometheus asks for.
func Handler(store string, o *observe.Observer) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(store, o))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// Collector collects the figures of one store.
type Collector struct {
	o *observe.Observer

	latency, runs, failures, pairs, bytes *prometheus.Desc
	slow, running, oldest                 *prometheus.Desc
	size, files, log, foreign, figure     *prometheus.Desc
	syncs, syncTime, checkpoints, compact *prometheus.Desc
	flushes, flushTime                    *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector of what o counts; every figure carries the label store.
func NewCollector(store string, o *observe.Observer) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("assay_"+name, help, labels, prometheus.Labels{"store": store})
	}
	return &Collector{o: o,
		latency: desc("operation_seconds", "How long operations took, within 1 %; of those that take less than 20 µs "+
			"one in 32 is timed and stands for 32.", "op", "class"),
		runs: desc("operations_total", "Operations that have ended.", "op", "class"),
		failures: desc("operation_failures_total", "Operations that returned an error, an absent key included.",
			"op", "class", "kind"),
		pairs:   desc("operation_pairs_total", "Pairs read or written.", "op", "class"),
		bytes:   desc("operation_bytes_total", "Bytes in the keys and values of these pairs.", "op", "class"),
		slow:    desc("slow_operations_total", "Operations and waits that took longer than the limit."),
		running: desc("running", "Views and transactions that have not ended, at most 32 of them."),
		oldest: desc("oldest_running_seconds",
			"How long the oldest of them has been running; 0 if there is none."),
		size:        desc("store_bytes", "Space that the store takes on disk, in allocated blocks."),
		files:       desc("store_files", "Files of the store."),
		log:         desc("store_log_bytes", "Bytes in the log that a recovery would read."),
		foreign:     desc("store_foreign_changes_total", "Looks at the store that found commits of others."),
		figure:      desc("engine_figure", "What the engine counts, by its own names.", "name"),
		syncs:       desc("syncs_total", "Syncs of the log, as the engine counts them."),
		syncTime:    desc("sync_seconds_total", "What they took."),
		checkpoints: desc("checkpoints_total", "Times that the log began anew."),
		compact:     desc("compactions_total", "Rewritings of data that is in its place."),
		flushes:     desc("disk_flushes_total", "Flushes of the disk that holds the store, by all programs.", "disk"),
		flushTime:   desc("disk_flush_seconds_total", "What they took.", "disk"),
	}
}

// Describe sends the descriptions of all metrics.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.latency, c.runs, c.failures, c.pairs, c.bytes, c.slow, c.running, c.oldest,
		c.size, c.files, c.log, c.foreign, c.figure, c.syncs, c.syncTime, c.checkpoints, c.compact, c.flushes,
		c.flushTime} {
		to <- d
	}
}

// bounds are those of the latencies: each twice the one before, from 1 µs to 33 s.
var bounds = func() (list []time.Duration) {
	for d := time.Microsecond; d < time.Minute; d *= 2 {
		list = append(list, d)
	}
	return list
}()

// Collect sends what was counted until now.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	f := c.o.Figures()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, op := range f.Ops {
		c.operation(to, op)
		counter(c.runs, float64(op.Count), op.Op, op.Class)
		counter(c.pairs, float64(op.Pairs), op.Op, op.Class)
		counter(c.bytes, float64(op.Bytes), op.Op, op.Class)
		for kind, n := range op.Failed {
			counter(c.failures, float64(n), op.Op, op.Class, kind)
		}
	}
	counter(c.slow, float64(f.SlowTotal))
	gauge(c.running, float64(len(f.Running)))
	oldest := 0.0
	if len(f.Running) > 0 {
		oldest = f.Running[0].For.Seconds()
	}
	gauge(c.oldest, oldest)
	gauge(c.size, float64(f.Store.Size.Allocated))
	gauge(c.files, float64(f.Store.Size.Files))
	gauge(c.log, float64(f.Store.Log))
	if f.Store.Watched {
		counter(c.foreign, float64(f.Store.Foreign))
	}
	if d := f.Store.Disk; d != nil {
		counter(c.flushes, float64(d.Flushes), d.Name)
		counter(c.flushTime, d.FlushTime.Seconds(), d.Name)
	}
	for _, n := range f.Counted {
		switch n.Name {
		case kv.Syncs:
			counter(c.syncs, float64(n.Value))
		case kv.SyncTime:
			counter(c.syncTime, time.Duration(n.Value).Seconds())
		case kv.Checkpoints:
			counter(c.checkpoints, float64(n.Value))
		case kv.Compactions:
			counter(c.compact, float64(n.Value))
		case kv.LogBytes, kv.Foreign: // told by the store
		default:
			to <- prometheus.MustNewConstMetric(c.figure, prometheus.UntypedValue, float64(n.Value), n.Name)
		}
	}
}

// operation sends the latencies of one operation.
func (c *Collector) operation(to chan<- prometheus.Metric, op observe.Op) {
	counts, all, sum, err := op.AtMost(bounds...)
	if err != nil {
		to <- prometheus.NewInvalidMetric(c.latency, err)
		return
	}
	buckets := map[float64]uint64{}
	for i, bound := range bounds {
		buckets[bound.Seconds()] = uint64(counts[i])
	}
	to <- prometheus.MustNewConstHistogram(c.latency, uint64(all), sum.Seconds(), buckets, op.Op, op.Class)
}
