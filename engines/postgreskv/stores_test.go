package postgreskv_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/recordtest"
)

// The suites of the stores, which know nothing of where they run.

func TestEventLog(t *testing.T) {
	target := logtest.OnKV(t, "postgres", "?"+params(t))
	target.Settle = postgrestest.Settle
	logtest.Run(t, target)
}

func TestFeed(t *testing.T) {
	target := feedtest.OnKV(t, "postgres", "?"+params(t), nil)
	target.Settle = postgrestest.Settle
	feedtest.Run(t, target)
}

func TestQueue(t *testing.T) {
	target := queuetest.OnKV(t, "postgres", "?"+params(t))
	target.Settle = postgrestest.Settle
	queuetest.Run(t, target)
}

func TestRecord(t *testing.T) {
	target := recordtest.OnKV(t, "postgres", "?"+params(t), record.Binary)
	target.Settle = postgrestest.Settle
	recordtest.Run(t, target)
}

// TestSettle: the server commits what a process had sent that was killed meanwhile, and Settle
// waits for that.
func TestSettle(t *testing.T) {
	dsn, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	ctx := t.Context()
	const dying = "ASSAY_POSTGRES_DYING" // set in the process that is killed
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if os.Getenv(dying) != "" {
		_, err := conn.Exec(ctx, "BEGIN; SELECT pg_sleep(1); INSERT INTO late VALUES (1); COMMIT")
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE late (n int)"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := conn.Exec(context.Background(), "DROP TABLE late"); err != nil {
			t.Error(err)
		}
	}()
	number := func(of string) (n int) {
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+of).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), dying+"=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for number("pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%INTO late%'") == 0 {
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if number("late") != 0 {
		t.Fatal("the commit was there before the process was gone")
	}
	if err := postgrestest.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if number("late") != 1 {
		t.Error("the server has not committed, and is done")
	}
}
