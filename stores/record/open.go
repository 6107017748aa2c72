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
	"github.com/assaydb/assay/stores/internal/keyspace"
)

// Open opens the collection of T kept in db, creating it. It finds out how T is laid out, compares
// that with what is stored, and builds the indexes that are new. A type that cannot be stored is
// Invalid and the error names the field; one that differs from what is stored is a Conflict, unless
// [Options.Evolve] allows it.
//
// Closing db closes the collection; there is nothing else to close.
func Open[T any](ctx context.Context, db *kv.DB, opts *Options) (*Collection[T], error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	db, err := db.RequireAtomic()
	if err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	if o.Evolve > Drop {
		return nil, invalid("open collection", fmt.Errorf("Options.Evolve %d", o.Evolve),
			"use Refuse, Extend, Keep or Drop")
	}
	var defaults T
	if o.Default != nil {
		d, ok := o.Default.(*T)
		if !ok {
			return nil, invalid("open collection", fmt.Errorf("Options.Default is a %T", o.Default),
				fmt.Sprintf("give a *%v", t))
		}
		defaults = *d
	}
	leave := func() {}
	if o.Name == "" { // until db is closed, if it is opened
		if leave, err = keyspace.Enter(db, "collection of records", "fhirs", false); err != nil {
			return nil, err
		}
	}
	for pause := time.Millisecond; ; pause *= 2 {
		c := newCollection[T](namespace(db, o.Name))
		c.defaults = defaults
		if err = c.start(ctx, t, fields, &o); err == nil {
			err = c.buildIndexes(ctx, &o)
		}
		if !errors.Is(err, errChanged) || pause > 5*time.Second {
			if err != nil {
				leave()
				return nil, err
			}
			return c, nil
		}
		select { // several processes that start at once open the collection one after the other
		case <-ctx.Done():
			leave()
			return nil, err
		case <-time.After(rand.N(pause) + pause):
		}
	}
}

func newCollection[T any](db *kv.DB) *Collection[T] {
	return &Collection[T]{db: db, shared: db.Mode() == kv.Shared, readOnly: db.Mode() == kv.ReadOnly,
		strongest: db.Caps().Strongest(), common: db.Common("record", func() any { return new(common) }).(*common)}
}

// start reads the header, changes it where that is allowed and needed, and makes the plan.
func (c *Collection[T]) start(ctx context.Context, t reflect.Type, fields []typeField, o *Options) error {
	var text []byte
	var s *schema
	err := c.db.View(ctx, func(r *kv.Snapshot) (err error) {
		text, s, err = c.adopt(r, t, fields, o)
		return err
	})
	switch {
	case err != nil:
	case (bytes.Equal(text, s.header.encode()) || c.readOnly) && c.know(text):
	default:
		err = c.change(ctx, func(tx *kv.Tx) (err error) {
			if _, s, err = c.adopt(tx.Snapshot, t, fields, o); err != nil {
				return err
			}
			return c.store(tx, s.header.encode())
		})
	}
	if err != nil {
		return err
	}
	c.defaults = *new(T) // from here on those that are stored
	if err := s.loadDefaults(unsafe.Pointer(&c.defaults)); err != nil {
		return err
	}
	c.plan, err = newPlan(s, o)
	return err
}

// change runs fn, which writes the header, in a transaction.
func (c *Collection[T]) change(ctx context.Context, fn func(*kv.Tx) error) error {
	c.common.changing.Lock()
	defer c.common.changing.Unlock()
	return c.db.Update(ctx, c.strongest, fn)
}

// adopt returns the header as stored, and the schema for the type with a header that may differ
// from it.
func (c *Collection[T]) adopt(r *kv.Snapshot, t reflect.Type, fields []typeField, o *Options) (text []byte, s *schema,
	err error) {
	text, err = r.Get(headerKey)
	var h *header
	switch {
	case err == nil:
		if h, err = parseHeader(text); err == nil {
			h.unwanted(o.DropIndexes)
			err = c.compare(h, fields, o)
		}
	case isNotFound(err):
		h, err = newHeader(fields, o.Codec), nil
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
	_, err = newCodec(o.Codec, s)
	return text, s, err
}

// compare refuses another way of keeping the collection, and adopts the type.
func (c *Collection[T]) compare(h *header, fields []typeField, o *Options) error {
	if h.Codec != o.Codec.String() {
		return mismatch(fmt.Errorf("the collection's codec is %s, not %v", h.Codec, o.Codec),
			"open it with that, or copy the records to a new collection")
	}
	if err := h.adopt(fields, o.Evolve, unsafe.Pointer(&c.defaults)); err != nil {
		return err
	}
	for _, f := range fields {
		if f.id && f.name != h.ID {
			return mismatch(fmt.Errorf("the collection's id is the field %s, not %s", h.ID, f.name),
				"tag that field as the id")
		}
	}
	return nil
}
