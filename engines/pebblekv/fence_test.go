package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/assaydb/assay/kv/driver"
)

// TestEveryFailedWrite lets the n-th write to the disk fail, and all that follow, for every n until nothing fails.
// Whatever n is: no call hangs or ends the process, the failure is reported as Full from then on, Close comes back,
// and the store that is opened again on a disk with space holds every acknowledged commit.
func TestEveryFailedWrite(t *testing.T) {
	for _, d := range []driver.Durability{driver.Synced, driver.Buffered} {
		for n, failed := int64(0), true; failed; n += step(n) {
			failed = oneFailedWrite(t, d, n)
		}
	}
}

// step keeps the number of runs small: the first writes, those of Open, all differ, the later ones repeat.
func step(n int64) int64 { return 1 + n/16 }

func oneFailedWrite(t *testing.T, d driver.Durability, n int64) (failed bool) {
	var left atomic.Int64
	left.Store(n)
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && left.Add(-1) < 0 {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	})
	config := driver.Config{Path: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Params: map[string]string{"MemTableSize": "65536", "LBaseMaxBytes": "65536"}}
	acked := 0
	err := withTimeLimit(t, fmt.Sprintf("%v, write %d fails", d, n), func() (err error) {
		acked, err = writeUntilError(config, errorfs.Wrap(vfs.Default, full), d)
		return err
	})
	if err != nil && driver.KindOf(err) != driver.Full {
		t.Errorf("%v, write %d fails: got %v, want Full", d, n, err)
	}
	if err != nil && d == driver.Buffered {
		acked = 0 // Buffered promises nothing but an intact store
	}
	verify(t, config, acked)
	return err != nil
}

// writeUntilError opens a store, commits numbered records until one fails or all are there, and closes it.
func writeUntilError(config driver.Config, disk vfs.FS, d driver.Durability) (acked int, err error) {
	s, err := open(config, disk)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	for ; acked < 300; acked++ {
		if err := s.Apply(context.Background(), []driver.Op{{Key: key(acked), Value: value(acked)}}, d); err != nil {
			if again := s.Apply(context.Background(), []driver.Op{{Key: key(acked)}}, d); again == nil {
				return acked, errors.New("the store takes writes after a failed one")
			}
			if _, again := s.Snapshot(context.Background()); again == nil {
				return acked, errors.New("the store may show a write that failed")
			}
			return acked, err
		}
	}
	return acked, nil
}

func verify(t *testing.T, config driver.Config, acked int) {
	t.Helper()
	s, err := Driver{}.Open(context.Background(), config)
	if err != nil {
		t.Fatalf("open again: %v", err)
	}
	if err := s.(driver.Checker).Check(context.Background()); err != nil {
		t.Errorf("check: %v", err)
	}
	r, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range acked {
		if got, err := r.Get(nil, key(i)); err != nil || string(got) != string(value(i)) {
			t.Fatalf("acknowledged record %d of %d: %v", i, acked, err)
		}
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func key(i int) []byte { return fmt.Appendf(nil, "key%06d", i) }

func value(i int) []byte { return []byte(strings.Repeat(fmt.Sprintf("value%d.", i), 200)) }

// withTimeLimit returns what fn returns, or ends the test when fn hangs.
func withTimeLimit(t *testing.T, what string, fn func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s: hangs", what)
		return nil
	}
}
