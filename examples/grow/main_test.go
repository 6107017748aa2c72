package main

import (
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
)

// TestNoOrderIsLost moves a few orders while it takes others. ASSAY_GROW_ORDERS=1000000 moves as
// many.
func TestNoOrderIsLost(t *testing.T) {
	orders := 3000
	if n, err := strconv.Atoi(os.Getenv("ASSAY_GROW_ORDERS")); err == nil {
		orders = n
	}
	s := postgrestest.Start(t)
	out := t.Output()
	if err := run(t.Context(), t.TempDir(), "postgres:orders?dsn="+url.QueryEscape(s.DSN()), orders, out); err != nil {
		t.Fatal(err)
	}
}
