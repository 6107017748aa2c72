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

// paths holds in which file each log is that was opened.
var paths sync.Map

// join runs fn in a transaction of a connection of the program's own.
func join(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) (err error) {
	path, _ := paths.Load(log)
	level := map[bool]string{true: "FULL", false: "NORMAL"}[d == kv.Synced]
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path.(string),
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

func TestConformance(t *testing.T) {
	logtest.Run(t, logtest.Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
			path := filepath.Join(dir, "a file?#%.db")
			log, err := sqllog.Open(context.Background(), path, &sqllog.Options{Options: o, Wait: frame.Patience})
			if err != nil {
				return nil, nil, err
			}
			paths.Store(log, path)
			return log, log.Close, nil
		},
		Join: join,
		Lose: func(dir string, position uint64) error {
			db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a file?#%.db")}).String())
			if err != nil {
				return err
			}
			_, err = db.Exec(`DELETE FROM events WHERE position > ?1; UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'events'`, position)
			return errors.Join(err, db.Close())
		},
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
			kv.Buffered: kv.Flushed},
		Processes: true,
	})
}
