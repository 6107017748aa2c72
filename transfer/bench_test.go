package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// BenchmarkCopy copies 8 MB, ASSAY_TRANSFER_MB if that is set, and compares the time of a copy,
// verification included, with what the slower side takes alone: reading the source, or writing the
// same pairs to the destination in the same transactions and syncing them. of-slower is that part;
// 1 is a copy that costs no more than its slower side. The copy is a process of its own, whose
// memory is peak-MB, without pages of files that are mapped.
func BenchmarkCopy(b *testing.B) {
	megabytes := 8
	if text := os.Getenv("ASSAY_TRANSFER_MB"); text != "" {
		if _, err := fmt.Sscan(text, &megabytes); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct{ from, to, params string }{{"bbolt", "pebble", ""}, {"pebble", "bbolt", ""},
		{"sqlite", "badger", ""}, {"sqlite", "badger", "?BlockCacheSize=8388608"}, {"sqlite", "pebble", ""},
		{"pebble", "sqlite", ""}, {"badger", "bbolt", ""}} {
		b.Run(c.from+" to "+c.to+c.params, func(b *testing.B) {
			dir := b.TempDir()
			from := c.from + ":" + filepath.Join(dir, "old")
			if err := write(b.Context(), from, megabytes<<20); err != nil {
				b.Fatal(err)
			}
			var read, wrote, copied time.Duration
			memory := 0
			for b.Loop() {
				read += timed(b, func() error { return readAll(b.Context(), from) })
				alone, new := filepath.Join(dir, "alone"), filepath.Join(dir, "new")
				wrote += timed(b, func() error {
					return errors.Join(write(b.Context(), c.to+":"+alone+c.params, megabytes<<20), driver.SyncTree(alone))
				})
				copied += timed(b, func() error {
					peak, err := copyInChild(b, from, c.to+":"+new+c.params)
					memory = max(memory, peak)
					return err
				})
				if err := errors.Join(os.RemoveAll(alone), os.RemoveAll(new)); err != nil {
					b.Fatal(err)
				}
			}
			perSecond := func(took time.Duration) float64 { return float64(megabytes) * float64(b.N) / took.Seconds() }
			b.ReportMetric(float64(max(read, wrote))/float64(copied), "of-slower")
			b.ReportMetric(perSecond(copied), "MB/s")
			b.ReportMetric(perSecond(read), "read-MB/s")
			b.ReportMetric(perSecond(wrote), "write-MB/s")
			if memory > 0 {
				b.ReportMetric(float64(memory)/1024, "peak-MB")
			}
		})
	}
}

// copyInChild copies in a process of its own, and returns the most memory that was seen of it, in
// kB; 0 where the system does not tell.
func copyInChild(b *testing.B, from, to string) (peak int, err error) {
	c := copying(b, from, to)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, anonymous(c.Process.Pid))
		}
	}
}

// anonymous returns how much memory a process has that is not of files, in kB.
func anonymous(pid int) (kB int) {
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	_, _ = fmt.Sscan(string(rest), &kB)
	return kB
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
	db, err := kv.Open(ctx, rawURL, kv.WithWeakest(kv.Buffered))
	if err != nil {
		return err
	}
	value := make([]byte, 256)
	var batch kv.Batch
	for n := 0; n*(16+len(value)) < size && err == nil; {
		for batch.Reset(); batch.Size() < 1<<20; n++ {
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
