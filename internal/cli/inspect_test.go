package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(slow{}) }

// slow is the engine "slow": bbolt that takes twenty seconds to open.
type slow struct{}

func (slow) Info() driver.Info {
	info := bboltkv.Driver{}.Info()
	info.Name = "slow"
	return info
}

func (slow) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	time.Sleep(20 * time.Second)
	return bboltkv.Driver{}.Open(ctx, c)
}

func TestAWaitIsSaidAndASlowOpeningIsNone(t *testing.T) {
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	open := func(url string) (said string) {
		synctest.Test(t, func(t *testing.T) {
			var stderr bytes.Buffer
			a := &app{stderr: &stderr}
			if db, err := a.openExisting(t.Context(), url, false); err == nil {
				defer db.Close()
			}
			said = stderr.String()
		})
		return said
	}
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if said := open("bbolt:" + path); !strings.Contains(said, "waiting for another process to close "+path) {
		t.Errorf("a store that is open said:\n%s", said)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if said := open("slow:" + path); said != "" {
		t.Errorf("a slow opening said:\n%s", said)
	}
}

// interrupting ends a context at the first write.
type interrupting struct {
	bytes.Buffer
	end context.CancelFunc
}

func (w *interrupting) Write(p []byte) (int, error) {
	w.end()
	return w.Buffer.Write(p)
}

// storeOf makes a store of so many pairs and returns its URL.
func storeOf(t *testing.T, pairs int) string {
	t.Helper()
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range pairs {
		b.Put(kv.AppendUint64(nil, uint64(i)), []byte("some value"))
	}
	if err := errors.Join(db.Write(t.Context(), kv.Flushed, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	return url
}

// writes counts calls.
type writes struct {
	bytes.Buffer
	calls int
}

func (w *writes) Write(p []byte) (int, error) {
	w.calls++
	return w.Buffer.Write(p)
}

// TestAScanWritesManyLinesAtOnce: a call of the system for each pair took most of the time of a
// long scan.
func TestAScanWritesManyLinesAtOnce(t *testing.T) {
	const pairs = 5000
	out := new(writes)
	status := Run(t.Context(), []string{"inspect", storeOf(t, pairs), "scan"}, nil, out, io.Discard, nil)
	if n := bytes.Count(out.Bytes(), []byte("\n")); status != 0 || n != pairs || out.calls > pairs/100 {
		t.Errorf("exit status %d, %d of %d pairs in %d writes", status, n, pairs, out.calls)
	}
}

func TestALongScanEndsAtAnInterrupt(t *testing.T) {
	const pairs = 10_000
	url := storeOf(t, pairs)
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupting{end: cancel}
	status := Run(ctx, []string{"inspect", url, "scan"}, nil, out, io.Discard, nil)
	if n := bytes.Count(out.Bytes(), []byte("\n")); status != 130 || n == pairs {
		t.Errorf("exit status %d after %d of %d pairs, want 130 after fewer", status, n, pairs)
	}
}

// TestAWaitForAnotherProcessEndsAtAnInterrupt: the error is Busy and Canceled, and an interrupt is
// no failure.
func TestAWaitForAnotherProcessEndsAtAnInterrupt(t *testing.T) {
	url := storeOf(t, 1)
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &interrupting{end: cancel} // what it says of the wait
	if status := Run(ctx, []string{"inspect", url}, nil, io.Discard, stderr, nil); status != 130 {
		t.Errorf("exit status %d, want 130: %s", status, &stderr.Buffer)
	}
}
