package badgerkv

import (
	"math"

	"golang.org/x/sys/windows"
)

// freeSpace returns the bytes that this user may still write to the volume of path.
func freeSpace(path string) (int64, error) {
	var free uint64
	name, err := windows.UTF16PtrFromString(path)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	}
	return int64(min(free, math.MaxInt64)), err
}
