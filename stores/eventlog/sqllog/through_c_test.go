//go:build cgo

package sqllog_test

import (
	"testing"

	_ "github.com/assaydb/assay/sqlite/sqldriver" // "sqlite-c"
	"github.com/assaydb/assay/stores/eventlog/logtest"
)

// TestConformanceThroughC is the same suite on SQLite in C.
func TestConformanceThroughC(t *testing.T) {
	through := target("sqlite-c")
	through.Brief = true
	logtest.Run(t, through)
}
