package logtest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/frame"
)

// OnKV describes the log kept in an engine, asking an open store what it promises.
func OnKV(t *testing.T, engine, params string) Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe")+params)
	return Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
			return OpenKV(engine+":"+filepath.Join(dir, "log")+params, o)
		},
		Join: joinKV,
		Lose: func(dir string, position uint64) error {
			return lose(engine+":"+filepath.Join(dir, "log")+params, position)
		},
		Delivers:  probe.Delivers,
		Volatile:  probe.Volatile,
		Processes: probe.Processes,
		Brief:     probe.Brief,
	}
}

// stores holds in which store each log is that was opened.
var stores sync.Map

func joinKV(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error {
	db, _ := stores.Load(log)
	return db.(*kv.DB).Update(ctx, d, func(tx *kv.Tx) error {
		events, err := log.In(tx)
		if err != nil {
			return err
		}
		return fn(events)
	})
}

// OpenKV opens the log in the store that url names. closeAll closes both.
func OpenKV(url string, o eventlog.Options) (log *eventlog.Log, closeAll func() error, err error) {
	log, closeBoth, err := frame.Open(url, func(ctx context.Context, db *kv.DB) (*eventlog.Log, error) {
		log, err := eventlog.Open(ctx, db, &o)
		if err == nil {
			stores.Store(log, db)
		}
		return log, err
	})
	if err != nil {
		return nil, nil, err
	}
	return log, func() error {
		stores.Delete(log)
		return closeBoth()
	}, nil
}

// lose deletes the events above position, each after the entry of its stream, if the log has one
// stream called s.
func lose(url string, position uint64) error {
	ctx := context.Background()
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	events := kv.Range{Start: kv.AppendUint64([]byte{'e'}, position+1), End: []byte{'f'}}
	entries := kv.Range{Start: kv.AppendUint64(kv.AppendString([]byte{'s'}, "s"), position+1), End: []byte{'t'}}
	err = db.Update(ctx, db.Caps().Cheapest(), func(tx *kv.Tx) error {
		return errors.Join(tx.DeleteRange(events), tx.DeleteRange(entries))
	})
	return errors.Join(err, db.Close())
}
