package buntkv

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

// A file that is refused leaves no database of BuntDB's behind, whose goroutine would look at it each second for ever.
func TestARefusedFileLeavesNothingRunning(t *testing.T) {
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
	for running := true; running; { // a goroutine of BuntDB's ends up to a second after Close
		stacks := make([]byte, 1<<20)
		running = strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "backgroundManager")
		runtime.Gosched()
	}
}
