//go:build cgo

package sqlqueue_test

import (
	"testing"

	_ "github.com/assaydb/assay/sqlite/sqldriver" // "sqlite-c"
	"github.com/assaydb/assay/stores/queue/queuetest"
)

// TestConformanceThroughC is the same suite on SQLite in C.
func TestConformanceThroughC(t *testing.T) {
	through := target("sqlite-c")
	through.Brief = true
	queuetest.Run(t, through)
}
