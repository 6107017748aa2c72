package eventlog

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

// Appends that meet, and appends that do not, take turns; Close comes among them, and everything
// ends.
func TestAppendsTakeTurnsUntilTheLogIsClosed(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:turns")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	next := uint64(1)
	for range 20 {
		log, err := Open(t.Context(), db, &Options{Reserve: NoReserve})
		if err != nil {
			t.Fatal(err)
		}
		const writers = 4
		var all, warm sync.WaitGroup
		positions := make([][]uint64, writers)
		warm.Add(writers)
		for i := range writers {
			all.Go(func() { positions[i] = appendUntilClosed(t, log, warm.Done) })
		}
		warm.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		next = checkGapless(t, positions, next)
	}
}

// appendUntilClosed returns the positions that its appends got. After 50 of them it calls warm.
func appendUntilClosed(t *testing.T, log *Log, warm func()) (positions []uint64) {
	warmed := sync.OnceFunc(warm)
	defer warmed()
	for {
		done, err := log.Append(context.Background(), kv.Buffered, "", Any, Draft{Type: "T"})
		if err != nil {
			if !errors.Is(err, kv.Closed) {
				t.Errorf("append: %v", err)
			}
			return positions
		}
		if positions = append(positions, done.First); len(positions) == 50 {
			warmed()
		}
	}
}

// checkGapless checks that every position from next on was given once, and returns the one after
// the last.
func checkGapless(t *testing.T, positions [][]uint64, next uint64) uint64 {
	seen := map[uint64]int{}
	for _, some := range positions {
		for _, p := range some {
			seen[p]++
		}
	}
	for range seen {
		if seen[next] != 1 {
			t.Fatalf("%d appends got position %d, want one", seen[next], next)
		}
		next++
	}
	return next
}
