package record_test

import (
	"context"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/recordtest"
)

func TestMem(t *testing.T)     { recordtest.Run(t, target(t, "mem", record.Binary)) }
func TestBolt(t *testing.T)    { recordtest.Run(t, target(t, "bbolt", record.Binary)) }
func TestPebble(t *testing.T)  { recordtest.Run(t, target(t, "pebble", record.Binary)) }
func TestLevelDB(t *testing.T) { recordtest.Run(t, target(t, "leveldb", record.Binary)) }
func TestBadger(t *testing.T)  { recordtest.Run(t, target(t, "badger", record.Binary)) }
func TestBunt(t *testing.T)    { recordtest.Run(t, target(t, "bunt", record.Binary)) }
func TestSQLite(t *testing.T)  { recordtest.Run(t, target(t, "sqlite", record.Binary)) }

// The codec does not see the engine.
func TestJSON(t *testing.T)       { recordtest.Run(t, target(t, "mem", record.JSON)) }
func TestJSONSQLite(t *testing.T) { recordtest.Run(t, target(t, "sqlite", record.JSON)) }

// target describes a way of keeping collections in an engine, asking an open store what it
// promises.
func target(t *testing.T, engine string, c record.Codec) recordtest.Target {
	if testing.Short() && engine != "mem" && c != record.Binary {
		t.Skip("the same runs in memory")
	}
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe"))
	return recordtest.Target{
		Open: func(dir string) (recordtest.Store, error) {
			db, err := kv.Open(context.Background(), engine+":"+filepath.Join(dir, "store"))
			return store{db}, err
		},
		Delivers: probe.Delivers,
		Codec:    c,
		Volatile: probe.Volatile,
	}
}

// store opens the suite's collections in a kv store.
type store struct{ *kv.DB }

func (s store) Items(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Item], error) {
	return record.Open[recordtest.Item](ctx, s.DB, o)
}

func (s store) Fewer(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Fewer], error) {
	return record.Open[recordtest.Fewer](ctx, s.DB, o)
}

func (s store) More(ctx context.Context, o *record.Options) (*record.Collection[recordtest.More], error) {
	return record.Open[recordtest.More](ctx, s.DB, o)
}

func (s store) Other(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Other], error) {
	return record.Open[recordtest.Other](ctx, s.DB, o)
}

func (s store) Alike(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Alike], error) {
	return record.Open[recordtest.Alike](ctx, s.DB, o)
}

func (s store) Texts(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Text], error) {
	return record.Open[recordtest.Text](ctx, s.DB, o)
}

func (s store) Riches(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Rich], error) {
	return record.Open[recordtest.Rich](ctx, s.DB, o)
}

func (s store) Richers(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Richer], error) {
	return record.Open[recordtest.Richer](ctx, s.DB, o)
}

func (s store) Olders(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Older], error) {
	return record.Open[recordtest.Older](ctx, s.DB, o)
}

func (s store) Newers(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Newer], error) {
	return record.Open[recordtest.Newer](ctx, s.DB, o)
}
