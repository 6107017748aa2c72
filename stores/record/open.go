package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Open opens the collection of T kept in db, creating it. It finds out how T is laid out, compares that with what is
// stored, and builds the indexes that are new. A type that cannot be stored is Invalid and the error names the field;
// one that differs from what is stored is a Conflict, unless [Options.Evolve] allows it.
//
// Closing db closes the collection; there is nothing else to close.
func Open[T any](ctx context.Context, db *kv.DB, opts *Options) (*Collection[T], error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if int(o.Layout) >= len(layoutNames) {
		return nil, invalid("open collection", fmt.Errorf("layout %v", o.Layout), "use SingleKey, MultiKV or MultiNumbers")
	}
	db, err := db.RequireAtomic()
	if err != nil {
		return nil, err
	}
	return OpenBackend[T](ctx, newKVBackend(db, o.Name, o.Layout), &o)
}

// OpenBackend opens a collection over a backend. Programs call [Open], or that of package bboltnested.
func OpenBackend[T any](ctx context.Context, b Backend, opts *Options) (*Collection[T], error) {
	o := *opts
	t := reflect.TypeFor[T]()
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	traits := b.Traits()
	if err := o.check(traits); err != nil {
		return nil, err
	}
	var defaults T
	if o.Default != nil {
		d, ok := o.Default.(*T)
		if !ok {
			return nil, invalid("open collection", fmt.Errorf("Options.Default is a %T", o.Default), fmt.Sprintf("give a *%v", t))
		}
		defaults = *d
	}
	for pause := time.Millisecond; ; pause *= 2 {
		c := &Collection[T]{backend: b, traits: traits, defaults: defaults}
		if err = c.start(ctx, t, fields, &o); err == nil {
			err = c.buildIndexes(ctx, &o)
		}
		if !errors.Is(err, errChanged) || pause > 5*time.Second {
			if err != nil {
				return nil, err
			}
			return c, nil
		}
		select { // several processes that start at once open the collection one after the other
		case <-ctx.Done():
			return nil, err
		case <-time.After(rand.N(pause) + pause):
		}
	}
}

func (o *Options) check(t Traits) error {
	if t.ByField && o.Codec != Binary {
		return invalid("open collection", fmt.Errorf("codec %v in the layout %s", o.Codec, t.Layout), "a pair for each field needs no codec: leave it out")
	}
	if o.Evolve > Drop {
		return invalid("open collection", fmt.Errorf("Options.Evolve %d", o.Evolve), "use Refuse, Extend, Keep or Drop")
	}
	return nil
}

var headerKey = []byte{'h'}

// start reads the header, changes it where that is allowed and needed, and makes the plan.
func (c *Collection[T]) start(ctx context.Context, t reflect.Type, fields []typeField, o *Options) error {
	var text []byte
	var s *schema
	err := c.backend.View(ctx, func(r BackendReader) (err error) {
		text, s, err = c.adopt(r, t, fields, o)
		return err
	})
	if err == nil && !bytes.Equal(text, s.header.encode()) && !c.traits.ReadOnly {
		err = c.backend.Update(ctx, c.traits.Strongest, func(w BackendWriter) (err error) {
			if _, s, err = c.adopt(w, t, fields, o); err != nil {
				return err
			}
			return w.SetPair(headerKey, s.header.encode())
		})
	}
	if err != nil {
		return err
	}
	c.header = s.header.encode()
	c.defaults = *new(T) // from here on those that are stored
	if err := s.loadDefaults(fields, unsafe.Pointer(&c.defaults)); err != nil {
		return err
	}
	if c.plan, err = newPlan(s, o, c.traits.ByField); err != nil {
		return err
	}
	c.backend.SetColumns(c.columnNames(), c.plan.idKind().length)
	return nil
}

// adopt returns the header as stored, and the schema for the type with a header that may differ from it.
func (c *Collection[T]) adopt(r BackendReader, t reflect.Type, fields []typeField, o *Options) (text []byte, s *schema, err error) {
	text, err = r.Pair(nil, headerKey)
	var h *header
	switch {
	case err == nil:
		if h, err = parseHeader(text); err == nil {
			err = c.compare(h, fields, o)
		}
	case errors.Is(err, kv.NotFound):
		h, err = newHeader(fields, o.Codec, c.traits.Layout), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := h.want(o.Indexes, fields); err != nil {
		return nil, nil, err
	}
	s = newSchema(t, fields, h)
	for _, x := range h.Indexes { // before anything is changed
		if _, err := newIndex(s, x); err != nil {
			return nil, nil, err
		}
	}
	if !c.traits.ByField {
		_, err = newCodec(o.Codec, s) // adds the definitions of GobShared
	}
	return text, s, err
}

// newHeader returns the header of a new collection.
func newHeader(fields []typeField, codec Codec, layout string) *header {
	h := &header{Format: headerFormat, Codec: codec.String(), Layout: layout, Versions: [][]int{{}}}
	for i, f := range fields {
		h.Fields = append(h.Fields, headerField{Number: i + 1, Name: f.name, Kind: kinds[f.kind].name})
		h.Versions[0] = append(h.Versions[0], i+1)
		if f.id {
			h.ID = f.name
		}
	}
	return h
}

// compare refuses another way of keeping the collection, and adopts the type.
func (c *Collection[T]) compare(h *header, fields []typeField, o *Options) error {
	for _, one := range []struct{ what, stored, asked string }{
		{"codec", h.Codec, o.Codec.String()}, {"layout", h.Layout, c.traits.Layout},
	} {
		if one.stored != one.asked {
			return mismatch(fmt.Errorf("the collection's %s is %s, not %s", one.what, one.stored, one.asked),
				"open it with that, or copy the records to a new collection")
		}
	}
	for _, f := range fields {
		if f.id && f.name != h.ID {
			return mismatch(fmt.Errorf("the collection's id is the field %s, not %s", h.ID, f.name), "tag that field as the id")
		}
	}
	return h.adopt(fields, o.Evolve, unsafe.Pointer(&c.defaults))
}

func (c *Collection[T]) columnNames() [][]byte {
	if !c.traits.ByField {
		return nil
	}
	names := make([][]byte, len(c.plan.columns))
	for i, s := range c.plan.columns {
		names[i] = []byte(s.name)
		if c.traits.Layout == MultiNumbers.String() {
			names[i] = columnNumber(s.number)
		}
	}
	return names
}

// changed returns the Conflict of a collection that another process opened with another type or index in the meantime.
func (c *Collection[T]) changed(r BackendReader) error {
	text, err := r.Pair(nil, headerKey)
	if err != nil || bytes.Equal(text, c.header) {
		return err
	}
	return conflict("use collection", errChanged, "open it again")
}

var errChanged = errors.New("another process changed the collection's type or indexes")
