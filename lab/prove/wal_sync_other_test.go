//go:build !linux

package prove

import "os"

func syncData(f *os.File) error { return f.Sync() }
