package pglog_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/eventlog/pglog"
)

// TestKilledServerLosesNothing kills all processes of the server amid the appends of several
// programs, and starts it again, while they go on and one reads. What was acknowledged as synced is
// there, once, where it was said to be; no position that was acknowledged or seen is another
// event's, though the crash took what was flushed; and the reader has missed nothing.
// So it is of a log over kv. ASSAY_POSTGRES_KILLS=100 kills as often.
func TestKilledServerLosesNothing(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *postgrestest.Server) *eventlog.Log{"tables": openTables,
		"pairs": openPairs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killServer(t, open)
		})
	}
}

func killServer(t *testing.T, open func(*testing.T, *postgrestest.Server) *eventlog.Log) {
	s := postgrestest.Start(t, "wal_writer_delay=10s") // so that a crash takes what nobody has synced
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writers := make([]writer, 4)
	wrote, stop := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range writers {
		w := &writers[i]
		w.name, w.log, w.class = fmt.Sprint(i), open(t, s), kv.Synced
		if i%2 == 1 {
			w.class = kv.Flushed
		}
		all.Go(func() { w.run(ctx, wrote, stop) })
	}
	r := &reader{log: open(t, s), seen: map[uint64]string{}}
	var reading sync.WaitGroup
	reading.Go(func() { r.run(ctx, t) })
	kills := postgrestest.AtLeast(t, "ASSAY_POSTGRES_KILLS", 3)
	for kill := range kills {
		for range 20 + kill*7%40 { // the kill is amid the appends after so many
			<-wrote
		}
		if err := errors.Join(s.Kill(), s.Launch("wal_writer_delay=10s")); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	all.Wait()
	last := writers[0].last(t)
	for r.at.Load() < last && !t.Failed() {
		_ = r.log.Wait(ctx, r.at.Load())
	}
	cancel()
	reading.Wait()
	check(t, writers, r)
}

func openPairs(t *testing.T, s *postgrestest.Server) *eventlog.Log {
	t.Helper()
	url := "postgres:log?timeout=600&dsn=" + url.QueryEscape(s.DSN())
	log, closeAll, err := logtest.OpenKV(url, eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func openTables(t *testing.T, s *postgrestest.Server) *eventlog.Log {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	log, err := pglog.Open(t.Context(), pool, &eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() }) // the server may be gone
	return log
}

// writer appends events of its own, each once.
type writer struct {
	name   string
	log    *eventlog.Log
	class  kv.Durability
	events int
	told   map[string]uint64 // where those are that were acknowledged, by their data
}

func (w *writer) run(ctx context.Context, wrote chan<- struct{}, stop <-chan struct{}) {
	w.told = map[string]uint64{}
	for {
		select {
		case <-stop:
			return
		default:
		}
		w.append(ctx, w.class)
		select {
		case wrote <- struct{}{}:
		case <-stop:
		}
	}
}

// append appends the next event. Where that fails, nobody knows whether it is there.
func (w *writer) append(ctx context.Context, class kv.Durability) (position uint64) {
	data := fmt.Sprintf("writer %s, event %d", w.name, w.events)
	w.events++
	done, err := w.log.Append(ctx, class, w.name, eventlog.Any, eventlog.Draft{Type: "T", Data: []byte(data)})
	if err == nil {
		w.told[data] = done.First
	}
	return done.First
}

// last appends one more as synced, until that is done: it and all before it are durable.
func (w *writer) last(t *testing.T) (position uint64) {
	for position == 0 && t.Context().Err() == nil {
		position = w.append(t.Context(), kv.Synced)
	}
	return position
}

// reader goes on from the last event that it saw.
type reader struct {
	log  *eventlog.Log
	at   atomic.Uint64
	seen map[uint64]string
}

func (r *reader) run(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		if r.log.Wait(ctx, r.at.Load()) != nil {
			continue
		}
		events, _ := r.log.Load(ctx, eventlog.Range{From: r.at.Load() + 1}) // it is asked again
		for _, e := range events {
			if e.Position <= r.at.Load() {
				t.Errorf("event %d comes after %d", e.Position, r.at.Load())
			}
			r.seen[e.Position] = string(e.Data)
			r.at.Store(e.Position)
		}
	}
}

// check holds the log against what the writers were told, and what the reader saw.
func check(t *testing.T, writers []writer, r *reader) {
	t.Helper()
	there, at := map[uint64]string{}, map[string]uint64{}
	versions := map[string]uint64{}
	for e, err := range writers[0].log.All(t.Context(), eventlog.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		data := string(e.Data)
		if before, twice := at[data]; twice {
			t.Errorf("%s is at %d and at %d", data, before, e.Position)
		}
		there[e.Position], at[data] = data, e.Position
		if versions[e.Stream]++; e.Version != versions[e.Stream] {
			t.Errorf("event %d of stream %s has version %d, want %d", e.Position, e.Stream, e.Version, versions[e.Stream])
		}
		if r.seen[e.Position] != data {
			t.Errorf("event %d is %q, and the reader saw %q", e.Position, data, r.seen[e.Position])
		}
	}
	lost := 0
	for position, data := range r.seen {
		if now := there[position]; now != "" && now != data {
			t.Errorf("position %d was seen as %q and is %q", position, data, now)
		}
	}
	for i := range writers {
		w := &writers[i]
		for data, position := range w.told {
			switch now := there[position]; {
			case now == data:
			case now != "" || w.class == kv.Synced:
				t.Errorf("position %d was acknowledged as %q and is %q", position, data, now)
			default:
				lost++
			}
		}
		t.Logf("writer %s, %v: %d events of %d acknowledged", w.name, w.class, len(w.told), w.events)
	}
	t.Logf("%d events are there, the reader saw %d; of those that were flushed %d are lost", len(there), len(r.seen), lost)
}
