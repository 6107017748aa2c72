package badgerkv

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// room refuses writes while there is still space on the disk.
//
// Badger writes its logs and tables through sparse mapped files. Where the file system has no block for a page that
// is written, the kernel sends SIGBUS and the Go runtime ends the process, in a goroutine of Badger's that cannot be
// guarded. So a reserve is kept for writing out what is in memory. Asking the file system takes a microsecond, so it
// is asked again only when a quarter of what was free above the reserve may be used up. It is no guarantee: another
// program may fill the disk between two looks.
type room struct {
	path    string
	reserve int64
	left    atomic.Int64 // bytes until the next look
	mu      sync.Mutex   // held while looking
}

// newRoom keeps space for two tables in memory: one that is being written out, one that is merged.
func newRoom(path string, o badger.Options) *room {
	return &room{path: path, reserve: 2 * o.MemTableSize}
}

// take makes room for n bytes, or returns Full.
func (r *room) take(n int64) error {
	if r.left.Add(-n) > 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	free, err := freeSpace(r.path)
	if err != nil {
		return err
	}
	spare := free - r.reserve
	if spare <= n {
		r.left.Store(0)
		return &driver.Error{Kind: driver.Full,
			Err:  fmt.Errorf("%d MiB free, badger needs %d MiB to stay safe", free>>20, (r.reserve+n)>>20),
			Hint: "free some space, or open the store with a smaller MemTableSize: the reserve is twice that"}
	}
	r.left.Store(max(spare/4-n, 1))
	return nil
}
