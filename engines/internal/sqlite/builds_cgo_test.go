//go:build cgo

package sqlite_test

import "github.com/assaydb/assay/engines/sqliteckv"

func init() {
	builds = append(builds, "sqlite-c")
	thinBuilds = append(thinBuilds,
		thinBuild{"sqlite-c", "sqlite3", "_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate"})
	typed["sqlite-c"] = sqliteckv.Open
}
