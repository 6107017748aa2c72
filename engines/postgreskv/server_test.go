package postgreskv_test

import (
	"net/url"
	"testing"

	_ "github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// params returns the parameters of a URL for the server.
func params(t testing.TB) string {
	t.Helper()
	dsn, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	return paramsOf(dsn)
}

func paramsOf(dsn string) string { return "dsn=" + url.QueryEscape(dsn) }
