package suites

import (
	"testing"

	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/dbtest"

	adapter "github.com/assaydb/assay/foreign/ethdb"
)

// Ethdb is the suite of go-ethereum's databases.
func Ethdb(t *testing.T, open Open) {
	dbtest.TestDatabaseSuite(t, func() ethdb.KeyValueStore { return adapter.New(open()) })
}
