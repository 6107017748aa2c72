package sqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/stores/internal/frame"
)

// A place is the file of a log, and the driver that opened it.
type place struct{ path, driver string }

// paths holds the place of each log that was opened.
var paths sync.Map

// join runs fn in a transaction of a connection of the program's own.
func join(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) (err error) {
	opened, _ := paths.Load(log)
	at := opened.(place)
	level := map[bool]string{true: "FULL", false: "NORMAL"}[d == kv.Synced]
	db, err := sql.Open(at.driver, (&url.URL{Scheme: "file", Path: at.path,
		RawQuery: "_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=synchronous(" + level + ")"}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	events, err := sqllog.In(tx, log)
	if err == nil {
		err = fn(events)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func TestConformance(t *testing.T) { logtest.Run(t, target("sqlite")) }

// target is a log in tables that a driver of database/sql opens.
func target(driver string) logtest.Target {
	return logtest.Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
			path := filepath.Join(dir, "a file?#%.db")
			log, err := sqllog.Open(context.Background(), path,
				&sqllog.Options{Options: o, Driver: driver, Wait: frame.Patience})
			if err != nil {
				return nil, nil, err
			}
			paths.Store(log, place{path, driver})
			return log, log.Close, nil
		},
		Join: join,
		Lose: func(dir string, position uint64) error {
			db, err := sql.Open(driver, (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a file?#%.db")}).String())
			if err != nil {
				return err
			}
			_, err = db.Exec(`DELETE FROM events WHERE position > ?`, position)
			if err == nil {
				_, err = db.Exec(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'`, position)
			}
			return errors.Join(err, db.Close())
		},
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
			kv.Buffered: kv.Flushed},
		Processes: true,
	}
}
