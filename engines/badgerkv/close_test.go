package badgerkv

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Beside its Close Badger reads files that are no longer mapped, and the process ends.
func TestCloseWaitsForUpkeepThatItsCallerHasGivenUp(t *testing.T) {
	SetPatience(t, 0)
	c := driver.Config{Path: filepath.Join(t.TempDir(), "db"), Weakest: driver.Flushed,
		Logger: slog.New(slog.DiscardHandler), Params: map[string]string{"MemTableSize": "4194304"}}
	opened, err := Driver{}.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*store)
	for i := range 20 {
		var ops []driver.Op
		for n := range 200 {
			ops = append(ops, driver.Op{Key: fmt.Appendf(nil, "%03d %03d", n, i), Value: make([]byte, 2000)})
		}
		if err := s.Apply(t.Context(), ops, driver.Flushed); err != nil {
			t.Fatal(err)
		}
	}
	s.trouble.stop(errors.New("a write of Badger's failed"))
	held, flattened := make(chan struct{}), error(nil)
	err = s.upkeep(func() error {
		<-held
		flattened = s.db.Flatten(2)
		return nil
	})
	if !errors.Is(err, kv.InDoubt) {
		t.Fatalf("upkeep that takes longer than anybody waits: %v", err)
	}
	if err := s.Close(); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("a Close that takes longer than anybody waits: %v", err)
	}
	// Nothing shows that Badger will not be closed: 300 ms are enough to see that it is.
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s.db.IsClosed() {
			t.Fatal("Badger is closed beside upkeep that runs")
		}
	}
	close(held)
	s.running.Wait()
	if err := errors.Join(flattened, s.db.Close()); err != nil { // returns when the Close above has
		t.Fatal(err)
	}
}
