package bench

import (
	"os"
	"strconv"
	"strings"
)

// bytesWritten is how many bytes this process and the children that it has waited for made the
// kernel send to the device, counted when a page of a file becomes dirty, memory-mapped files
// included (proc(5), write_bytes).
func bytesWritten() *int64 {
	if n, ok := procNumber("/proc/self/io", "write_bytes:"); ok {
		return &n
	}
	return nil
}

// resetPeakRSS makes peakRSS count from now (proc(5), clear_refs).
func resetPeakRSS() {
	// Where it is refused, the peak is of the whole life of the process.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// procNumber returns the number behind a name in one of the kernel's process files.
func procNumber(path, name string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}
