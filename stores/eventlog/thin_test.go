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

// BenchmarkThin measures appends of class Buffered, on Pebble, against Pebble's own API writing the same bytes, which
// stand ready for it: the envelope, the order, the promise about positions and kv are all in the ratio.
func BenchmarkThin(b *testing.B) {
	db, err := kv.Open(b.Context(), "pebble:"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.New(db, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	raw, err := openRaw(b.TempDir(), storedEvent(b, db, log))
	if err != nil {
		b.Fatal(err)
	}
	defer raw.db.Close()
	drivertest.Thin(b,
		drivertest.Pair{Name: "append1", Limit: 1.3, Raw: raw.set, KV: appendEach(log, 1),
			Exception: "of what is above an unsynced Set, kv's turn and batch are nearly a half, the order and the positions a third, the text the rest"},
		drivertest.Pair{Name: "append100", Limit: 1.3, Raw: raw.batch, KV: appendEach(log, 100),
			Exception: "Pebble takes a pair in a quarter of a microsecond; to look whether the data is JSON and to write the text around it takes half of that"},
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

// storedEvent returns what an event of the size of the others is stored as.
func storedEvent(b *testing.B, db *kv.DB, log *eventlog.Log) (value []byte) {
	done, err := log.Append(b.Context(), kv.Buffered, "", eventlog.Any, benchDrafts(100)...)
	if err == nil {
		err = db.View(b.Context(), func(s *kv.Snapshot) (err error) {
			value, err = s.Get(kv.AppendUint64([]byte{'e'}, done.Last))
			return err
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	if !bytes.Contains(value, []byte(`{"index": 99}`)) {
		b.Fatalf("the event is stored as %q", value)
	}
	return value
}

// rawLog writes one value under ascending keys, as Pebble's documentation shows it.
type rawLog struct {
	db    *pebble.DB
	last  uint64
	key   []byte
	value []byte
}

func openRaw(dir string, value []byte) (*rawLog, error) {
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	return &rawLog{db: db, value: value}, err
}

// quiet drops Pebble's reports.
type quiet struct{ pebble.Logger }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

func (r *rawLog) next() []byte {
	r.last++
	r.key = kv.AppendUint64(append(r.key[:0], 'e'), r.last)
	return r.key
}

func (r *rawLog) set(n int) error {
	for range n {
		if err := r.db.Set(r.next(), r.value, pebble.NoSync); err != nil {
			return err
		}
	}
	return nil
}

func (r *rawLog) batch(n int) error {
	for range n {
		batch := r.db.NewBatch()
		for range 100 {
			if err := batch.Set(r.next(), r.value, nil); err != nil {
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
