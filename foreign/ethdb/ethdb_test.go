package ethdb

import (
	"testing"

	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/dbtest"

	"github.com/assaydb/assay/foreign/internal/stores"
)

func TestDatabase(t *testing.T) {
	stores.Each(t, func(t *testing.T, open stores.Open) {
		dbtest.TestDatabaseSuite(t, func() ethdb.KeyValueStore { return New(open()) })
	})
}
