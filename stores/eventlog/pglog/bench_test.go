package pglog_test

import (
	"fmt"
	"net/url"
	"sync"
	"testing"

	_ "github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
)

// BenchmarkBesideKV appends to streams in tables and in the pairs of postgreskv, by as many
// programs, on one server, each append synced, and in turns: the ratio is how many times as many
// appends the tables take in a second.
//
//	go test -run '^$' -bench BesideKV -benchtime 20x
func BenchmarkBesideKV(b *testing.B) {
	dsn, err := postgrestest.Shared()
	postgrestest.Check(b, err)
	for _, programs := range []int{1, 4} {
		b.Run(fmt.Sprintf("programs=%d", programs), func(b *testing.B) {
			o := eventlog.Options{Streams: true}
			both := [2][]*eventlog.Log{
				logs(b, programs, func() (*eventlog.Log, func() error, error) { return open(b.Name(), &o) }),
				logs(b, programs, func() (*eventlog.Log, func() error, error) {
					return logtest.OpenKV("postgres:"+url.PathEscape(b.Name())+"?dsn="+url.QueryEscape(dsn), o)
				}),
			}
			var took [2]float64
			for b.Loop() {
				for i, all := range both {
					before := b.Elapsed()
					appendAll(b, all)
					took[i] += (b.Elapsed() - before).Seconds()
				}
			}
			appends := float64(b.N * programs * appendsOfTurn)
			b.ReportMetric(appends/took[0], "pglog/s")
			b.ReportMetric(appends/took[1], "kv/s")
			b.ReportMetric(took[1]/took[0], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// appendsOfTurn is how many appends a program does before it is another log's turn.
const appendsOfTurn = 50

func logs(b *testing.B, n int, open func() (*eventlog.Log, func() error, error)) (all []*eventlog.Log) {
	b.Helper()
	for range n {
		log, closeAll, err := open()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := closeAll(); err != nil {
				b.Error(err)
			}
		})
		all = append(all, log)
	}
	return all
}

// appendAll appends one after the other by each log, all at once.
func appendAll(b *testing.B, all []*eventlog.Log) {
	var wait sync.WaitGroup
	for i, log := range all {
		wait.Go(func() {
			draft := eventlog.Draft{Type: "BenchEvent", Data: []byte(`{"index": 1}`)}
			for range appendsOfTurn {
				if _, err := log.Append(b.Context(), kv.Synced, fmt.Sprint("stream ", i), eventlog.Any, draft); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}
