package badgerkv

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Without a wait for it the process ends: Badger's Close closes a channel that the compaction sends
// to.
func TestCloseWaitsForACompactionThatItsCallerHasGivenUp(t *testing.T) {
	patience = 0
	defer func() { patience = 10 * time.Second }()
	opened, err := Driver{}.Open(t.Context(), driver.Config{
		Path: filepath.Join(t.TempDir(), "db"), Weakest: driver.Flushed, Logger: slog.New(slog.DiscardHandler),
		Params: map[string]string{"MemTableSize": "4194304"}})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*store)
	rng := rand.NewChaCha8([32]byte{})
	for i := range 200 {
		var ops []driver.Op
		for n := range 50 {
			value := make([]byte, 1000)
			_, _ = rng.Read(value)
			ops = append(ops, driver.Op{Key: fmt.Appendf(nil, "%03d %03d", n, i), Value: value})
		}
		if err := s.Apply(t.Context(), ops, driver.Flushed); err != nil {
			t.Fatal(err)
		}
	}
	s.trouble.stop(errors.New("a write of Badger's failed"))
	if err := s.Compact(t.Context()); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("a compaction that takes longer than anybody waits: %v", err)
	}
	if err := s.Close(); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("a Close that takes longer than anybody waits: %v", err)
	}
	s.running.Wait()
	if err := s.db.Close(); err != nil { // returns when the Close above has
		t.Fatal(err)
	}
}
