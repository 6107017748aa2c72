//go:build !cgo

// Package sqlite is SQLite through C, which needs cgo: build with CGO_ENABLED=1 and a C compiler.
package sqlite
