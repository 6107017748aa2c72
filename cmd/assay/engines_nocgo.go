//go:build !cgo

package main

import "github.com/assaydb/assay"

func init() {
	absent = append(absent, assay.Absent{Name: "sqlite-c", Summary: "SQLite itself, in C",
		How: "build with CGO_ENABLED=1 and a C compiler"})
}
