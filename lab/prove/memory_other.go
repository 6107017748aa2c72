//go:build !linux

package prove

// memoryFolder returns "": only Linux has a folder in memory everywhere.
func memoryFolder() string { return "" }
