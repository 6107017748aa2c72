package record

import (
	"bytes"
	"context"
	"errors"
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
				return invalid("open collection", fmt.Errorf("index %s has the field %q, which the type lacks",
					x.Name, name), "use the stored name of a field")
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
			h.Indexes = append(h.Indexes, headerIndex{Number: number, Name: x.Name, Fields: x.Fields,
				Unique: x.Unique, Building: true})
			continue
		}
		if have.Unique != x.Unique || !slices.Equal(have.Fields, x.Fields) {
			return mismatch(fmt.Errorf("index %s is stored with fields %v and unique %v", x.Name, have.Fields,
				have.Unique),
				"give the new index another name, or drop the old one first")
		}
	}
	return nil
}

// unwanted marks indexes to be removed.
func (h *header) unwanted(names []string) {
	for i := range h.Indexes {
		if slices.Contains(names, h.Indexes[i].Name) {
			h.Indexes[i].Building = true
		}
	}
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
		case c.readOnly:
			return &kv.Error{Op: "open collection", Kind: kv.NotWritable, Err: fmt.Errorf("index %s is not built",
				h.Name),
				Hint: "open the store for writing once"}
		default:
			if err := c.build(ctx, x, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// build builds an index, and removes it again if that does not succeed: a failure leaves the
// collection as it was.
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

// part is how many entries one transaction of building and clearing touches; Badger's largest hold
// more.
const part = 1000

// fillIndex makes the entries of all records, some in each transaction.
func (c *Collection[T]) fillIndex(ctx context.Context, x index) error {
	var from, next []byte
	for done := false; !done; from = next {
		err := c.Update(ctx, c.strongest, func(w *Writer[T]) error {
			entries, ids, err := w.gather(x, from)
			if err != nil {
				return err
			}
			if done = len(ids) == 0; !done {
				next = kv.PrefixEnd(ids[len(ids)-1]) // no id begins with another
				done = next == nil
			}
			for i, id := range ids {
				for _, key := range entries[i] {
					if x.Unique {
						if err := w.unused(&x, key, id); err != nil {
							return err
						}
					}
					if err := w.tx.Put(key, x.value(id)); err != nil {
						return err
					}
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

// gather returns the keys of the entries of some records, and those of the records, from a key on.
func (w *Writer[T]) gather(x index, from []byte) (entries [][][]byte, ids [][]byte, err error) {
	n := 0
	scan := w.scan(kv.Range{Start: from}, func(id []byte) bool {
		if err = w.decode(&w.old, nil); err != nil {
			return false
		}
		entries = append(entries, x.keys(nil, unsafe.Pointer(&w.old), id))
		ids = append(ids, slices.Clone(id))
		n += 1 + len(entries[len(entries)-1])
		return n < part
	})
	return entries, ids, errors.Join(err, scan)
}

// unused is vacant for a record that is not in memory.
func (w *Writer[T]) unused(x *index, key, id []byte) error {
	owner, err := w.s.Get(key)
	if isNotFound(err) || err == nil && bytes.Equal(owner, id) {
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
	return conflict("open collection", fmt.Errorf("unique index %s: records %v and %v both have %s", x.Name, other,
		this, x.values(unsafe.Pointer(&w.old))),
		"change one of them, or make the index one that is not unique")
}

// clearIndex removes the entries of an index, some in each transaction.
func (c *Collection[T]) clearIndex(ctx context.Context, x index) error {
	for {
		var keys [][]byte
		err := c.Update(ctx, c.strongest, func(w *Writer[T]) error {
			keys = keys[:0]
			for key := range w.s.Keys(kv.Prefix(x.prefix)) {
				if keys = append(keys, slices.Clone(key)); len(keys) == part {
					break
				}
			}
			err := w.s.Err()
			for _, key := range keys {
				if err == nil {
					err = w.tx.Delete(key)
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
	err := c.change(ctx, func(tx *kv.Tx) error {
		if err := c.changed(tx.Snapshot); err != nil {
			return err
		}
		return c.store(tx, text)
	})
	if err != nil {
		h.Indexes = before
	}
	return err
}

// DropIndex removes an index and its entries. No other call of this collection may run at the same
// time. An index that there is not is NotFound.
func (c *Collection[T]) DropIndex(ctx context.Context, name string) error {
	i := slices.IndexFunc(c.plan.indexes, func(x index) bool { return x.Name == name })
	if i < 0 {
		return &kv.Error{Op: "drop index", Kind: kv.NotFound, Err: fmt.Errorf("index %q", name),
			Hint: "see Options.Indexes"}
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
