package eventlog_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// Appends that wait for the same turn are one group. One that is wrong is refused alone.
func TestAWrongAppendDisturbsNoOther(t *testing.T) {
	open := map[string]func(path string) (*eventlog.Log, *kv.DB, error){
		"kv": func(path string) (*eventlog.Log, *kv.DB, error) {
			db, err := kv.Open(t.Context(), "bbolt:"+path)
			if err != nil {
				return nil, nil, err
			}
			log, err := eventlog.Open(t.Context(), db, nil)
			return log, db, err
		},
		"sql": func(path string) (*eventlog.Log, *kv.DB, error) {
			log, err := sqllog.Open(t.Context(), path, nil)
			return log, nil, err
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			log, db, err := open(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			if db != nil {
				defer db.Close()
			}
			defer log.Close()
			double := []eventlog.Draft{{Type: "t", ID: "x"}, {Type: "t", ID: "x"}}
			stop := make(chan struct{})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						parts := []eventlog.Part{{Events: double[:1]}, {Events: double[1:]}}
						_, err := log.Append(t.Context(), kv.Flushed, "", eventlog.Any, double...)
						_, perr := log.AppendParts(t.Context(), kv.Flushed, parts...)
						if !errors.Is(err, kv.Invalid) || !errors.Is(perr, kv.Invalid) {
							t.Errorf("one id twice: %v, %v, want Invalid", err, perr)
							return
						}
					}
				})
			}
			for range 200 {
				_, err := log.Append(t.Context(), kv.Flushed, "", eventlog.Any, eventlog.Draft{Type: "t"})
				if err != nil {
					t.Errorf("an append beside wrong ones: %v", err)
					break
				}
			}
			close(stop)
			all.Wait()
		})
	}
}

// No log has so many positions: they are refused, and nothing is reserved.
func TestTooManyPositionsAreNotReserved(t *testing.T) {
	db, err := kv.Open(t.Context(), "pebble:"+filepath.Join(t.TempDir(), "store"), kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	inKV, err := eventlog.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inKV.Close()
	inSQL, err := sqllog.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inSQL.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, log := range []*eventlog.Log{inKV, inSQL} {
		for _, n := range []uint64{1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			if err := log.Reserve(ctx, n); !errors.Is(err, kv.Invalid) {
				t.Fatalf("%d positions: %v, want Invalid", n, err)
			}
		}
		if err := log.Reserve(ctx, 1<<32); err != nil {
			t.Error(err)
		}
	}
}
