package sqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

func TestConformance(t *testing.T) {
	logtest.Run(t, logtest.Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
			log, err := sqllog.Open(context.Background(), filepath.Join(dir, "a file?#%.db"), &sqllog.Options{Options: o})
			if err != nil {
				return nil, nil, err
			}
			return log, log.Close, nil
		},
		Lose: func(dir string, position uint64) error {
			db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a file?#%.db")}).String())
			if err != nil {
				return err
			}
			_, err = db.Exec(`DELETE FROM events WHERE position > ?1; UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'events'`, position)
			return errors.Join(err, db.Close())
		},
		Delivers:  map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed, kv.Buffered: kv.Flushed},
		Processes: true,
	})
}
