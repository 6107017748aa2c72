package sqlitewasmkv

import (
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// told is go-sqlite3's own file system with syncs that are told of, registered under a name of its
// own while its one connection is open.
type told struct {
	vfs.VFSFilename
	name   string // "" where nobody asks
	onSync driver.OnSync
}

var registered atomic.Int64

// register makes it known, and returns the parameter of a URI that asks for it.
func (t *told) register() string {
	t.VFSFilename = vfs.Find("os").(vfs.VFSFilename)
	t.name = fmt.Sprintf("assay-%d", registered.Add(1))
	vfs.Register(t.name, *t)
	return "&vfs=" + t.name
}

// OpenFilename opens a file, of which every sync is told.
func (t told) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	opened, flags, err := t.VFSFilename.OpenFilename(name, flags)
	f, ok := opened.(osFile)
	if err != nil || !ok || f.DeviceCharacteristics()&vfs.IOCAP_BATCH_ATOMIC != 0 {
		return opened, flags, err
	}
	return timed{f, t.onSync}, flags, nil
}

// osFile is what go-sqlite3's own files can do, where they have a log.
type osFile interface {
	vfs.FileLockState
	vfs.FileHasMoved
	vfs.FileSizeHint
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSharedMemory
	vfs.FileMemoryMapper
}

type timed struct {
	osFile
	onSync driver.OnSync
}

func (f timed) Sync(flags vfs.SyncFlag) error {
	return f.onSync.Time(func() error { return f.osFile.Sync(flags) })
}
