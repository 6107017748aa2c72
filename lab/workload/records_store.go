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
	"github.com/assaydb/assay/lab/workload/encodings"
)

// recordStore keeps the records, in one of the forms.
type recordStore interface {
	// create lets load fill a new store, and opens it again, timed. load is given the weakest class
	// of the store.
	create(ctx context.Context, load func(encodings.Users, kv.Durability) error) (encodings.Users, error)

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
	if env.Form == "" {
		env.Form = encodings.Binary
	}
	forms := recordForms(env.Engine, env.Options)
	switch {
	case !slices.Contains(forms, env.Form):
		return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid,
			Err:  fmt.Errorf("form %q", env.Form),
			Hint: "use one of " + strings.Join(forms, ", ")}
	case env.Form == nestedForm:
		return &nestedRecords{path: filepath.Join(env.Dir, "store"), durability: env.Durability}, nil
	}
	return &kvRecords{kvStore: newKVStore(env), form: env.Form}, nil
}

// kvRecords keeps records in an engine of kv.
type kvRecords struct {
	kvStore
	form string
}

func (s *kvRecords) create(ctx context.Context, load func(encodings.Users, kv.Durability) error) (encodings.Users,
	error) {
	err := s.kvStore.create(ctx, func(db *kv.DB) error {
		users, err := encodings.Over(ctx, db, s.form)
		if err != nil {
			return err
		}
		return load(users, db.Caps().Cheapest())
	})
	if err != nil {
		return nil, err
	}
	return encodings.Over(ctx, s.db, s.form)
}

// nestedRecords keeps records in bbolt, a bucket for each.
type nestedRecords struct {
	path       string
	durability kv.Durability
	store      *encodings.Nested
	about      Description
}

func (s *nestedRecords) create(ctx context.Context, load func(encodings.Users, kv.Durability) error) (encodings.Users,
	error) {
	store, err := encodings.OpenNested(s.path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(store, kv.Buffered), store.Close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if s.store, err = encodings.OpenNested(s.path); err != nil {
		return nil, err
	}
	s.about = Description{Open: time.Since(start), Promise: s.store.Promise(s.durability), Settings: s.store.Settings()}
	return s.store, nil
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
