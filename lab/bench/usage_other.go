//go:build !linux

package bench

// bytesWritten is nil: this system does not tell what a process sent to the device.
func bytesWritten() *int64 { return nil }

// resetPeakRSS does nothing: the peak is of the whole life of the process.
func resetPeakRSS() {}

func procNumber(string, string) (int64, bool) { return 0, false }
