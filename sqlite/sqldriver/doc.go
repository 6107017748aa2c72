//go:build !cgo

// Package sqldriver is the database/sql driver "sqlite-c", which needs cgo: build with
// CGO_ENABLED=1 and a C compiler.
package sqldriver
