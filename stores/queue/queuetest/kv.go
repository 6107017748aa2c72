package queuetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/queue"
)

// OnKV describes the queues kept in an engine, asking an open store what it promises.
func OnKV(t *testing.T, engine, params string) Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe")+params)
	return Target{
		Open: func(dir string, o queue.Options) (*queue.Store, func() error, error) {
			return OpenKV(engine+":"+filepath.Join(dir, "queue")+params, o)
		},
		Delivers:  probe.Delivers,
		Volatile:  probe.Volatile,
		Processes: probe.Processes,
		Brief:     probe.Brief,
	}
}

// OpenKV opens the queues in the store that url names. closeAll closes both.
func OpenKV(url string, o queue.Options) (store *queue.Store, closeAll func() error, err error) {
	return frame.Open(url, func(_ context.Context, db *kv.DB) (*queue.Store, error) { return queue.New(db, &o) })
}
