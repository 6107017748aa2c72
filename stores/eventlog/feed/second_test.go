package feed_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/frame"
)

// Two feeds that each keep the end in memory would overwrite each other's messages.
func TestASecondFeedOverTheSameKeysIsRefused(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:second-feed")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first, err := feed.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Open(t.Context(), db, nil); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want invalid with a hint", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := feed.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A call whose context ends while another process has the store is Canceled, whatever it does.
func TestACallThatItsContextEndsAmidAWaitIsCanceled(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "feed")
	var tracer frame.AtALock
	db, err := kv.Open(t.Context(), url, kv.WithTracer(&tracer))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := feed.Open(t.Context(), db, nil)
	if err == nil {
		_, err = f.Append(t.Context(), kv.Flushed, []byte("a"), []byte("b"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tracer.WantCanceled(t, url, map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { _, err := f.Append(ctx, kv.Flushed, []byte("c")); return err },
		"trim":   func(ctx context.Context) error { return f.Trim(ctx, kv.Flushed, 1) },
	})
}

// starts is the engine in memory that notes where scans for messages of their own begin.
type starts struct {
	mu     sync.Mutex
	lowest []byte // nil before the first
}

func (s *starts) Info() driver.Info {
	info := mem().Info()
	info.Name = "mem-starts"
	return info
}

func mem() driver.Driver {
	d, _ := driver.Lookup("mem")
	return d
}

func (s *starts) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	store, err := mem().Open(ctx, c)
	return &startsStore{store, s}, err
}

type startsStore struct {
	driver.Store
	starts *starts
}

func (s *startsStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	r, err := s.Store.Snapshot(ctx)
	return &startsReader{r, s.starts}, err
}

type startsReader struct {
	driver.Reader
	starts *starts
}

func (r *startsReader) Cursor(of driver.Range) (driver.Cursor, error) {
	if bytes.HasPrefix(of.Start, []byte{'q'}) {
		r.starts.mu.Lock()
		if r.starts.lowest == nil || bytes.Compare(of.Start, r.starts.lowest) < 0 {
			r.starts.lowest = bytes.Clone(of.Start)
		}
		r.starts.mu.Unlock()
	}
	return r.Reader.Cursor(of)
}

// What was put into blocks is deleted where it was, and a scan that began before it would step over
// all of that: on engines that merge later the longer the feed is.
func TestAScanBeginsBehindWhatWasPutIntoBlocks(t *testing.T) {
	var seen starts
	db, err := kv.OpenDriver(t.Context(), &seen, driver.Config{Path: "starts"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := feed.Open(t.Context(), db, small)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const n = 500
	for range n {
		if _, err := f.Append(t.Context(), kv.Buffered, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	var first []byte // of the messages that are in no block
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		for key := range s.Keys(kv.Prefix([]byte{'q'})) {
			first = bytes.Clone(key)
			break
		}
		return s.Err()
	})
	if at, _ := kv.LastUint64(first); err != nil || at < n/2 {
		t.Fatalf("%v; the first that is in no block is %d", err, at)
	}
	seen.lowest = nil
	err = f.View(t.Context(), func(s *feed.Snapshot) error {
		if _, err := s.Get(n - 1); err != nil {
			return err
		}
		for range s.Scan(n-3, n) {
		}
		return s.Err()
	})
	if err == nil {
		_, err = f.Append(t.Context(), kv.Buffered, []byte("more"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if seen.lowest == nil || bytes.Compare(seen.lowest, first) < 0 {
		t.Errorf("a scan began at %x, the first message that is in no block is at %x", seen.lowest, first)
	}
}

// BenchmarkScanOfTheEnd reads the last messages of a feed whose others were put into blocks one by
// one: on Pebble a deleted key costs whoever steps over it. Beside it is a feed without blocks,
// which deletes nothing.
func BenchmarkScanOfTheEnd(b *testing.B) {
	for _, compression := range []feed.Compression{feed.Plain, feed.Zstd} {
		for _, n := range []int{2_000, 200_000} {
			b.Run(compression.String()+"/"+strconv.Itoa(n), func(b *testing.B) { benchScanOfTheEnd(b, compression, n) })
		}
	}
}

func benchScanOfTheEnd(b *testing.B, compression feed.Compression, n int) {
	db, err := kv.Open(b.Context(), "pebble:"+b.TempDir(), kv.WithWeakest(kv.Buffered))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	f, err := feed.Open(b.Context(), db, &feed.Options{Compression: compression})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	message := make([]byte, 100)
	for range n {
		if _, err := f.Append(b.Context(), kv.Buffered, message); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		err := f.View(b.Context(), func(s *feed.Snapshot) error {
			for range s.Scan(uint64(n-3), uint64(n)) {
			}
			return s.Err()
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
