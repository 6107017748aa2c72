// Package pebblekv is the engine "pebble": CockroachDB's Pebble, a log-structured merge tree in a folder.
//
// A write goes to a log and to a table in memory; tables are written out sorted and merged in the background, which
// makes random writes cheap and costs a few goroutines and several copies of the data over time.
//
// Durability: Synced commits wait for the log's fsync and share it when several run at once. Pebble has nothing
// between that and Buffered, whose records wait in the memory of the process, so Flushed delivers Synced. Close loses
// nothing of any class.
//
// Failing disks: Pebble ends the process, or waits forever, when a write fails (a full disk). Here the first failed
// write shuts the store off from the disk as a crash would: that commit and all later calls fail with the cause
// (Full on a full disk), and opening the store again recovers everything acknowledged before it. See fence.
package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens Pebble stores. The zero value is ready to use.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "pebble",
		Summary: "log-structured merge tree in a folder, one process (CockroachDB's Pebble)",
		Modules: []string{"github.com/cockroachdb/pebble/v2"},
		Options: options,
		Caps:    capabilities(&pebble.Options{}),
	}
}

// capabilities tells what a store with the options o can do.
func capabilities(o *pebble.Options) driver.Caps {
	caps := driver.Caps{
		PureGo:     true,
		Persistent: true,
		Folder:     true,
		// Pebble locks the folder for one process even when it opens it read-only.
		Modes: []driver.Mode{driver.Exclusive},
		Promises: [3]driver.Promise{
			driver.Synced:   {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Flushed:  {Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
			driver.Buffered: {Supported: true, Class: driver.Buffered, Intact: true, KillAtomic: true, PowerAtomic: true},
		},
		ConcurrentApply: true,
		TxnLimit:        true, // 4 GiB, see maxBatch
		Compression:     []string{"none", "snappy", "zstd", "minlz"},
		Compacts:        true,
		Checks:          true,
	}
	if o.DisableWAL {
		// Tables are written in the order of the commits and each as a whole: what a crash leaves is a prefix.
		caps.Promises[driver.Synced] = driver.Promise{}
		caps.Promises[driver.Flushed] = driver.Promise{}
	}
	return caps
}

// Open opens the store in the folder c.Path.
func (Driver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	return open(c, vfs.Default)
}

// open opens the store on a disk of the caller's choice.
func open(c driver.Config, disk vfs.FS) (driver.Store, error) {
	if c.Mode != driver.Exclusive {
		return nil, &driver.Error{Op: "open", Kind: driver.Unsupported, Err: fmt.Errorf("mode %v", c.Mode),
			Hint: "pebble locks its folder for one process; open it exclusively"}
	}
	o, err := parse(c.Params)
	if err != nil {
		return nil, err
	}
	path, err := prepare(c.Path)
	if err != nil {
		return nil, err
	}
	o.setLogger(c.Logger)
	fence := newFence(disk, path, c.Logger)
	o.FS, o.Logger = fence, logger{c.Logger, fence}
	lock, err := lockFolder(path, fence)
	if err != nil {
		return nil, err
	}
	db, err := openLocked(path, o, lock)
	if err == nil && fence.failed() != nil {
		// Pebble believes that it opened: see fence.
		err = errors.Join(fence.failed(), db.Close())
	}
	if err != nil {
		return nil, errors.Join(classifyOpen(err), lock.Close())
	}
	return newStore(db, lock, fence, path, o), nil
}

// prepare makes the folder and returns the one absolute name of it: Pebble's lock knows a folder that this process
// has open already by its name only.
func prepare(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return "", &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("%s is a file", path),
			Hint: "pebble keeps a store in a folder: name a folder"}
	}
	if err := driver.MakeDirs(path); err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// lockFolder takes the lock of the folder, or returns Busy at once.
func lockFolder(path string, fs vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(path, fs)
	if err == nil {
		return lock, nil
	}
	// The bare numbers are those of the lock call itself; what concerns the lock's file comes as a PathError.
	var wrapped *os.PathError
	var number syscall.Errno
	held := errors.As(err, &number) && !errors.As(err, &wrapped) &&
		(number == syscall.EAGAIN || runtime.GOOS == "windows" && number == errSharingViolation)
	// Pebble: the error for a folder that this process itself has open has no type.
	if held || err.Error() == "lock held by current process" {
		return nil, &driver.Error{Op: "open", Kind: driver.Busy, Err: err, Hint: "close the other handle first"}
	}
	return nil, err
}

// errSharingViolation is ERROR_SHARING_VIOLATION of the Windows API.
const errSharingViolation = syscall.Errno(32)

// openLocked opens the folder whose lock is held. A store that exists keeps its format unless a newer one was asked
// for; a new one gets the newest.
func openLocked(path string, o *settings, lock *pebble.Lock) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("pebble panics: %v", r)}
		}
	}()
	desc, err := pebble.Peek(path, o.FS)
	if err != nil {
		return nil, err
	}
	if o.FormatMajorVersion == pebble.FormatDefault {
		if o.FormatMajorVersion = pebble.FormatNewest; desc.Exists {
			o.FormatMajorVersion = desc.FormatMajorVersion
		}
	}
	o.Lock = lock
	return pebble.Open(path, &o.Options)
}
