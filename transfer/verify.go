package transfer

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/assaydb/assay/kv"
)

// Comparison is what Verify found. The stores are equal if Differing is 0.
type Comparison struct {
	A         Summary      `json:"a"`
	B         Summary      `json:"b"`
	Differing int64        `json:"differing"` // keys that one store lacks, or whose values differ
	First     []Difference `json:"first"`     // some of them, in the order of their keys; see Options.Limit
}

// Difference is a key about which two stores do not agree.
type Difference struct {
	Key []byte `json:"key"`
	A   *int   `json:"a_bytes"` // length of the value in a; nil where a has no such key
	B   *int   `json:"b_bytes"` // the same of b
}

// Verify compares the pairs of two stores, one after the other in the order of their keys.
// Options.Change is applied to the pairs of a, so that a store can be compared with a copy that was
// changed; Options.Range bounds the keys of a, and those of b where there is no Change, else
// Options.Into does. A store that is damaged is Corrupt.
func Verify(ctx context.Context, a, b string, o *Options) (c Comparison, err error) {
	dbA, err := OpenExisting(ctx, a, Look)
	if err != nil {
		return c, failed("verify", a, b, err)
	}
	defer func() { err = errors.Join(err, dbA.Close()) }()
	dbB, err := OpenExisting(ctx, b, Look)
	if err != nil {
		return c, failed("verify", a, b, err)
	}
	defer func() { err = errors.Join(err, dbB.Close()) }()
	all, ctx := errgroup.WithContext(ctx)
	for _, db := range []*kv.DB{dbA, dbB} {
		all.Go(func() error { return sound(ctx, db) })
	}
	all.Go(func() (err error) {
		c, err = compare(ctx, dbA, dbB, o.or())
		return err
	})
	if err = all.Wait(); err != nil {
		return c, failed("verify", a, b, err)
	}
	return c, nil
}

func compare(ctx context.Context, a, b *kv.DB, o Options) (c Comparison, err error) {
	r := o.Range
	if o.Change != nil {
		r = o.Into
	}
	it := b.Iter(ctx, r)
	defer func() { err = errors.Join(err, it.Close()) }()
	sumA, sumB := newDigest(), newDigest()
	err = o.merge(ctx, a, it, sumA, sumB, func(d Difference, _ []byte) {
		if c.Differing++; len(c.First) < o.Limit {
			d.Key = bytes.Clone(d.Key)
			c.First = append(c.First, d)
		}
	})
	c.A, c.B = sumA.summary(), sumB.summary()
	return c, err
}

// merge walks over the pairs of a, as Range and Change have them, and beside them over those of b.
// It tells differ of each key about which they do not agree, in order, with the value that a has,
// and adds all pairs to the digests.
func (o *Options) merge(ctx context.Context, a *kv.DB, b *kv.Iterator, sumA, sumB *digest,
	differ func(d Difference, v []byte),
) error {
	next := func() bool {
		ok := b.Next()
		if ok {
			sumB.add(b.Key(), b.Value())
		}
		return ok
	}
	onlyB := func() { differ(Difference{Key: b.Key(), B: length(b.Value())}, nil) }
	said := int64(0)
	more := next()
	err := o.each(ctx, a, func(k, v []byte) error {
		sumA.add(k, v)
		if sumA.bytes-said >= batchBytes {
			said = sumA.bytes
			o.Progress(Progress{Phase: "verify", Pairs: sumA.pairs, Bytes: sumA.bytes})
		}
		for more && bytes.Compare(b.Key(), k) < 0 {
			onlyB()
			more = next()
		}
		switch {
		case !more || !bytes.Equal(b.Key(), k):
			differ(Difference{Key: k, A: length(v)}, v)
		default:
			if !bytes.Equal(b.Value(), v) {
				differ(Difference{Key: k, A: length(v), B: length(b.Value())}, v)
			}
			more = next()
		}
		return b.Err()
	})
	for ; err == nil && more; more = next() {
		onlyB()
	}
	return errors.Join(err, b.Err())
}

func length(value []byte) *int {
	n := len(value)
	return &n
}
