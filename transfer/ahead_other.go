//go:build !linux

package transfer

// readAhead has the system read ahead in files that are mapped, where it can be told to.
func readAhead(string) {}
