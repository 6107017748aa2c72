package feedtest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/frame"
)

// OnKV describes the feed kept in an engine, asking an open store what it promises.
func OnKV(t *testing.T, engine, params string, o *feed.Options) Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe")+params)
	return Target{
		Open: func(dir string) (*feed.Feed, func() error, error) {
			return OpenKV(engine+":"+filepath.Join(dir, "feed")+params, o)
		},
		Delivers:  probe.Delivers,
		Volatile:  probe.Volatile,
		Processes: probe.Processes,
		Brief:     probe.Brief || o != nil && engine != "mem",
		Largest:   probe.MaxValue / 2, // a block has a head
	}
}

// OpenKV opens the feed in the store that url names. closeAll closes both.
func OpenKV(url string, o *feed.Options) (f *feed.Feed, closeAll func() error, err error) {
	db, err := kv.Open(context.Background(), url, kv.WithWait(frame.Patience))
	if err != nil {
		return nil, nil, err
	}
	f, err = feed.Open(context.Background(), db, o)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return f, func() error { return errors.Join(f.Close(), db.Close()) }, nil
}
