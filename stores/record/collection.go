package record

import (
	"context"
	"errors"
	"iter"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Collection is an open collection of records of type T. Its methods may be called concurrently;
// each is a transaction of its own. View and Update do several things in one.
type Collection[T any] struct {
	db        *kv.DB
	shared    bool // other processes may write too
	readOnly  bool
	strongest kv.Durability // that commits can have
	common    *common
	known     *string // what common.header was when c was opened
	plan      *plan
	header    []byte // as stored
	defaults  T
}

// View runs fn on a snapshot that was fixed before fn began.
func (c *Collection[T]) View(ctx context.Context, fn func(*Reader[T]) error) error {
	return c.db.View(ctx, func(s *kv.Snapshot) error { return c.explain(s, fn(c.reader(s))) })
}

// Update runs fn on a transaction and commits it with at least the durability d. If fn returns an
// error nothing is changed, nor if it passes over an error of w other than a Conflict or NotFound.
// There is one writer at a time; fn must not call methods of the collection that write. Where the
// store's Caps say MayAbort it may run several times: a record that it inserts with a number that
// Insert is to choose must begin with 0 each time.
func (c *Collection[T]) Update(ctx context.Context, d kv.Durability, fn func(*Writer[T]) error) error {
	return c.db.Update(ctx, d, func(tx *kv.Tx) error {
		var failed error
		w, err := c.writer(tx, func(err error) { failed = errors.Join(failed, err) })
		if err != nil {
			return err
		}
		if err := fn(w); err != nil {
			return err
		}
		return failed
	})
}

// In returns a Writer that is part of tx, a transaction of the store that the collection is kept
// in, whatever its namespace: one transaction may change several collections, and other keys. It
// ends with tx. After an error of a method that writes, tx commits nothing, unless it is a Conflict
// or NotFound: those are answers, and change nothing.
func (c *Collection[T]) In(tx *kv.Tx) (*Writer[T], error) {
	joined, err := c.db.Join(tx)
	if err != nil {
		return nil, err
	}
	return c.writer(joined, joined.Fail)
}

// Get returns the record with an id. An absent one is NotFound.
func (c *Collection[T]) Get(ctx context.Context, id ID) (T, error) {
	var v T
	err := c.Read(ctx, id, &v)
	return v, err
}

// Read is Get into memory of the caller. After an error into is undefined.
func (c *Collection[T]) Read(ctx context.Context, id ID, into *T) error {
	return c.View(ctx, func(r *Reader[T]) error { return r.Read(id, into) })
}

// Put stores v under its id, whether or not there was a record before. A unique index in which
// another record has the same values is a Conflict. An id that is 0 or "" is Invalid, unless
// [Options.ZeroID] is set.
func (c *Collection[T]) Put(ctx context.Context, d kv.Durability, v *T) error {
	return c.PutAll(ctx, d, unsafe.Slice(v, 1))
}

// Insert stores v if there is no record with its id; one that there is is a Conflict, and a
// [Duplicate]. A number that is 0 is set to the next one: see [Writer.Insert].
func (c *Collection[T]) Insert(ctx context.Context, d kv.Durability, v *T) error {
	m := memory{rec: unsafe.Pointer(v)}
	chosen := !c.plan.forgotten(m)
	err := c.Update(ctx, d, func(w *Writer[T]) error {
		if !chosen {
			c.plan.forget(m) // what a run that was Aborted has set
		}
		return w.Insert(v)
	})
	if err != nil && !chosen {
		c.plan.forget(m)
	}
	return err
}

// Replace stores v in the place of the record with its id. That there is none is NotFound.
func (c *Collection[T]) Replace(ctx context.Context, d kv.Durability, v *T) error {
	return c.Update(ctx, d, func(w *Writer[T]) error { return w.Replace(v) })
}

// PutAll stores all of list in one transaction. Later ones replace earlier ones of the same id.
func (c *Collection[T]) PutAll(ctx context.Context, d kv.Durability, list []T) error {
	if !c.blind() {
		return c.Update(ctx, d, func(w *Writer[T]) error {
			for i := range list {
				if err := w.Put(&list[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	c.common.changing.RLock() // until the commit, which must not come after a change of the indexes
	defer c.common.changing.RUnlock()
	if err := c.changed(nil); err != nil {
		return err
	}
	var b batch
	e := encoder[T]{c: c}
	for i := range list {
		if err := e.put(&b, &list[i]); err != nil {
			return err
		}
	}
	return c.db.Write(ctx, d, &b.Batch)
}

// Delete removes the record with an id. That it is absent is no error.
func (c *Collection[T]) Delete(ctx context.Context, d kv.Durability, id ID) error {
	return c.Update(ctx, d, func(w *Writer[T]) error { return w.Delete(id) })
}

// All returns the records of a span in the order of their ids, as of one moment. After an error the
// walk ends. The loop runs within a View: it must not write to the store. To change what is found,
// collect the ids first.
func (c *Collection[T]) All(ctx context.Context, s Span) iter.Seq2[T, error] {
	return c.walk(ctx, func(r *Reader[T]) iter.Seq2[T, error] { return r.All(s) })
}

// Query returns the records that q describes in the order of its index, as of one moment. It is
// like All otherwise.
func (c *Collection[T]) Query(ctx context.Context, q Query) iter.Seq2[T, error] {
	return c.walk(ctx, func(r *Reader[T]) iter.Seq2[T, error] { return r.Query(q) })
}

// Find returns the records whose fields in an index equal values, or begin with them if there are
// fewer.
func (c *Collection[T]) Find(ctx context.Context, index string, values ...any) (list []T, err error) {
	for v, err := range c.Query(ctx, Query{Index: index, Equal: values}) {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Count returns how many records q describes; the zero Query is all of them. Without conditions no
// record is read.
func (c *Collection[T]) Count(ctx context.Context, q Query) (n int, err error) {
	err = c.View(ctx, func(r *Reader[T]) error {
		n, err = r.Count(q)
		return err
	})
	return n, err
}

// DeleteWhere removes the records that q describes in one transaction and returns how many they
// were.
func (c *Collection[T]) DeleteWhere(ctx context.Context, d kv.Durability, q Query) (n int, err error) {
	err = c.Update(ctx, d, func(w *Writer[T]) error {
		n, err = w.DeleteWhere(q)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Page returns the records that q describes, at most q.Limit, and where the next page begins:
// [Query.After] of the same query, or nil after the last page. What is written in the meantime
// moves no record from one page to another, unless its own fields in the index change.
func (c *Collection[T]) Page(ctx context.Context, q Query) (list []T, next []byte, err error) {
	err = c.View(ctx, func(r *Reader[T]) error {
		list, next, err = r.Page(q)
		return err
	})
	return list, next, err
}

// Check reads all records, hot fields and entries of indexes and compares them. A record that
// cannot be decoded, what belongs to none, and an index that does not agree with the records are
// Corrupt.
func (c *Collection[T]) Check(ctx context.Context) error {
	return c.View(ctx, func(r *Reader[T]) error { return r.check() })
}

// walk runs a walk of a Reader within a View.
func (c *Collection[T]) walk(ctx context.Context, fn func(*Reader[T]) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ended := false
		err := c.View(ctx, func(r *Reader[T]) error {
			for v, err := range fn(r) {
				if err != nil {
					return err
				}
				if !yield(v, nil) {
					ended = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !ended {
			var none T
			yield(none, err)
		}
	}
}

// blind reports whether a put needs to read nothing.
func (c *Collection[T]) blind() bool { return !c.shared && !c.plan.carries() }

// explain returns a better error where a record could not be read because the type was changed in
// the meantime.
func (c *Collection[T]) explain(s *kv.Snapshot, err error) error {
	if err != nil && errors.Is(err, kv.Corrupt) {
		if changed := c.changed(s); changed != nil {
			return changed
		}
	}
	return err
}
