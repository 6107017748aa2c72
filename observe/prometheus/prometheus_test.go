package prometheus_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	_ "github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
	metrics "github.com/assaydb/assay/observe/prometheus"
)

// work opens a store with an observer and does a little.
func work(t *testing.T) *observe.Observer {
	t.Helper()
	o := observe.New(&observe.Options{Every: -1})
	db, err := kv.Open(t.Context(), "pebble:"+t.TempDir()+"/db", kv.WithTracer(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(); o.Close() })
	for range 5 {
		if err := db.Put(t.Context(), kv.Synced, []byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Get(t.Context(), []byte("absent")); kv.KindOf(err) != kv.NotFound {
		t.Fatal(err)
	}
	return o
}

func TestARegistryCollectsWhatWasCounted(t *testing.T) {
	o := work(t)
	r := prometheus.NewPedanticRegistry() // which refuses what contradicts itself
	if err := r.Register(metrics.NewCollector("app", o)); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string, labels ...string) *dto.Metric {
		for _, family := range families {
			if family.GetName() != name {
				continue
			}
		metrics:
			for _, m := range family.GetMetric() {
				for i := 0; i < len(labels); i += 2 {
					if label(m, labels[i]) != labels[i+1] {
						continue metrics
					}
				}
				return m
			}
		}
		t.Fatalf("no %s %v", name, labels)
		return nil
	}
	h := find("assay_operation_seconds", "store", "app", "op", "write", "class", "synced").GetHistogram()
	last := h.GetBucket()[len(h.GetBucket())-1]
	if h.GetSampleCount() != 5 || h.GetSampleSum() <= 0 || last.GetCumulativeCount() != 5 || last.GetUpperBound() < 30 {
		t.Errorf("got %v", h)
	}
	if n := find("assay_operation_bytes_total", "op", "write").GetCounter().GetValue(); n != 40 {
		t.Errorf("%v bytes, want 40", n)
	}
	if n := find("assay_operation_failures_total", "op", "get", "kind", "not found").GetCounter().GetValue(); n != 1 {
		t.Errorf("%v absent keys, want 1", n)
	}
	if n := find("assay_operation_seconds", "op", "sync").GetHistogram().GetSampleCount(); n < 5 {
		t.Errorf("%v syncs are told of 5 synced commits", n)
	}
	if n := find("assay_syncs_total").GetCounter().GetValue(); n < 4 { // Pebble counts the last one after its commit has returned
		t.Errorf("%v syncs of 5 synced commits", n)
	}
	for _, name := range []string{"assay_store_bytes", "assay_store_files", "assay_store_log_bytes"} {
		if n := find(name).GetGauge().GetValue(); n <= 0 {
			t.Errorf("%s is %v", name, n)
		}
	}
	if d := o.Figures().Store.Disk; d != nil {
		if n := find("assay_disk_flushes_total", "disk", d.Name).GetCounter().GetValue(); n < 1 {
			t.Errorf("%v flushes of a disk that has some", n)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus's own check of names: %v, %v", problems, err)
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func TestTheHandlerAnswersWhatPrometheusReads(t *testing.T) {
	server := httptest.NewServer(metrics.Handler("app", work(t)))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	want := `assay_operation_seconds_count{class="synced",op="write",store="app"} 5`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("no %s in %v\n%s", want, err, text)
	}
}

// TestSumsOnlyGrow adds quick operations to slow ones. Prometheus takes a sum that falls for one of
// a program that began anew, and adds all of it.
func TestSumsOnlyGrow(t *testing.T) {
	o := observe.New(&observe.Options{Every: -1, Slow: -1})
	defer o.Close()
	for range 1000 {
		o.End(t.Context(), kv.Event{Op: "check", Took: 2 * time.Microsecond})
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(metrics.NewCollector("app", o))
	before := 0.0
	for range 50 {
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "assay_operation_seconds" {
				continue
			}
			sum := family.GetMetric()[0].GetHistogram().GetSampleSum()
			if sum <= before || sum < 0.00198 || sum > 0.00203 {
				t.Fatalf("the sum is %v, before it was %v", sum, before)
			}
			before = sum
		}
		o.End(t.Context(), kv.Event{Op: "check", Took: 20 * time.Nanosecond})
	}
}
