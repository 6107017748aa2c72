package sqlqueue_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

func TestConformance(t *testing.T) {
	queuetest.Run(t, queuetest.Target{
		Open: func(dir string, o queue.Options) (*queue.Store, func() error, error) {
			store, err := sqlqueue.Open(context.Background(), filepath.Join(dir, "a file?#%.db"), &sqlqueue.Options{Options: o})
			if err != nil {
				return nil, nil, err
			}
			return store, store.Close, nil
		},
		Delivers:  map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed, kv.Buffered: kv.Flushed},
		Processes: true,
	})
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		path string
		opts sqlqueue.Options
		hint string
	}{
		{"an unknown pragma", "q.db", sqlqueue.Options{Pragmas: map[string]string{"synchronous": "OFF"}}, "wal_autocheckpoint"},
		{"a pragma that is more than a value", "q.db", sqlqueue.Options{Pragmas: map[string]string{"cache_size": "1); DROP TABLE jobs"}}, "word"},
		{"no path", "", sqlqueue.Options{}, "path"},
		{"memory", ":memory:", sqlqueue.Options{}, "path"},
		{"a negative number of readers", "q.db", sqlqueue.Options{Readers: -1}, "positive"},
		{"a negative poll", "q.db", sqlqueue.Options{Options: queue.Options{Poll: -1}}, "millisecond"},
	} {
		path := c.path
		if path == "q.db" {
			path = filepath.Join(t.TempDir(), path)
		}
		_, err := sqlqueue.Open(t.Context(), path, &c.opts)
		if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), c.hint) {
			t.Errorf("%s: got %v (hint %q), want Invalid and a hint with %q", c.name, err, kv.HintOf(err), c.hint)
		}
	}
}
