package mosskv

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// opener opens files for moss, and adds two things. The entry of a new file is made durable: moss
// never syncs its folder, so that after a power loss the file of a synced commit could be gone. And
// after a write that failed no sync succeeds: moss drops the errors of the writes of a compaction,
// and would then remove the file that it had compacted. All syncs are told of.
func opener(onSync driver.OnSync) moss.OpenFile {
	return func(name string, flag int, perm os.FileMode) (moss.File, error) {
		f, err := os.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		if flag&os.O_CREATE != 0 {
			if err := onSync.Dir(filepath.Dir(name)); err != nil {
				f.Close()
				return nil, err
			}
		}
		return &file{File: f, onSync: onSync}, nil
	}
}

// file is a file that remembers a failed write.
type file struct {
	*os.File
	failed atomic.Pointer[error]
	onSync driver.OnSync
}

func (f *file) OsFile() *os.File { return f.File }

func (f *file) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	if err != nil {
		f.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (f *file) Sync() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return f.onSync.Time(f.File.Sync)
}
