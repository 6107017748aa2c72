package postgreskv_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	_ "github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
)

// ended are called when all tests have ended.
var ended []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, fn := range ended {
		fn()
	}
	os.Exit(code)
}

// shared starts the server that the suites use, each in tables of its own. The processes that they
// start use it, too.
var shared = sync.OnceValues(func() (dsn string, err error) {
	if dsn := os.Getenv(postgrestest.Variable); dsn != "" {
		return dsn, nil
	}
	s, err := postgrestest.New()
	if err != nil {
		return "", err
	}
	ended = append(ended, s.Remove)
	if err := errors.Join(s.Make(""), s.Launch("max_connections=500")); err != nil {
		return "", err
	}
	return s.DSN(), os.Setenv(postgrestest.Variable, s.DSN())
})

// params returns the parameters of a URL for the server.
func params(t testing.TB) string {
	t.Helper()
	dsn, err := shared()
	postgrestest.Check(t, err)
	return paramsOf(dsn)
}

func paramsOf(dsn string) string { return "dsn=" + url.QueryEscape(dsn) }

// checkpoint lets the server write all that it has in its caches.
func checkpoint(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return errors.Join(err, conn.Close(ctx))
}
