package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	recordstore "github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/bboltnested"
)

type users = recordstore.Collection[user]

// recordStore keeps the records, in one of the forms.
type recordStore interface {
	// create lets load fill a new collection, and opens it again, timed. load is given the weakest class of the store.
	create(ctx context.Context, load func(*users, kv.Durability) error) (*users, error)

	Describe() Description
	Size() (kv.Size, error)
	Compact(ctx context.Context) error
	Close() error
}

var (
	_ recordStore = (*kvRecords)(nil)
	_ recordStore = (*nestedRecords)(nil)
)

// newRecordStore returns what keeps the records in the form of env, of which "" is binary.
func newRecordStore(env Env) (recordStore, error) {
	s := &kvRecords{kvStore: newKVStore(env)}
	if env.Form == "" {
		return s, nil
	}
	var err error
	if s.options.Codec, err = recordstore.ParseCodec(env.Form); err == nil {
		return s, nil
	}
	if s.options.Layout, err = recordstore.ParseLayout(env.Form); err == nil && s.options.Layout != recordstore.SingleKey {
		return s, nil
	}
	forms := recordForms(env.Engine, env.Options)
	if env.Form == nestedForm && slices.Contains(forms, nestedForm) {
		return &nestedRecords{path: filepath.Join(env.Dir, "store"), durability: env.Durability}, nil
	}
	return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: fmt.Errorf("form %q", env.Form),
		Hint: "use one of " + strings.Join(forms, ", ")}
}

// kvRecords keeps records in an engine of kv.
type kvRecords struct {
	kvStore
	options recordstore.Options
}

func (s *kvRecords) create(ctx context.Context, load func(*users, kv.Durability) error) (*users, error) {
	err := s.kvStore.create(ctx, func(db *kv.DB) error {
		c, err := recordstore.Open[user](ctx, db, &s.options)
		if err != nil {
			return err
		}
		return load(c, db.Caps().Cheapest())
	})
	if err != nil {
		return nil, err
	}
	return recordstore.Open[user](ctx, s.db, &s.options)
}

// nestedRecords keeps records in bbolt, a bucket for each.
type nestedRecords struct {
	path       string
	durability kv.Durability
	store      *bboltnested.Store
	about      Description
}

func (s *nestedRecords) open(ctx context.Context) (*users, error) {
	var err error
	if s.store, err = bboltnested.Open(ctx, s.path); err != nil {
		return nil, err
	}
	return bboltnested.Collection[user](ctx, s.store, nil)
}

func (s *nestedRecords) create(ctx context.Context, load func(*users, kv.Durability) error) (*users, error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(c, kv.Buffered), s.store.Close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if c, err = s.open(ctx); err != nil {
		return nil, err
	}
	s.about = Description{Open: time.Since(start), Promise: s.store.Promise(s.durability), Settings: s.store.Settings()}
	return c, nil
}

// Describe tells what the store was when it was created.
func (s *nestedRecords) Describe() Description { return s.about }

// Size returns the space that the file takes.
func (s *nestedRecords) Size() (kv.Size, error) { return s.store.Size() }

// Compact writes the file anew.
func (s *nestedRecords) Compact(ctx context.Context) error { return s.store.Compact(ctx) }

// Close closes the file.
func (s *nestedRecords) Close() error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
