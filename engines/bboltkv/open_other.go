//go:build !unix

package bboltkv

import "os"

func openFileOS(name string, flag int, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}
