package main

import (
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
)

func TestMain(m *testing.M) {
	etcdtest.Main()
	os.Exit(m.Run())
}

// TestNoOrderIsLost moves a few orders while it takes others, to a server and to three nodes that
// it starts. ASSAY_GROW_ORDERS=1000000 moves as many.
func TestNoOrderIsLost(t *testing.T) {
	orders := 3000
	if n, err := strconv.Atoi(os.Getenv("ASSAY_GROW_ORDERS")); err == nil {
		orders = n
	}
	for _, to := range []struct {
		engine string
		params func(t *testing.T) string
	}{
		{"postgres", func(t *testing.T) string { return "dsn=" + url.QueryEscape(postgrestest.Start(t).DSN()) }},
		{"etcd", func(t *testing.T) string { return etcdtest.Start(t, 3).Params() }},
	} {
		t.Run(to.engine, func(t *testing.T) {
			if err := run(t.Context(), t.TempDir(), to.engine+":orders?"+to.params(t), orders, t.Output()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
