package ethdb

import (
	"testing"

	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/dbtest"

	"github.com/assaydb/assay/foreign/internal/stores"
	"github.com/assaydb/assay/kv"
)

type opening = func(...kv.Option) (*kv.DB, kv.Durability)

func TestDatabase(t *testing.T) {
	stores.Each(t, func(t *testing.T, open opening) {
		dbtest.TestDatabaseSuite(t, func() ethdb.KeyValueStore { return New(open()) })
	})
}
