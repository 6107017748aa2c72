package feedtest

import (
	"context"
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
	return frame.Open(url, func(ctx context.Context, db *kv.DB) (*feed.Feed, error) { return feed.Open(ctx, db, o) })
}
