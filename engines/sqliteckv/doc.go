//go:build !cgo

// Package sqliteckv is the engine "sqlite-c", which needs cgo: build with CGO_ENABLED=1 and a C
// compiler.
package sqliteckv
