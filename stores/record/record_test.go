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
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/recordtest"
)

func TestMem(t *testing.T)  { recordtest.Run(t, target(t, "mem", record.Binary, record.SingleKey)) }
func TestBolt(t *testing.T) { recordtest.Run(t, target(t, "bbolt", record.Binary, record.SingleKey)) }
func TestPebble(t *testing.T) {
	recordtest.Run(t, target(t, "pebble", record.Binary, record.SingleKey))
}
func TestLevelDB(t *testing.T) {
	recordtest.Run(t, target(t, "leveldb", record.Binary, record.SingleKey))
}
func TestBadger(t *testing.T) {
	recordtest.Run(t, target(t, "badger", record.Binary, record.SingleKey))
}
func TestBunt(t *testing.T) { recordtest.Run(t, target(t, "bunt", record.Binary, record.SingleKey)) }
func TestSQLite(t *testing.T) {
	recordtest.Run(t, target(t, "sqlite", record.Binary, record.SingleKey))
}

// The layouts of many pairs depend on what an engine's scans do.
func TestMultiKVMem(t *testing.T) { recordtest.Run(t, target(t, "mem", record.Binary, record.MultiKV)) }
func TestMultiKVBolt(t *testing.T) {
	recordtest.Run(t, target(t, "bbolt", record.Binary, record.MultiKV))
}
func TestMultiKVPebble(t *testing.T) {
	recordtest.Run(t, target(t, "pebble", record.Binary, record.MultiKV))
}
func TestMultiKVSQLite(t *testing.T) {
	recordtest.Run(t, target(t, "sqlite", record.Binary, record.MultiKV))
}
func TestMultiNumbers(t *testing.T) {
	recordtest.Run(t, target(t, "mem", record.Binary, record.MultiNumbers))
}

// The codecs do not see the engine.
func TestNames(t *testing.T) {
	recordtest.Run(t, target(t, "mem", record.BinaryNames, record.SingleKey))
}
func TestJSON(t *testing.T) { recordtest.Run(t, target(t, "mem", record.JSON, record.SingleKey)) }
func TestGob(t *testing.T)  { recordtest.Run(t, target(t, "mem", record.Gob, record.SingleKey)) }
func TestGobShared(t *testing.T) {
	recordtest.Run(t, target(t, "bbolt", record.GobShared, record.SingleKey))
}
func TestMessagePack(t *testing.T) {
	recordtest.Run(t, target(t, "mem", record.MessagePack, record.SingleKey))
}
func TestCBOR(t *testing.T) { recordtest.Run(t, target(t, "mem", record.CBOR, record.SingleKey)) }
func TestProtobuf(t *testing.T) {
	recordtest.Run(t, target(t, "mem", record.Protobuf, record.SingleKey))
}

// target describes a way of keeping collections in an engine, asking an open store what it promises.
func target(t *testing.T, engine string, c record.Codec, l record.Layout) recordtest.Target {
	if testing.Short() && engine != "mem" && (c != record.Binary || l != record.SingleKey) {
		t.Skip("the same runs in memory")
	}
	db, err := kv.Open(t.Context(), engine+":"+filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	target := recordtest.Target{
		Open: func(dir string) (recordtest.Store, error) {
			db, err := kv.Open(context.Background(), engine+":"+filepath.Join(dir, "store"))
			return store{db}, err
		},
		Delivers: map[kv.Durability]kv.Durability{},
		Codec:    c,
		Layout:   l,
		Volatile: !db.Caps().Persistent,
	}
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered} {
		if p := db.Caps().Promise(d); p.Supported {
			target.Delivers[d] = p.Class
		}
	}
	return target
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
