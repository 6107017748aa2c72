//go:build cgo

package sqliteckv_test

import (
	"testing"

	"github.com/assaydb/assay/engines/internal/sqlite/thintest"
)

// BenchmarkThin measures kv against database/sql, as go-sqlite3 documents it.
func BenchmarkThin(b *testing.B) {
	thintest.Build{Scheme: "sqlite-c", Driver: "sqlite3", Query: "_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate"}.Bench(b)
}
