package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// BenchmarkCopy copies 8 MB, ASSAY_TRANSFER_MB if that is set, and compares the time of a copy,
// verification included, with what the slower side takes alone: reading the source, or writing the
// same pairs to the destination in the same transactions. of-slower is that part; 1 is a copy that
// costs no more than its slower side.
func BenchmarkCopy(b *testing.B) {
	megabytes := 8
	if text := os.Getenv("ASSAY_TRANSFER_MB"); text != "" {
		if _, err := fmt.Sscan(text, &megabytes); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct{ from, to string }{{"bbolt", "pebble"}, {"sqlite", "pebble"}, {"pebble", "sqlite"},
		{"pebble", "bbolt"}, {"badger", "bbolt"}} {
		b.Run(c.from+" to "+c.to, func(b *testing.B) {
			dir := b.TempDir()
			from := c.from + ":" + filepath.Join(dir, "old")
			if err := write(b.Context(), from, megabytes<<20); err != nil {
				b.Fatal(err)
			}
			var read, wrote, copied time.Duration
			for i := 0; b.Loop(); i++ {
				read += timed(b, func() error { return readAll(b.Context(), from) })
				wrote += timed(b, func() error {
					return write(b.Context(), fmt.Sprintf("%s:%s", c.to, filepath.Join(dir, fmt.Sprint("alone", i))),
						megabytes<<20)
				})
				copied += timed(b, func() error {
					_, err := transfer.Copy(b.Context(), from,
						fmt.Sprintf("%s:%s", c.to, filepath.Join(dir, fmt.Sprint("new", i))), nil)
					return err
				})
			}
			b.ReportMetric(float64(max(read, wrote))/float64(copied), "of-slower")
			b.ReportMetric(float64(megabytes)*float64(b.N)/copied.Seconds(), "MB/s")
		})
	}
}

func timed(b *testing.B, do func() error) time.Duration {
	b.Helper()
	began := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// write fills a new store with so many bytes of pairs, in order, a megabyte in each transaction of
// the cheapest class.
func write(ctx context.Context, rawURL string, size int) error {
	db, err := kv.Open(ctx, rawURL, kv.WithWeakest(kv.Flushed))
	if err != nil {
		return err
	}
	value := make([]byte, 256)
	for n := 0; n*(16+len(value)) < size && err == nil; {
		var batch kv.Batch
		for ; batch.Size() < 1<<20; n++ {
			for i := range value {
				value[i] = byte(n>>(i%24)) ^ byte(i*n)
			}
			batch.Put(fmt.Appendf(nil, "key/%012d", n), value)
		}
		err = db.Write(ctx, db.Caps().Cheapest(), &batch)
	}
	return errors.Join(err, db.Close())
}

func readAll(ctx context.Context, rawURL string) error {
	db, err := kv.Open(ctx, rawURL)
	if err != nil {
		return err
	}
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{}) {
		}
		return nil
	})
	return errors.Join(err, db.Close())
}
