package record

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// want adds the indexes that are asked for and not there, to be built.
func (h *header) want(indexes []Index, fields []typeField) error {
	for _, x := range indexes {
		if !isName(x.Name) || len(x.Fields) == 0 {
			return invalid("open collection", fmt.Errorf("index %q of %d fields", x.Name, len(x.Fields)),
				"name it with letters, digits and underscores, and name its fields")
		}
		for _, name := range x.Fields {
			if !slices.ContainsFunc(fields, func(f typeField) bool { return f.name == name }) {
				return invalid("open collection", fmt.Errorf("index %s has the field %q, which the type lacks", x.Name, name), "use the stored name of a field")
			}
		}
		have := h.index(x.Name)
		if have == nil {
			number := 1
			for _, other := range h.Indexes {
				number = max(number, other.Number+1)
			}
			if number > math.MaxUint16 {
				return invalid("open collection", fmt.Errorf("index %s is one too many", x.Name), "drop others")
			}
			h.Indexes = append(h.Indexes, headerIndex{Number: number, Name: x.Name, Fields: x.Fields, Unique: x.Unique, Building: true})
			continue
		}
		if have.Unique != x.Unique || !slices.Equal(have.Fields, x.Fields) {
			return mismatch(fmt.Errorf("index %s is stored with fields %v and unique %v", x.Name, have.Fields, have.Unique),
				"give the new index another name, or drop the old one first")
		}
	}
	return nil
}

// buildIndexes puts the indexes of the header to use, those first that are finished.
func (c *Collection[T]) buildIndexes(ctx context.Context, o *Options) error {
	for _, h := range slices.Clone(c.plan.schema.header.Indexes) {
		x, err := newIndex(c.plan.schema, h)
		switch {
		case err != nil:
			return err
		case !h.Building:
			c.plan.indexes = append(c.plan.indexes, x)
		case c.traits.ReadOnly:
			return &kv.Error{Op: "open collection", Kind: kv.NotWritable, Err: fmt.Errorf("index %s is not built", h.Name),
				Hint: "open the store for writing once"}
		default:
			if err := c.build(ctx, x, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// build builds an index, and removes it again if that does not succeed: a failure leaves the collection as it was.
func (c *Collection[T]) build(ctx context.Context, x index, o *Options) error {
	wanted := slices.ContainsFunc(o.Indexes, func(w Index) bool { return w.Name == x.Name })
	err := c.rewrite(ctx, func(h *header) { h.index(x.Name).Builder = fmt.Sprintf("%016x", rand.Uint64()) })
	if err != nil {
		return err
	}
	if err := c.clearIndex(ctx, x); err != nil { // what a crash left
		return err
	}
	if !wanted {
		return c.finish(ctx, x.Name, false)
	}
	if err := c.fillIndex(ctx, x); err != nil {
		cleanup := context.WithoutCancel(ctx)
		if c.clearIndex(cleanup, x) == nil {
			_ = c.finish(cleanup, x.Name, false) // if not, the next opening does it
		}
		return err
	}
	x.Building = false
	if err := c.finish(ctx, x.Name, true); err != nil {
		return err
	}
	c.plan.indexes = append(c.plan.indexes, x)
	return nil
}

// part is how many entries one transaction of building and clearing touches; Badger's largest hold more.
const part = 1000

// fillIndex makes the entries of all records, some in each transaction.
func (c *Collection[T]) fillIndex(ctx context.Context, x index) error {
	var next []byte
	for done := false; !done; {
		err := c.Update(ctx, c.traits.Strongest, func(w *Writer[T]) error {
			entries, ids, err := w.entries(x, next)
			if err != nil {
				return err
			}
			if done = len(ids) < part; !done {
				next = kv.PrefixEnd(ids[len(ids)-1]) // no id begins with another
				done = next == nil
			}
			for i, key := range entries {
				if x.Unique {
					if err := w.unused(&x, key, ids[i]); err != nil {
						return err
					}
				}
				if err := w.w.SetPair(key, x.value(ids[i])); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the keys of the entries of some records, and those of the records, from a key on.
func (w *Writer[T]) entries(x index, from []byte) (keys, ids [][]byte, err error) {
	scan := w.b.Rows(kv.Range{Start: from}, w.row, func(id []byte) bool {
		if err = w.decode(&w.old, nil); err != nil {
			return false
		}
		keys = append(keys, x.appendKey(nil, unsafe.Pointer(&w.old), id))
		ids = append(ids, slices.Clone(id))
		return len(ids) < part
	})
	if err == nil {
		err = scan
	}
	return keys, ids, err
}

// unused is vacant for a record that is not in memory.
func (w *Writer[T]) unused(x *index, key, id []byte) error {
	owner, err := w.b.Pair(nil, key)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	kind := w.c.plan.idKind()
	other, _, _ := kind.cutID(owner)
	this, _, _ := kind.cutID(id)
	if err := w.read(id, &w.old, nil); err != nil {
		return err
	}
	return conflict("open collection", fmt.Errorf("unique index %s: records %v and %v both have %s", x.Name, other, this, x.values(unsafe.Pointer(&w.old))),
		"change one of them, or make the index one that is not unique")
}

// clearIndex removes the entries of an index, some in each transaction.
func (c *Collection[T]) clearIndex(ctx context.Context, x index) error {
	for {
		var keys [][]byte
		err := c.Update(ctx, c.traits.Strongest, func(w *Writer[T]) error {
			err := w.b.Pairs(kv.Prefix(x.prefix), func(key, _ []byte) bool {
				keys = append(keys, slices.Clone(key))
				return len(keys) < part
			})
			for _, key := range keys {
				if err == nil {
					err = w.w.DeletePair(key)
				}
			}
			return err
		})
		if err != nil || len(keys) < part {
			return err
		}
	}
}

// finish notes in the header that an index is built, or removes it.
func (c *Collection[T]) finish(ctx context.Context, name string, built bool) error {
	return c.rewrite(ctx, func(h *header) {
		if built {
			x := h.index(name)
			x.Building, x.Builder = false, ""
			return
		}
		h.Indexes = slices.DeleteFunc(h.Indexes, func(x headerIndex) bool { return x.Name == name })
	})
}

// rewrite changes the indexes in the header.
func (c *Collection[T]) rewrite(ctx context.Context, change func(*header)) error {
	h := c.plan.schema.header
	before := slices.Clone(h.Indexes)
	change(h)
	text := h.encode()
	err := c.Update(ctx, c.traits.Strongest, func(w *Writer[T]) error { return w.w.SetPair(headerKey, text) })
	if err != nil {
		h.Indexes = before
		return err
	}
	c.header = text
	return nil
}

// DropIndex removes an index and its entries. No other call of this collection may run at the same time. An index that
// there is not is NotFound.
func (c *Collection[T]) DropIndex(ctx context.Context, name string) error {
	i := slices.IndexFunc(c.plan.indexes, func(x index) bool { return x.Name == name })
	if i < 0 {
		return &kv.Error{Op: "drop index", Kind: kv.NotFound, Err: fmt.Errorf("index %q", name), Hint: "see Options.Indexes"}
	}
	x := c.plan.indexes[i]
	// A crash from here on leaves an index that the next opening removes.
	if err := c.rewrite(ctx, func(h *header) { h.index(name).Building = true }); err != nil {
		return err
	}
	c.plan.indexes = slices.Delete(c.plan.indexes, i, i+1)
	if err := c.clearIndex(ctx, x); err != nil {
		return err
	}
	return c.finish(ctx, name, false)
}
