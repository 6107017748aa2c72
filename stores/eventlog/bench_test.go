package eventlog_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// The engine is Pebble with the cheapest class, where the log's own work weighs most.
func benchLog(b *testing.B, engine string, o eventlog.Options) *eventlog.Log {
	log, closeAll, err := open(engine+":"+filepath.Join(b.TempDir(), "log"), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := closeAll(); err != nil {
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

func BenchmarkAppend1(b *testing.B) {
	for _, streams := range []bool{false, true} {
		b.Run(fmt.Sprintf("streams=%v", streams), func(b *testing.B) {
			stream := ""
			if streams {
				stream = "bench"
			}
			benchAppend(b, benchLog(b, "pebble", eventlog.Options{Streams: streams}), stream, 1)
		})
	}
}

func BenchmarkAppend100(b *testing.B) {
	benchAppend(b, benchLog(b, "pebble", eventlog.Options{}), "", 100)
}

func benchAppend(b *testing.B, log *eventlog.Log, stream string, n int) {
	drafts := benchDrafts(n)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.Append(ctx, kv.Buffered, stream, eventlog.Any, drafts...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPut1 is what Append1 stands on: the same bytes, without a log.
func BenchmarkPut1(b *testing.B) {
	db, err := kv.Open(b.Context(), "pebble:"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var key, value []byte
	value = append(value, make([]byte, 91)...)
	var batch kv.Batch
	ctx := b.Context()
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		key = kv.AppendUint64(append(key[:0], 'e'), n)
		batch.Reset()
		batch.Put(key, value)
		if err := db.Write(ctx, kv.Buffered, &batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead100(b *testing.B) {
	log := benchLog(b, "pebble", eventlog.Options{})
	ctx := b.Context()
	if _, err := log.Append(ctx, kv.Buffered, "", eventlog.Any, benchDrafts(1000)...); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		events, err := log.Load(ctx, eventlog.Range{From: 1}.To(100))
		if err != nil || len(events) != 100 {
			b.Fatal(len(events), err)
		}
	}
}

func BenchmarkAppendParallel(b *testing.B) {
	for _, d := range []kv.Durability{kv.Synced, kv.Buffered} {
		for _, writers := range []int{2, 8} {
			b.Run(fmt.Sprintf("%v/writers=%d", d, writers), func(b *testing.B) {
				log := benchLog(b, "pebble", eventlog.Options{})
				drafts := benchDrafts(1)
				ctx := b.Context()
				b.SetParallelism(max(1, writers/runtime.GOMAXPROCS(0)))
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := log.Append(ctx, d, "", eventlog.Any, drafts...); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}

// BenchmarkAck measures acknowledgements at the same time, each of another subscription, beside as
// many appends.
func BenchmarkAck(b *testing.B) {
	for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
		for _, at := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/append/at=%d", engine, at), func(b *testing.B) {
				log, drafts := benchLog(b, engine, eventlog.Options{}), benchDrafts(1)
				together(b, at, func(int, uint64) error {
					_, err := log.Append(b.Context(), cheapest(engine), "", eventlog.Any, drafts...)
					return err
				})
			})
			b.Run(fmt.Sprintf("%s/ack/at=%d", engine, at), func(b *testing.B) {
				log := benchLog(b, engine, eventlog.Options{})
				subs := make([]*eventlog.Subscription, at)
				for i := range subs {
					var err error
					if subs[i], err = log.Subscribe(b.Context(), fmt.Sprint(i)); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := log.Append(b.Context(), cheapest(engine), "", eventlog.Any,
					benchDrafts(b.N/at+2)...); err != nil {
					b.Fatal(err)
				}
				together(b, at, func(i int, n uint64) error { return subs[i].Ack(b.Context(), cheapest(engine), n) })
			})
		}
	}
}

// cheapest is the weakest class that an engine takes when opened without options.
func cheapest(engine string) kv.Durability {
	if engine == "pebble" {
		return kv.Buffered
	}
	return kv.Flushed
}

// together does b.N times do, by so many goroutines at once, each counting n from 1.
func together(b *testing.B, at int, do func(i int, n uint64) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range at {
		all.Go(func() {
			for n := uint64(1); n <= uint64(b.N/at)+1; n++ {
				if err := do(i, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
