package postgreskv_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

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

// checkpoint lets the server write all that it has in its caches.
func checkpoint(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return errors.Join(err, conn.Close(ctx))
}
