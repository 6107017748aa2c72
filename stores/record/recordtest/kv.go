package recordtest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/record"
)

// OnKV describes a way of keeping collections in an engine, asking an open store what it
// promises.
func OnKV(t *testing.T, engine, params string, c record.Codec) Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe")+params)
	return Target{
		Open: func(dir string) (Store, error) {
			db, err := kv.Open(context.Background(), engine+":"+filepath.Join(dir, "store")+params, kv.WithWait(frame.Patience))
			return onKV{db}, err
		},
		Delivers: probe.Delivers,
		Codec:    c,
		Volatile: probe.Volatile,
	}
}

// onKV opens the suite's collections in a kv store.
type onKV struct{ *kv.DB }

func (s onKV) Items(ctx context.Context, o *record.Options) (*record.Collection[Item], error) {
	return record.Open[Item](ctx, s.DB, o)
}

func (s onKV) Fewer(ctx context.Context, o *record.Options) (*record.Collection[Fewer], error) {
	return record.Open[Fewer](ctx, s.DB, o)
}

func (s onKV) More(ctx context.Context, o *record.Options) (*record.Collection[More], error) {
	return record.Open[More](ctx, s.DB, o)
}

func (s onKV) Other(ctx context.Context, o *record.Options) (*record.Collection[Other], error) {
	return record.Open[Other](ctx, s.DB, o)
}

func (s onKV) Alike(ctx context.Context, o *record.Options) (*record.Collection[Alike], error) {
	return record.Open[Alike](ctx, s.DB, o)
}

func (s onKV) Texts(ctx context.Context, o *record.Options) (*record.Collection[Text], error) {
	return record.Open[Text](ctx, s.DB, o)
}

func (s onKV) Riches(ctx context.Context, o *record.Options) (*record.Collection[Rich], error) {
	return record.Open[Rich](ctx, s.DB, o)
}

func (s onKV) Richers(ctx context.Context, o *record.Options) (*record.Collection[Richer], error) {
	return record.Open[Richer](ctx, s.DB, o)
}

func (s onKV) Olders(ctx context.Context, o *record.Options) (*record.Collection[Older], error) {
	return record.Open[Older](ctx, s.DB, o)
}

func (s onKV) Newers(ctx context.Context, o *record.Options) (*record.Collection[Newer], error) {
	return record.Open[Newer](ctx, s.DB, o)
}
