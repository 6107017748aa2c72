package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/eventlog"
)

// BenchmarkThin measures appends of class Buffered, on Pebble, against Pebble's own API: as a
// program would use it that wants what the log promises, and no more; and to write the bytes that
// the log stored, which stand ready for it. What of that is the log's and not kv's tells kv1 and
// kv100: there the other side encodes events as well and writes them through kv, on a Pebble of its
// own.
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
	own, err := openOwn(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer own.db.Close()
	through, err := openThrough(b)
	if err != nil {
		b.Fatal(err)
	}
	defer through.db.Close()
	drivertest.Thin(b,
		drivertest.Pair{Name: "append1", Limit: 1.15, Raw: own.appendEach(1), KV: appendEach(log, 1),
			Exception: "kv commits any batch, in a turn of its own, and asks the fence: see kv1 for what the log adds"},
		drivertest.Pair{Name: "append100", Limit: 1.15, Raw: own.appendEach(100), KV: appendEach(log, 100),
			Exception: "an event is encoded into kv's batch and copied into Pebble's"},
		drivertest.Pair{Name: "kv1", Limit: 1.1, Raw: through.appendEach(1), KV: appendEach(log, 1)},
		drivertest.Pair{Name: "kv100", Limit: 1.1, Raw: through.appendEach(100), KV: appendEach(log, 100)},
		drivertest.Pair{Name: "bytes1", Raw: raw.set, KV: appendEach(log, 1)},
		drivertest.Pair{Name: "bytes100", Raw: raw.batch, KV: appendEach(log, 100)},
	)
}

// BenchmarkAckThin measures acknowledgements, one at a time, against appends of one event to the
// same kind of log.
func BenchmarkAckThin(b *testing.B) {
	for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
		b.Run(engine, func(b *testing.B) {
			class, drafts := cheapest(engine), benchDrafts(1)
			appended, acked := benchLog(b, engine, eventlog.Options{}), benchLog(b, engine, eventlog.Options{})
			sub, err := acked.Subscribe(b.Context(), "thin")
			if err != nil {
				b.Fatal(err)
			}
			drivertest.Thin(b, drivertest.Pair{Name: "ack", Limit: 1.1,
				Raw: func(times int) error {
					for range times {
						if _, err := appended.Append(b.Context(), class, "", eventlog.Any, drafts...); err != nil {
							return err
						}
					}
					return nil
				},
				KV: ackEach(b.Context(), acked, sub, class),
			})
		})
	}
}

// ackEach acknowledges one event after the other. It appends what there is to acknowledge, when it
// has come to the end, thousands at once.
func ackEach(ctx context.Context, log *eventlog.Log, sub *eventlog.Subscription, d kv.Durability) func(int) error {
	const many = 10_000
	position, last := uint64(0), uint64(0)
	drafts := benchDrafts(many)
	return func(times int) error {
		for range times {
			if position == last {
				done, err := log.Append(ctx, d, "", eventlog.Any, drafts...)
				if err != nil {
					return err
				}
				last = done.Last
			}
			position++
			if err := sub.Ack(ctx, d, position); err != nil {
				return err
			}
		}
		return nil
	}
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

// ownLog is a log as a program has it that was written for Pebble alone: whoever appends waits for
// the others; positions are reserved in blocks, so that a crash gives none out again; what is
// appended is checked and encoded as the log does it; and readers are told of it once it is there.
type ownLog struct {
	db       *pebble.DB
	mu       sync.Mutex
	last     uint64
	reserved uint64
	seen     atomic.Uint64
	key      []byte
	value    []byte
}

func openOwn(dir string) (*ownLog, error) {
	db, err := openPebble(dir)
	return &ownLog{db: db}, err
}

func openPebble(dir string) (*pebble.DB, error) {
	return pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
}

var errWrongDraft = errors.New("wrong draft")

// append1 appends one event.
func (l *ownLog) append1(ctx context.Context, d *eventlog.Draft) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reserve(1); err != nil {
		return err
	}
	l.last++ // and never again, whatever becomes of it
	if err := l.encode(d, l.last); err != nil {
		return err
	}
	if err := l.db.Set(l.key, l.value, pebble.NoSync); err != nil {
		return err
	}
	l.seen.Store(l.last)
	return nil
}

// append appends several events as one.
func (l *ownLog) append(ctx context.Context, drafts []eventlog.Draft) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reserve(uint64(len(drafts))); err != nil {
		return err
	}
	batch := l.db.NewBatch()
	defer batch.Close()
	for i := range drafts {
		l.last++
		if err := l.encode(&drafts[i], l.last); err != nil {
			return err
		}
		if err := batch.Set(l.key, l.value, nil); err != nil {
			return err
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	l.seen.Store(l.last)
	return nil
}

// reserve makes it durable that the next n positions may be used.
func (l *ownLog) reserve(n uint64) error {
	if l.last+n <= l.reserved {
		return nil
	}
	l.reserved = l.last + n + 1<<16
	return l.db.Set([]byte("m"), kv.AppendUint64(nil, l.reserved), pebble.Sync)
}

// encode sets the key and the value of an event.
func (l *ownLog) encode(d *eventlog.Draft, position uint64) error {
	if s := d.Time.Unix(); d.Type == "" || !utf8.ValidString(d.Type) || s < -9e9 || s > 9e9 {
		return errWrongDraft
	}
	l.key = kv.AppendUint64(append(l.key[:0], 'e'), position)
	v := binary.BigEndian.AppendUint64(append(l.value[:0], 0), uint64(d.Time.UnixNano()))
	v = append(binary.AppendUvarint(v, uint64(len(d.Type))), d.Type...)
	l.value = append(v, d.Data...)
	return nil
}

func (l *ownLog) appendEach(n int) func(int) error {
	drafts, ctx := benchDrafts(n), context.Background()
	return func(times int) (err error) {
		for range times {
			if n == 1 {
				err = l.append1(ctx, &drafts[0])
			} else {
				err = l.append(ctx, drafts)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// throughKV encodes events as ownLog does and writes them through kv, without turns or promises.
type throughKV struct {
	db    *kv.DB
	batch kv.Batch
	ownLog
}

func openThrough(b *testing.B) (*throughKV, error) {
	db, err := kv.Open(b.Context(), "pebble:"+b.TempDir())
	return &throughKV{db: db}, err
}

func (l *throughKV) appendEach(n int) func(int) error {
	drafts := benchDrafts(n)
	return func(times int) error {
		for range times {
			l.batch.Reset()
			for i := range drafts {
				l.last++
				if err := l.encode(&drafts[i], l.last); err != nil {
					return err
				}
				l.batch.Put(l.key, l.value)
			}
			if err := l.db.Write(context.Background(), kv.Buffered, &l.batch); err != nil {
				return err
			}
		}
		return nil
	}
}

// rawLog writes values in turn under ascending keys, as Pebble's documentation shows it.
type rawLog struct {
	db     *pebble.DB
	last   uint64
	key    []byte
	values [][]byte
}

func openRaw(dir string, values [][]byte) (*rawLog, error) {
	db, err := openPebble(dir)
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
