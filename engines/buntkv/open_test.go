package buntkv

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// A file that is refused leaves no database of BuntDB's behind, whose goroutine would look at it
// each second for ever.
func TestARefusedFileLeavesNothingRunning(t *testing.T) {
	t.Parallel() // most of it is waiting, also for what tests beside it leave for a second
	damaged := left(t, awkward, driver.Synced)
	damaged[frameSize+frameSize] ^= 0x55
	for params, b := range map[string][]byte{
		"Frames=true":                 damaged,
		"Frames=false":                left(t, awkward, driver.Flushed), // it was not closed
		"Frames=true&SyncPolicy=Soon": nil,
	} {
		c := config(file(t, b), strings.Split(params, "&")...)
		if s, err := (Driver{}).Open(t.Context(), c); err == nil {
			t.Errorf("%s: it was opened", params)
			must(t, s.Close())
		} else if errors.Is(err, driver.Busy) {
			t.Errorf("%s: %v", params, err)
		}
	}
	for running := true; running; time.Sleep(10 * time.Millisecond) { // one of BuntDB's ends up to a second after Close
		stacks := make([]byte, 1<<20)
		running = strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "backgroundManager")
	}
}

func TestAnEmptyFileOpenedReadOnlyIsMissing(t *testing.T) {
	c := config(file(t, nil))
	c.Mode = driver.ReadOnly
	if _, err := (Driver{}).Open(t.Context(), c); driver.KindOf(err) != driver.NoStore || driver.HintOf(err) == "" {
		t.Errorf("got %v, want no store, with a hint", err)
	}
}

// What a compaction wrote is damaged before anything follows it: it was synced, and is no torn
// transaction.
func TestADamagedCompactionIsNotCutOff(t *testing.T) {
	path := file(t, nil)
	s := opens(t, config(path))
	awkward.commit(t, s, 0, driver.Synced)
	must(t, s.(driver.Compacter).Compact(t.Context()))
	b := contents(t, path)
	must(t, s.Close())
	for at := frameSize; at < int64(len(b)); at += 7 {
		b[at] ^= 0x55
		if s, err := (Driver{}).Open(t.Context(), config(file(t, b))); driver.KindOf(err) != driver.Corrupt {
			t.Errorf("byte %d: %v, want Corrupt", at, err)
			must(t, s.Close())
		}
		b[at] ^= 0x55
	}
}
