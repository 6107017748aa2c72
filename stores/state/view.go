package state

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/assaydb/assay/kv"
)

// View is a bucket at one moment. It lives as long as the function it was given to and is used by
// one goroutine at a time.
type View struct {
	*access
	b *bucket
}

// access is what the Views or Txs of one call have in common.
type access struct {
	s      *kv.Snapshot // nil of a file that does not exist yet, and after the end
	key    []byte
	damage error // the first Corrupt that was met
	ended  bool
	puts   map[*bucket]int64 // bytes put into caches that are pruned
}

func (a *access) end() { a.s, a.ended = nil, true }

// In returns the view of another bucket of the same kind, at the same moment. Buckets of another
// kind are in another file: use a call of their own.
func (v *View) In(name string) (*View, error) {
	b, err := v.b.sibling("view", name)
	if err != nil {
		return nil, err
	}
	return &View{access: v.access, b: b}, nil
}

// Get returns the value of key, which is the caller's. An absent or expired key is kv.NotFound.
func (v *View) Get(key []byte) ([]byte, error) {
	value, _, err := v.get(key)
	return value, err
}

// Has reports whether key is present and not expired.
func (v *View) Has(key []byte) (bool, error) {
	_, err := v.Get(key)
	if errors.Is(err, kv.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Written returns when key was put. An absent or expired key is kv.NotFound.
func (v *View) Written(key []byte) (time.Time, error) {
	_, written, err := v.get(key)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, written), nil
}

func (v *View) get(key []byte) (value []byte, written int64, err error) {
	if err := v.check("get", key); err != nil {
		return nil, 0, err
	}
	if v.s == nil {
		return nil, 0, kv.NotFound
	}
	full := v.full(key)
	stored, err := v.s.Get(full)
	if err == nil {
		value, written, err = parseEntry(full, stored)
	}
	if err != nil {
		return nil, 0, v.note(err)
	}
	if v.b.expired(written) {
		return nil, 0, kv.NotFound
	}
	return value, written, nil
}

// Entry is a key and its value.
type Entry struct {
	Key, Value []byte
	Written    time.Time
}

// Scan returns the entries whose keys begin with prefix, in the order of the keys, without the
// expired ones. An empty prefix is every key. Key and Value are borrowed until the next step. After
// an error, which is the last pair's, the scan ends; within an Update nothing may be written while
// a scan is running.
func (v *View) Scan(prefix []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := v.each(prefix, func(e Entry) bool {
			return v.b.expired(e.Written.UnixNano()) || yield(e, nil)
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// each calls fn for the entries whose keys begin with prefix, the expired ones included, until it
// returns false.
func (v *View) each(prefix []byte, fn func(Entry) bool) error {
	if v.ended {
		return errEnded("scan")
	}
	if v.s == nil {
		return nil
	}
	n := len(v.b.prefix)
	for k, stored := range v.s.Scan(kv.Prefix(append(bytes.Clone(v.b.prefix), prefix...))) {
		value, written, err := parseEntry(k, stored)
		if err != nil {
			return v.note(err)
		}
		if !fn(Entry{Key: k[n:], Value: value, Written: time.Unix(0, written)}) {
			return nil
		}
	}
	if err := v.s.Err(); err != nil {
		return v.note(err)
	}
	return nil
}

// full returns key as it lies in the file. It holds until the next call.
func (v *View) full(key []byte) []byte {
	v.key = append(append(v.key[:0], v.b.prefix...), key...)
	return v.key
}

// note remembers the first error that tells of damage, and returns err with the file and the way to
// go on.
func (v *View) note(err error) error {
	if !errors.Is(err, kv.Corrupt) {
		return err
	}
	err = v.b.file.damaged(err)
	if v.damage == nil {
		v.damage = err
	}
	return err
}

func (v *View) check(op string, key []byte) error {
	switch {
	case v.ended:
		return errEnded(op)
	case len(key) == 0:
		return &kv.Error{Op: op, Kind: kv.Invalid, Err: fmt.Errorf("bucket %s: empty key", v.b.name),
			Hint: "keys are at least one byte long"}
	}
	return nil
}

func errEnded(op string) error {
	return &kv.Error{Op: op, Kind: kv.Closed, Err: errors.New("the call that gave this bucket has ended"),
		Hint: "use it only inside the function it was given to"}
}
