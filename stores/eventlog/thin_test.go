package eventlog_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/eventlog"
)

// BenchmarkThin measures appends of class Buffered, on Pebble, against Pebble's own API writing the
// bytes that the log stored, which stand ready for it: the envelope, the order, the promise about
// positions and kv are all in the ratio.
func BenchmarkThin(b *testing.B) {
	db, err := kv.Open(b.Context(), "pebble:"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(b.Context(), db, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	raw, err := openRaw(b.TempDir(), storedEvents(b, db, log))
	if err != nil {
		b.Fatal(err)
	}
	defer raw.db.Close()
	drivertest.Thin(b,
		drivertest.Pair{Name: "append1", Limit: 1.15, Raw: raw.set, KV: appendEach(log, 1),
			Exception: "the turn of the log, that of the store and the end that readers see are eight atomic operations; the rest plans and encodes"},
		drivertest.Pair{Name: "append100", Limit: 1.15, Raw: raw.batch, KV: appendEach(log, 100),
			Exception: "50 ns for each event, a third of what Pebble takes for 33 bytes: it is checked, encoded into kv's batch and copied into Pebble's"},
	)
}

func appendEach(log *eventlog.Log, n int) func(int) error {
	drafts := benchDrafts(n)
	return func(times int) error {
		for range times {
			if _, err := log.Append(context.Background(), kv.Buffered, "", eventlog.Any, drafts...); err != nil {
				return err
			}
		}
		return nil
	}
}

// storedEvents returns what events are stored as, the texts of one append after those of another.
func storedEvents(b *testing.B, db *kv.DB, log *eventlog.Log) (values [][]byte) {
	for range 40 {
		if _, err := log.Append(b.Context(), kv.Buffered, "", eventlog.Any, benchDrafts(100)...); err != nil {
			b.Fatal(err)
		}
	}
	err := db.View(b.Context(), func(s *kv.Snapshot) error {
		for _, value := range s.Scan(kv.Prefix([]byte{'e'})) {
			values = append(values, bytes.Clone(value))
		}
		return s.Err()
	})
	if err != nil {
		b.Fatal(err)
	}
	if len(values) != 4000 || !bytes.HasSuffix(values[99], []byte(`{"index": 99}`)) {
		b.Fatalf("%d events are stored, one as %q", len(values), values[99])
	}
	return values
}

// rawLog writes values in turn under ascending keys, as Pebble's documentation shows it.
type rawLog struct {
	db     *pebble.DB
	last   uint64
	key    []byte
	values [][]byte
}

func openRaw(dir string, values [][]byte) (*rawLog, error) {
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	return &rawLog{db: db, values: values}, err
}

// quiet drops Pebble's reports.
type quiet struct{ pebble.Logger }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

func (r *rawLog) next() (key, value []byte) {
	r.last++
	r.key = kv.AppendUint64(append(r.key[:0], 'e'), r.last)
	return r.key, r.values[r.last%uint64(len(r.values))]
}

func (r *rawLog) set(n int) error {
	for range n {
		key, value := r.next()
		if err := r.db.Set(key, value, pebble.NoSync); err != nil {
			return err
		}
	}
	return nil
}

func (r *rawLog) batch(n int) error {
	for range n {
		batch := r.db.NewBatch()
		for range 100 {
			key, value := r.next()
			if err := batch.Set(key, value, nil); err != nil {
				return err
			}
		}
		if err := batch.Commit(pebble.NoSync); err != nil {
			return err
		}
		if err := batch.Close(); err != nil {
			return err
		}
	}
	return nil
}

// An append that meets no other allocates nothing of its own.
func TestOneAppendAllocatesNothing(t *testing.T) {
	db, err := kv.Open(t.Context(), "pebble:"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	drafts, ctx := benchDrafts(1), t.Context()
	got := testing.AllocsPerRun(1000, func() {
		if _, err := log.Append(ctx, kv.Buffered, "", eventlog.Any, drafts...); err != nil {
			t.Fatal(err)
		}
	})
	if got >= 1 { // Pebble's own are few
		t.Errorf("%v allocations", got)
	}
}
