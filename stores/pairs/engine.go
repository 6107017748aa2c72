package pairs

import (
	"context"
	"net/url"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// withPath returns the URL of a path.
func withPath(scheme, path string) string {
	return scheme + ":" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}

// engineForm keeps a store in a key-value store.
type engineForm struct {
	kind   *kind
	o      options
	opened *kv.DB
	db     *kv.DB // the namespace in it
}

func (f *engineForm) begin(ctx context.Context, write bool) (_ state, err error) {
	s := &engineState{f: f}
	if !write {
		s.snapshot, err = f.db.Snapshot(ctx)
		return s, err
	}
	if s.tx, err = f.db.Begin(ctx, f.db.Caps().Strongest()); err == nil {
		s.snapshot = s.tx.Snapshot
	}
	return s, err
}

func (f *engineForm) check(ctx context.Context) error { return f.opened.Check(ctx) }

func (f *engineForm) others(ctx context.Context) (some bool, err error) {
	err = f.opened.View(ctx, func(s *kv.Snapshot) error {
		for range s.Keys(kv.Range{}) {
			some = true
			break
		}
		return nil
	})
	return some, err
}

func (f *engineForm) close() error { return f.opened.Close() }

// engineState is a snapshot, or a transaction.
type engineState struct {
	f        *engineForm
	snapshot *kv.Snapshot
	tx       *kv.Tx   // nil of a snapshot
	to       restorer // nil before the first pair
}

func (s *engineState) dump(emit func(k, v []byte) error) error {
	return s.f.kind.dumpKV(s.snapshot, emit)
}

func (s *engineState) restore(k, v []byte) (err error) {
	if s.to == nil {
		if s.to, err = s.f.kind.restoreKV(s.tx, &s.f.o); err != nil {
			return err
		}
	}
	return s.to.Put(k, v)
}

func (s *engineState) commit() error {
	if s.to != nil {
		if err := s.to.Flush(); err != nil {
			return driver.NotDone(err)
		}
	}
	tx := s.tx
	s.tx, s.snapshot = nil, nil
	return tx.Commit()
}

func (s *engineState) close() error {
	switch {
	case s.tx != nil:
		return s.tx.Rollback()
	case s.snapshot != nil:
		return s.snapshot.Close()
	}
	return nil
}
