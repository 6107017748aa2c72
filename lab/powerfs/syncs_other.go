//go:build !linux

package powerfs

import "os"

// HandOverSyncs is not possible on this system.
func HandOverSyncs() (*os.File, error) { return nil, noMount("take syncs over") }

// TakeSyncs is not possible on this system.
func (*Mount) TakeSyncs(int, func() (fd int, err error)) (stop func(), err error) {
	return nil, noMount("take syncs over")
}
