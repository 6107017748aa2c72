// Package servers runs the foreign suites on servers, which the tests start: PostgreSQL, and three
// nodes of etcd.
package servers

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/foreign/internal/suites"

	_ "github.com/assaydb/assay/engines/etcdkv"
	_ "github.com/assaydb/assay/engines/postgreskv"
)

func TestMain(m *testing.M) {
	etcdtest.Main()
	postgrestest.Main(m)
}

var all = []struct {
	name string
	run  func(*testing.T, suites.Open)
}{
	{"datastore", suites.Datastore},
	{"datastore within one transaction", suites.DatastoreWithinOneTransaction},
	{"datastore's features", suites.DatastoreFeatures},
	{"upsidedown", suites.Upsidedown},
	{"upsidedown: a batch beside an open reader", suites.UpsidedownBatchBesideAnOpenReader},
	{"upsidedown: merging into what is there", suites.UpsidedownMergeIntoWhatIsThere},
	{"ethdb", suites.Ethdb},
}

// run runs all suites, each store called by a number.
func run(t *testing.T, engine, params string) {
	var stores atomic.Int64
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && engine == "etcd" && s.name == "datastore" {
				t.Skip("nodes agree on each of its puts: without -short, or within one transaction")
			}
			s.run(t, suites.At(t, func() string { return fmt.Sprintf("%s:%d?%s", engine, stores.Add(1), params) }))
		})
	}
}

func TestPostgres(t *testing.T) {
	dsn, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	run(t, "postgres", "dsn="+url.QueryEscape(dsn))
}

// A batch of go-datastore's suite has 5 MiB.
func TestEtcd(t *testing.T) {
	run(t, "etcd", etcdtest.StartWith(t, 3, etcdtest.Options{MaxRequest: 16 << 20, Unsynced: true}).Params())
}
