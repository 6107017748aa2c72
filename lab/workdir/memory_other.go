//go:build !linux

package workdir

// Memory returns "": only Linux has a folder in memory everywhere.
func Memory() string { return "" }
