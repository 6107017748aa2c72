package sqllog_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

func benchLog(b *testing.B) *eventlog.Log {
	log, err := sqllog.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	})
	return log
}

func benchDrafts(n int) []eventlog.Draft {
	all := make([]eventlog.Draft, n)
	for i := range all {
		all[i] = eventlog.Draft{Type: "BenchEvent", Data: fmt.Appendf(nil, `{"index": %d}`, i), Time: time.Now()}
	}
	return all
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			log, drafts := benchLog(b), benchDrafts(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := log.Append(b.Context(), kv.Flushed, "", eventlog.Any, drafts...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead100(b *testing.B) {
	log := benchLog(b)
	if _, err := log.Append(b.Context(), kv.Flushed, "", eventlog.Any, benchDrafts(1000)...); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		events, err := log.Load(b.Context(), eventlog.Range{From: 1}.To(100))
		if err != nil || len(events) != 100 {
			b.Fatal(len(events), err)
		}
	}
}
