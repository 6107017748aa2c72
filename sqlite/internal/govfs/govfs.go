//go:build cgo

// Package govfs is a file system of SQLite that calls Go, for tests: the system's own, which tells
// Go whenever SQLite asks whether a file is there.
package govfs

// #include "vfs.h"
import "C"

import (
	"fmt"
	"sync/atomic"

	_ "github.com/mattn/go-sqlite3" // the code of SQLite
)

// Calls is how often Go was called.
var Calls atomic.Int64

// Register makes it known as "go". A connection must have been opened before.
func Register() error { return registered(C.assay_test_vfs(0)) }

// AsDefault calls fn while it is what connections have that name none.
func AsDefault(fn func()) error {
	if err := registered(C.assay_test_vfs(1)); err != nil {
		return err
	}
	fn()
	return registered(C.assay_test_base_vfs())
}

func registered(rc C.int) error {
	if rc != 0 {
		return fmt.Errorf("register a file system: %d", rc)
	}
	return nil
}

//export assayTestAccess
func assayTestAccess() { Calls.Add(1) }
