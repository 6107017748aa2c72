package sqlitekv_test

import (
	"testing"

	"github.com/assaydb/assay/engines/internal/sqlite/thintest"
)

// BenchmarkThin measures kv against database/sql, as modernc.org/sqlite documents it.
func BenchmarkThin(b *testing.B) {
	thintest.Build{Scheme: "sqlite", Driver: "sqlite", Query: "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"}.Bench(b)
}
