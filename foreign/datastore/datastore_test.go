package datastore_test

import (
	"testing"

	ds "github.com/ipfs/go-datastore"

	"github.com/assaydb/assay/foreign/datastore"
	"github.com/assaydb/assay/foreign/internal/stores"
	"github.com/assaydb/assay/foreign/internal/suites"
)

// What a Datastore is, beyond what its name says.
var (
	_ ds.Batching            = (*datastore.Datastore)(nil)
	_ ds.CheckedDatastore    = (*datastore.Datastore)(nil)
	_ ds.GCDatastore         = (*datastore.Datastore)(nil)
	_ ds.PersistentDatastore = (*datastore.Datastore)(nil)
	_ ds.TxnDatastore        = (*datastore.Datastore)(nil)
)

func TestAll(t *testing.T)                     { stores.Each(t, suites.Datastore) }
func TestAllWithinOneTransaction(t *testing.T) { stores.Each(t, suites.DatastoreWithinOneTransaction) }
func TestFeatures(t *testing.T)                { stores.Each(t, suites.DatastoreFeatures) }
