//go:build !linux

package powerfs

import (
	"runtime"

	"github.com/assaydb/assay/kv/driver"
)

// Mount is a disk that is mounted on a folder. There are none on this system.
type Mount struct{}

func noMount(op string) error {
	return &driver.Error{Op: op, Kind: driver.Unsupported, Err: errorString("no FUSE on " + runtime.GOOS),
		Hint: "mounting needs Linux; a Disk without a mount works everywhere"}
}

// Available says why this machine cannot mount.
func Available() error { return noMount("mount") }

// Mount is not possible on this system.
func (d *Disk) Mount(string) (*Mount, error) { return nil, noMount("mount") }

// Dir returns the folder.
func (*Mount) Dir() string { return "" }

// Settle is not possible on this system.
func (*Mount) Settle(int) error { return noMount("settle") }

// Freeze is not possible on this system.
func (*Mount) Freeze(int, func()) error { return noMount("freeze") }

// Halt is not possible on this system.
func (*Mount) Halt(int) error { return noMount("stop a process") }

// GoOn has nothing to do on this system.
func (*Mount) GoOn(int) {}

// WriteBack is not possible on this system.
func (*Mount) WriteBack() error { return noMount("write back") }

// Unmount is not possible on this system.
func (*Mount) Unmount() error { return noMount("unmount") }

// DetachStale finds nothing: there are no mounts on this system.
func DetachStale(string) (int, error) { return 0, nil }
