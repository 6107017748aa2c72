//go:build !cgo

// Package govfs is a file system of SQLite that calls Go, for tests; it needs cgo.
package govfs
