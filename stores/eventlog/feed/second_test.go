package feed_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
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
