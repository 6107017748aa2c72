package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// TestEveryFailedWrite lets the n-th write to the disk fail, and all that follow, for every n until
// nothing fails. Whatever n is: no call hangs or ends the process, the commit that met the failure
// says Full, no later one is taken, reads go on, Close comes back, and the store that is opened
// again on a disk with space holds every acknowledged commit.
func TestEveryFailedWrite(t *testing.T) {
	for _, d := range []driver.Durability{driver.Synced, driver.Buffered} {
		for n, failed := int64(0), true; failed; n += step(n) {
			failed = oneFailedWrite(t, d, n)
		}
	}
}

// step keeps the number of runs small: the first writes, those of Open, all differ, the later ones
// repeat.
func step(n int64) int64 {
	if testing.Short() {
		return 1 + n/4
	}
	return 1 + n/16
}

func oneFailedWrite(t *testing.T, d driver.Durability, n int64) (failed bool) {
	what := fmt.Sprintf("%v, write %d fails", d, n)
	path := filepath.Join(t.TempDir(), "db")
	acked := 0
	err := withTimeLimit(t, what, func() (err error) {
		acked, err = writeUntilError(t, path, &failing{after: n, err: syscall.ENOSPC}, d)
		return err
	})
	if err != nil && driver.KindOf(err) != driver.Full {
		t.Errorf("%s: got %v, want Full", what, err)
	}
	least := acked
	if err != nil && d == driver.Buffered {
		least = 0 // Buffered promises a prefix
	}
	if err := verify(path, least, acked+1); err != nil {
		t.Errorf("%s: opened again: %v", what, err)
	}
	return err != nil
}

// TestAFullDiskAsAProgramSeesIt says what is visible after a failed sync: the commit in doubt too,
// as Pebble shows it.
func TestAFullDiskAsAProgramSeesIt(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "db")
	disk := &failing{after: never, err: syscall.ENOSPC}
	db, err := Open(ctx, path, &pebble.Options{FS: errorfs.Wrap(vfs.Default, disk)})
	if err != nil {
		t.Fatal(err)
	}
	write := func(value string) error {
		var b kv.Batch
		b.Put([]byte("a"), []byte(value))
		b.Put([]byte("b"), []byte(value))
		return db.Write(ctx, kv.Synced, &b)
	}
	get := func(key string) string {
		v, err := db.Get(ctx, []byte(key))
		if err != nil {
			t.Error(err)
		}
		return string(v)
	}
	if err := write("1"); err != nil {
		t.Fatal(err)
	}
	disk.done.Store(never)
	if err := write("2"); kv.KindOf(err) != kv.InDoubt || !errors.Is(err, kv.Full) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the commit that met the full disk: got %v, want one in doubt that says Full", err)
	}
	for what, err := range map[string]error{
		"write": write("3"), "compact": db.Compact(ctx), "backup": db.Backup(ctx, path+"2"), "check": db.Check(ctx),
	} {
		if kv.KindOf(err) != kv.Stopped {
			t.Errorf("%s afterwards: got %v, want stopped", what, err)
		}
	}
	if a, b := get("a"), get("b"); a != "2" || b != "2" {
		t.Errorf("the handle shows %s and %s, want the commit in doubt", a, b)
	}
	if err := db.Close(); !errors.Is(err, kv.Full) {
		t.Errorf("close: got %v, want Full", err)
	}
	if db, err = Open(ctx, path, nil); err != nil {
		t.Fatal(err)
	}
	if a, b := get("a"), get("b"); a != b || a != "1" && a != "2" {
		t.Errorf("opened again it holds %s and %s", a, b)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestPebbleWithoutTheFence(t *testing.T) {
	c := driver.Config{Path: t.TempDir(), Params: map[string]string{"Fence": "false"},
		Logger: slog.New(slog.DiscardHandler)}
	s, err := Driver{}.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, p := range s.Caps().Promises {
		if !p.DiskMayBreak {
			t.Errorf("it promises %+v, also where the disk fails", p)
		}
	}
	if own := s.(checkpointed); own.o.FS != vfs.Default {
		t.Errorf("something stands between Pebble and the disk: %T", own.o.FS)
	}
	if err := driver.Apply(t.Context(), s, []driver.Op{{Key: key(0), Value: value(0)}}, driver.Synced); err != nil {
		t.Error(err)
	}
}

// never is more writes than a test makes.
const never = 1 << 40

// failing lets the writes to the disk fail from the one after "after" others on.
type failing struct {
	after int64
	err   error
	done  atomic.Int64
}

func (f *failing) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && f.done.Add(1) > f.after {
		return &os.PathError{Op: "write", Path: op.Path, Err: f.err}
	}
	return nil
}

func (f *failing) String() string { return "failing" }

// openOn opens a store with small tables on a disk that fails.
func openOn(path string, f errorfs.Injector) (driver.Store, error) {
	o := &pebble.Options{MemTableSize: 64 << 10, LBaseMaxBytes: 64 << 10, FS: errorfs.Wrap(vfs.Default, f)}
	return Driver{options: o}.Open(context.Background(), driver.Config{Path: path,
		Logger: slog.New(slog.DiscardHandler)})
}

// writeUntilError opens a store, commits numbered records until one fails or all are there, and
// closes it.
func writeUntilError(t *testing.T, path string, disk errorfs.Injector, d driver.Durability) (acked int, err error) {
	s, err := openOn(path, disk)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	for ; acked < 300; acked++ {
		if err = driver.Apply(context.Background(), s, []driver.Op{{Key: key(acked), Value: value(acked)}},
			d); err != nil {
			break
		}
	}
	if err == nil {
		return acked, nil
	}
	if driver.KindOf(err) == driver.Stopped {
		err = nil // the failure was in the background, and Close tells it
	}
	late := []driver.Op{{Key: key(0), Delete: true}}
	if err := driver.Apply(context.Background(), s, late, d); driver.KindOf(err) != driver.Stopped {
		t.Errorf("a commit after the failed one: got %v, want stopped", err)
	}
	if _, err := s.Begin(context.Background(), d); driver.KindOf(err) != driver.Stopped {
		t.Errorf("a transaction after the failed commit: got %v, want stopped", err)
	}
	if err := holds(s, acked, acked+1); err != nil {
		t.Errorf("reading after the failed commit: %v", err)
	}
	return acked, err
}

// holds returns an error unless s holds the first records, at least and at most so many.
func holds(s driver.Store, least, most int) error {
	r, err := s.Snapshot(context.Background())
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return err
	}
	defer c.Close()
	for i := 0; ; i++ {
		k, v, err := c.Next()
		switch {
		case err != nil:
			return fmt.Errorf("record %d: %w", i, err)
		case k == nil && i < least || i > most:
			return fmt.Errorf("%d records are there, want %d to %d", i, least, most)
		case k == nil:
			return nil
		case string(k) != string(key(i)) || string(v) != string(value(i)):
			return fmt.Errorf("record %d is %q", i, k)
		}
	}
}

// verify opens the store on a disk with space.
func verify(path string, least, most int) error {
	s, err := openOn(path, &failing{after: never})
	if err != nil {
		return err
	}
	return errors.Join(s.(driver.Checker).Check(context.Background()), holds(s, least, most), s.Close())
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
