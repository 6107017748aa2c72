//go:build cgo

package sqlite_test

import (
	"github.com/assaydb/assay/engines/sqliteckv"
	"github.com/assaydb/assay/sqlite/sqldriver"
)

func init() {
	builds = append(builds, "sqlite-c")
	thinBuilds = append(thinBuilds,
		thinBuild{"sqlite-c", "sqlite3", "_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate"})
	typed["sqlite-c"] = sqliteckv.Open
	wrappers["sqlite-c"] = wrapper{"sqlite3", sqliteckv.Wrap, sqliteckv.Handle}
	wrappers["sqlite-c by sqldriver"] = wrapper{sqldriver.Name, sqliteckv.Wrap, sqliteckv.Handle}
}
