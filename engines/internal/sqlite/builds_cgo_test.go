//go:build cgo

package sqlite_test

import "github.com/assaydb/assay/engines/sqliteckv"

func init() {
	builds = append(builds, "sqlite-c")
	typed["sqlite-c"] = sqliteckv.Open
}
