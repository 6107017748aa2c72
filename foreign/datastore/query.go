package datastore

import (
	"bytes"
	"errors"
	"path"

	"github.com/ipfs/go-datastore/query"

	"github.com/assaydb/assay/kv"
)

// results runs q on r: the prefix and an order by key as a walk, the rest by the helpers of
// go-datastore. end is called once the walk has ended, and may be called again.
func results(r *kv.Snapshot, q query.Query, end func() error) query.Results {
	walk, rest := plan(q)
	it := r.Iter(walk)
	stop := func() error { return errors.Join(it.Close(), end()) }
	failed := false
	next := func() (query.Result, bool) {
		switch {
		case failed:
			return query.Result{}, false
		case it.Next():
			return query.Result{Entry: entry(it, q)}, true
		case it.Err() == nil:
			return query.Result{}, false
		}
		failed = true
		return query.Result{Error: errors.Join(it.Err(), stop())}, true
	}
	return query.NaiveQueryApply(rest, query.ResultsFromIterator(q, query.Iterator{Next: next, Close: stop}))
}

// plan returns the walk for q, and what of q is left to do with its pairs.
func plan(q query.Query) (walk kv.Range, rest query.Query) {
	prefix := path.Clean("/" + q.Prefix)
	if prefix != "/" {
		prefix += "/"
	}
	walk, rest = kv.Prefix([]byte(prefix)), q
	walk.KeysOnly, rest.Prefix = q.KeysOnly && !q.ReturnsSizes, ""
	if len(q.Orders) > 0 {
		switch q.Orders[0].(type) {
		case query.OrderByKey, *query.OrderByKey:
			rest.Orders = nil // no two keys are equal
		case query.OrderByKeyDescending, *query.OrderByKeyDescending:
			walk.Reverse, rest.Orders = true, nil
		}
	}
	return walk, rest
}

func entry(it *kv.Iterator, q query.Query) query.Entry {
	e := query.Entry{Key: string(it.Key()), Size: len(it.Value())}
	switch {
	case !q.KeysOnly:
		e.Value = bytes.Clone(it.Value())
	case !q.ReturnsSizes:
		e.Size = -1
	}
	return e
}
