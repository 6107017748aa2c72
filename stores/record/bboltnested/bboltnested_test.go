package bboltnested_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/bboltnested"
	"github.com/assaydb/assay/stores/record/recordtest"
)

func TestNestedBuckets(t *testing.T) {
	recordtest.Run(t, recordtest.Target{
		Open: func(dir string) (recordtest.Store, error) {
			s, err := bboltnested.Open(context.Background(), filepath.Join(dir, "store"))
			return store{s}, err
		},
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed, kv.Buffered: kv.Flushed},
	})
}

// store opens the suite's collections in a file.
type store struct{ *bboltnested.Store }

func (s store) Items(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Item], error) {
	return bboltnested.Collection[recordtest.Item](ctx, s.Store, o)
}

func (s store) Fewer(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Fewer], error) {
	return bboltnested.Collection[recordtest.Fewer](ctx, s.Store, o)
}

func (s store) More(ctx context.Context, o *record.Options) (*record.Collection[recordtest.More], error) {
	return bboltnested.Collection[recordtest.More](ctx, s.Store, o)
}

func (s store) Other(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Other], error) {
	return bboltnested.Collection[recordtest.Other](ctx, s.Store, o)
}

func (s store) Alike(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Alike], error) {
	return bboltnested.Collection[recordtest.Alike](ctx, s.Store, o)
}

func (s store) Texts(ctx context.Context, o *record.Options) (*record.Collection[recordtest.Text], error) {
	return bboltnested.Collection[recordtest.Text](ctx, s.Store, o)
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	s, err := bboltnested.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	users, err := bboltnested.Collection[recordtest.Text](t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []recordtest.Text
	for i := range 2000 {
		list = append(list, recordtest.Text{Key: string(rune('a' + i)), Value: i})
	}
	if err := users.PutAll(t.Context(), kv.Synced, list); err != nil {
		t.Fatal(err)
	}
	for _, v := range list[1:] {
		if err := users.Delete(t.Context(), kv.Flushed, record.Text(v.Key)); err != nil {
			t.Fatal(err)
		}
		if v.Value == 100 {
			break
		}
	}
	before, _ := s.Size()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := s.Size()
	if err != nil || after.Allocated == 0 || after.Allocated > before.Allocated {
		t.Errorf("compacted from %d to %d bytes, %v", before.Allocated, after.Allocated, err)
	}
	if err := users.Check(t.Context()); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bboltnested.Open(ctx, path); kv.KindOf(err) != kv.Busy {
		t.Errorf("opened again: %v, want busy", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := users.Get(t.Context(), record.Text("a")); kv.KindOf(err) != kv.Closed {
		t.Errorf("get after close: %v, want closed", err)
	}
	if err := os.WriteFile(path, []byte("this is not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bboltnested.Open(t.Context(), path); kv.KindOf(err) != kv.Corrupt || kv.HintOf(err) == "" {
		t.Errorf("another file: %v, want corrupt with a hint", err)
	}
}
