package badgerkv

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// room refuses writes while there is still space on the disk.
//
// Badger writes its logs and tables through sparse mapped files. Where the file system has no block
// for a page that is written, the kernel sends SIGBUS and the Go runtime ends the process, in a
// goroutine of Badger's that cannot be guarded. So a reserve is kept for writing out what is in
// memory. It is no guarantee: another program may fill the disk between two looks.
//
// It also knows when Badger is short of tables in memory, and a commit may have to wait for one.
type room struct {
	path    string
	reserve int64
	step    int64        // bytes between two looks at the tables
	tables  int          // from so many on a commit may have to wait
	left    atomic.Int64 // bytes until the next look
	tight   atomic.Bool
	mu      sync.Mutex // held while looking
}

// newRoom keeps space for two tables in memory: one that is being written out, one that is merged.
func newRoom(path string, o badger.Options) *room {
	return &room{path: path, reserve: 2 * o.MemTableSize, step: o.MemTableSize / 4, tables: o.NumMemtables}
}

// take makes room for n bytes, or returns Full. It looks again when a quarter of what was free
// above the reserve, or of a table, may be used up.
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
	logs, _ := filepath.Glob(filepath.Join(r.path, "*.mem")) // each is of a table in memory
	r.tight.Store(len(logs) >= r.tables)
	spare := free - r.reserve
	if spare <= n {
		r.left.Store(0)
		return &driver.Error{Kind: driver.Full,
			Err:  fmt.Errorf("%d MiB free, badger needs %d MiB to stay safe", free>>20, (r.reserve+n)>>20),
			Hint: "free some space, or open the store with a smaller MemTableSize: the reserve is twice that"}
	}
	r.left.Store(max(min(spare/4, r.step)-n, 1))
	return nil
}
