package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer"
)

// BenchmarkCopy copies 8 MB, ASSAY_TRANSFER_MB if that is set, and compares the time of a copy,
// verification included, with what the slower side takes alone: reading the source, or writing the
// same pairs to the destination in the same transactions and syncing them. of-slower is that part;
// 1 is a copy that costs no more than its slower side. The source is on the disk before anything is
// timed, and whether writing or the copy comes first changes from one time to the next. Copy and
// writing are processes of their own, whose memory is peak-MB and write-peak-MB: without pages of
// files that are mapped, which are the system's to take back, and with what Go has not given back
// yet. The copy has the limits for that which the command assay copy sets. ASSAY_TRANSFER_EACH=1
// copies from each engine to each other one.
func BenchmarkCopy(b *testing.B) {
	megabytes := 8
	if text := os.Getenv("ASSAY_TRANSFER_MB"); text != "" {
		if _, err := fmt.Sscan(text, &megabytes); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range benchmarked() {
		b.Run(c.from+" to "+c.to, func(b *testing.B) {
			dir := b.TempDir()
			old, first, new := filepath.Join(dir, "old"), filepath.Join(dir, "alone"), filepath.Join(dir, "new")
			from := c.from + ":" + old
			if err := errors.Join(write(b.Context(), from, megabytes<<20), driver.SyncTree(old)); err != nil {
				b.Fatal(err)
			}
			var read, wrote, copied time.Duration
			var memory, alone peak
			parts := []func(){
				func() {
					wrote += timed(b, func() error {
						return errors.Join(alone.of(filling(b, c.to+":"+first, megabytes<<20)), driver.SyncTree(first))
					})
				},
				func() {
					copied += timed(b, func() error { return memory.of(copying(b, from, c.to+":"+new, limits...)) })
				},
			}
			for b.Loop() {
				read += timed(b, func() error { return readAll(b.Context(), from) })
				for _, part := range parts {
					part()
				}
				slices.Reverse(parts)
				if err := errors.Join(os.RemoveAll(first), os.RemoveAll(new)); err != nil {
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
				b.ReportMetric(float64(alone)/1024, "write-peak-MB")
			}
		})
	}
}

// limits are those of the command assay copy.
var limits = []string{"GOMEMLIMIT=256MiB"}

type fromTo struct{ from, to string }

// benchmarked are the engines of BenchmarkCopy.
func benchmarked() (all []fromTo) {
	if os.Getenv("ASSAY_TRANSFER_EACH") == "" {
		return []fromTo{{"bbolt", "pebble"}, {"pebble", "bbolt"}, {"sqlite", "badger"}, {"sqlite", "pebble"},
			{"pebble", "sqlite"}, {"badger", "bbolt"}}
	}
	for _, from := range engines {
		for _, to := range engines {
			if from != to {
				all = append(all, fromTo{from, to})
			}
		}
	}
	return all
}

// peak is the most memory that was seen of processes, in kB; 0 where the system does not tell.
type peak int

// of waits for the end of a process that was started.
func (p *peak) of(c *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Millisecond):
			*p = max(*p, peak(anonymous(c.Process.Pid)))
		}
	}
}

// fillTask is the variable that makes the test binary a process that writes a store.
const fillTask = "ASSAY_TRANSFER_FILL"

// filling starts a process that writes a new store of so many bytes.
func filling(b *testing.B, rawURL string, size int) *exec.Cmd {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fillTask+"="+rawURL, fmt.Sprintf("%s_SIZE=%d", fillTask, size))
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	return c
}

// fillInChild writes what filling says.
func fillInChild(rawURL string) error {
	size, err := strconv.Atoi(os.Getenv(fillTask + "_SIZE"))
	if err == nil {
		err = write(context.Background(), rawURL, size)
	}
	return err
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

// write fills a new store with so many bytes of pairs, in order, in the transactions of a copy.
// What it writes was made before, so that the time is the engine's.
func write(ctx context.Context, rawURL string, size int) error {
	db, err := kv.Open(ctx, rawURL, kv.WithWeakest(kv.Buffered))
	if err != nil {
		return err
	}
	var values [4096][256]byte // none is twice in a block that an engine compresses
	for n := range values {
		for i := range values[n] {
			values[n][i] = byte(n>>(i%24)) ^ byte(i*n)
		}
	}
	var batch kv.Batch
	key := []byte("key/000000000000")
	for n := 0; n*(len(key)+len(values[0])) < size && err == nil; {
		for batch.Reset(); !transfer.Full(&batch, key, values[0][:]); n++ {
			batch.Put(key, values[n%len(values)][:])
			increase(key)
		}
		err = db.Write(ctx, db.Caps().Cheapest(), &batch)
	}
	return errors.Join(err, db.Close())
}

// increase adds one to the number that key ends with.
func increase(key []byte) {
	for i := len(key) - 1; ; i-- {
		if key[i]++; key[i] <= '9' {
			return
		}
		key[i] = '0'
	}
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
