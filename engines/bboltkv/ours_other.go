//go:build !unix || solaris || illumos || aix

package bboltkv

import "os"

// addresses is how much the driver maps at first. On Windows the file would be as long.
const addresses = 0

// unlock does nothing: here bbolt's lock ends when f is closed.
func unlock(*os.File) error { return nil }

// readAhead does nothing: bbolt does not tell this system either.
func readAhead(uintptr, int64, bool) {}

// openFlat opens a regular file.
var openFlat = os.OpenFile
