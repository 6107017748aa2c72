package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/postgres"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	p, err := postgrestest.SharedPool(t.Context(), t.Name())
	postgrestest.Check(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestListensUntilItIsTold: what is said while somebody listens arrives, also after the connection
// was lost.
func TestListensUntilItIsTold(t *testing.T) {
	p := pool(t)
	heard := make(chan string, 100)
	listening, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		postgres.Listen(listening, p, "a channel", func(payload string) { heard <- payload })
		close(ended)
	}()
	for _, word := range []string{"first", "second"} {
		for said := ""; said != word; { // nobody knows when it begins to listen
			if _, err := p.Exec(t.Context(), `SELECT pg_notify('a channel', $1)`, word); err != nil {
				t.Fatal(err)
			}
			select {
			case said = <-heard:
			default:
			}
		}
		_, err := p.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN "a channel"'`)
		if err != nil {
			t.Fatal(err)
		}
	}
	end()
	<-ended
}

// TestAgain runs again what others or a lost connection have ended, and nothing else.
func TestAgain(t *testing.T) {
	p := pool(t)
	for _, c := range []struct {
		name  string
		fails func(context.Context) error
		again bool
	}{
		{"a transaction that met another", func(ctx context.Context) error {
			_, err := p.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`)
			return err
		}, true},
		{"a connection that was ended", func(ctx context.Context) error {
			_, err := p.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
			return err
		}, true},
		{"a commit that was not done", func(context.Context) error { return &kv.Error{Kind: kv.Aborted} }, true},
		{"a statement that is wrong", func(ctx context.Context) error {
			_, err := p.Exec(ctx, `SELECT nothing`)
			return err
		}, false},
		{"no row", func(context.Context) error { return pgx.ErrNoRows }, false},
		{"a commit in doubt", func(context.Context) error { return &kv.Error{Kind: kv.InDoubt} }, false},
	} {
		runs := 0
		err := postgres.Again(t.Context(), func() error {
			if runs++; runs == 3 {
				return nil
			}
			return c.fails(t.Context())
		})
		if c.again && (runs != 3 || err != nil) || !c.again && (runs != 1 || err == nil) {
			t.Errorf("%s: ran %d times, %v", c.name, runs, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := postgres.Again(ctx, func() error { cancel(); return &kv.Error{Kind: kv.Aborted} })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}
