//go:build cgo

package sqlite_test

import _ "github.com/assaydb/assay/engines/sqliteckv"

func init() { builds = append(builds, "sqlite-c") }
