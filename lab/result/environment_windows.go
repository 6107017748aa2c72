package result

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func kernel() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

func processor() string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`,
		registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	name, _, err := k.GetStringValue("ProcessorNameString")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(name)
}

// memory asks GlobalMemoryStatusEx, whose MEMORYSTATUSEX begins with its own length and holds the
// total at offset 8.
func memory() int64 {
	status := struct {
		length, load uint32
		total        uint64
		rest         [6]uint64
	}{}
	status.length = uint32(unsafe.Sizeof(status))
	ask := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := ask.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.total)
}

func fileSystem(dir string) string {
	root, err := windows.UTF16PtrFromString(device(dir))
	if err != nil {
		return ""
	}
	var name [windows.MAX_PATH + 1]uint16
	if windows.GetVolumeInformation(root, nil, 0, nil, nil, nil, &name[0], uint32(len(name))) != nil {
		return ""
	}
	return strings.ToLower(windows.UTF16ToString(name[:]))
}

// device returns the root of the volume, such as C:\.
func device(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	path, err := windows.UTF16PtrFromString(abs)
	if err != nil {
		return ""
	}
	var root [windows.MAX_PATH + 1]uint16
	if windows.GetVolumePathName(path, &root[0], uint32(len(root))) != nil {
		return ""
	}
	return windows.UTF16ToString(root[:])
}
