package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Store is a folder of buckets. It holds nothing open: every method opens the file of its bucket,
// does its work and closes the file. Its methods may be called concurrently, by any number of
// processes; but never one within another's function, as it would wait for that one's lock.
type Store struct {
	options Options
	files   [len(kindNames)]file // by Kind
	buckets map[string]*bucket
	older   string // path of Options.Older, "" if there is none

	mu        sync.Mutex // guards incidents
	incidents []Incident
}

// New returns the store in the folder that url names, as in "bbolt:/home/ada/.local/state/tool". It
// checks its arguments and opens nothing: each call of a method does.
//
// The scheme is the engine, which the program imports; parameters are the engine's own. An engine
// that keeps nothing after closing is Unsupported; the parameters mode, wait and durability are
// Invalid, as each call decides them.
func New(url string, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	info, err := engineOf(url)
	if err != nil {
		return nil, err
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Store{options: o, buckets: map[string]*bucket{}}
	for kind := range s.files {
		if err := s.files[kind].init(s, Kind(kind), url, info); err != nil {
			return nil, err
		}
	}
	if o.Older != "" {
		s.older = filepath.Join(filepath.Dir(s.files[State].path), o.Older)
	}
	for _, b := range o.Buckets {
		s.buckets[b.Name] = &bucket{file: &s.files[b.Kind], ttl: b.TTL, max: b.Max, name: b.Name,
			prefix: kv.AppendString(nil, b.Name)}
	}
	return s, nil
}

// engineOf returns what is known of the engine that url names.
func engineOf(url string) (driver.Info, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	d, ok := driver.Lookup(scheme)
	if !ok && strings.Contains(url, ":") {
		return driver.Info{}, invalid(fmt.Errorf("this program has no engine %q", scheme), fmt.Sprintf(
			"add import _ \"github.com/assaydb/assay/engines/%skv\", or use one of: %s", scheme,
			strings.Join(driver.Names(), ", ")))
	}
	if path, err := kv.PathOf(url); err != nil {
		return driver.Info{}, err
	} else if path == "" {
		return driver.Info{}, invalid(fmt.Errorf("%q names no folder", url), "write "+scheme+":FOLDER")
	}
	_, query, _ := strings.Cut(rest, "?")
	for _, p := range strings.Split(query, "&") {
		if name, _, _ := strings.Cut(p, "="); slices.Contains([]string{"mode", "wait", "durability"}, name) {
			return driver.Info{}, invalid(fmt.Errorf("parameter %q", name),
				"leave it out of the URL; Options has Wait and Durability")
		}
	}
	info := d.Info()
	if !info.Caps.Persistent {
		return info, &kv.Error{Op: "new state", Engine: scheme, Kind: kv.Unsupported,
			Err:  errors.New("the engine keeps nothing after closing"),
			Hint: "use one that does, such as bbolt"}
	}
	return info, nil
}

// bucket is a declared bucket.
type bucket struct {
	file   *file
	name   string
	prefix []byte // of its keys in the file
	ttl    time.Duration
	max    int64
}

func (b *bucket) expired(written int64) bool {
	return b.ttl > 0 && expired(b.file.now().Sub(time.Unix(0, written)), b.ttl)
}

// sibling returns a bucket that lies in the same file.
func (b *bucket) sibling(op, name string) (*bucket, error) {
	other, err := b.file.store.bucket(op, name)
	if err == nil && other.file != b.file {
		return nil, &kv.Error{Op: op, Kind: kv.Invalid, Err: fmt.Errorf("bucket %s is kept with the %v, bucket %s with the %v", name, other.file.kind, b.name, b.file.kind),
			Hint: "they are different files: use a call for each, one after the other"}
	}
	return other, err
}

func (s *Store) bucket(op, name string) (*bucket, error) {
	if b, ok := s.buckets[name]; ok {
		return b, nil
	}
	return nil, &kv.Error{Op: op, Kind: kv.Invalid, Err: fmt.Errorf("bucket %q is not declared", name),
		Hint: "declared are " + strings.Join(slices.Sorted(maps.Keys(s.buckets)), ", ")}
}

// Get opens, returns the value of key and closes. An absent or expired key is kv.NotFound.
func (s *Store) Get(ctx context.Context, bucket string, key []byte) (value []byte, err error) {
	err = s.View(ctx, bucket, func(v *View) error {
		value, err = v.Get(key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// Put opens, sets key to value and closes.
func (s *Store) Put(ctx context.Context, bucket string, key, value []byte) error {
	return s.Update(ctx, bucket, func(tx *Tx) error { return tx.Put(key, value) })
}

// Delete opens, removes key and closes. That it is absent is no error.
func (s *Store) Delete(ctx context.Context, bucket string, key []byte) error {
	return s.Update(ctx, bucket, func(tx *Tx) error { return tx.Delete(key) })
}

// CompareAndSwap opens, sets key to new if its value is old, and closes; it is kv.Conflict if the
// value is another one. A nil old stands for a key that is absent or expired; a nil new deletes the
// key.
func (s *Store) CompareAndSwap(ctx context.Context, bucket string, key, old, new []byte) error {
	return s.Update(ctx, bucket, func(tx *Tx) error { return tx.CompareAndSwap(key, old, new) })
}

// Scan opens, returns the entries whose keys begin with prefix, in the order of the keys, and
// closes. It holds them all in memory.
func (s *Store) Scan(ctx context.Context, bucket string, prefix []byte) (entries []Entry, err error) {
	err = s.View(ctx, bucket, func(v *View) error {
		entries = nil
		for e, err := range v.Scan(prefix) {
			if err != nil {
				return err
			}
			e.Key, e.Value = bytes.Clone(e.Key), append([]byte{}, e.Value...)
			entries = append(entries, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// DeleteStale opens, deletes the entries whose keys begin with prefix and that were written before
// a time, or have expired, closes, and returns how many they were. The zero time deletes the
// expired ones alone.
func (s *Store) DeleteStale(ctx context.Context, bucket string, prefix []byte, before time.Time) (n int, err error) {
	err = s.Update(ctx, bucket, func(tx *Tx) error {
		n, err = tx.DeleteStale(prefix, before)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// View opens for reading, runs fn on the bucket of that name as it is at one moment and closes. It
// waits for a process that is writing, never for one that is reading, where the engine can: see the
// package's page. A file that does not exist has no entries.
//
// fn runs again, at last on an empty bucket, if it found the file of a cache damaged.
func (s *Store) View(ctx context.Context, name string, fn func(*View) error) error {
	return s.call(ctx, "view", name, func(b *bucket, try attempt) error { return b.file.view(ctx, b, try, fn) })
}

// Update opens for writing, runs fn in a transaction, commits and closes. If fn returns an error or
// panics nothing is changed. When it returns nil the changes are as durable as Options says, or as
// a cache is.
//
// Others wait while fn runs: do the slow work before.
//
// fn runs again, at last on an empty bucket, if it found the file of a cache damaged.
func (s *Store) Update(ctx context.Context, name string, fn func(*Tx) error) error {
	return s.call(ctx, "update", name, func(b *bucket, try attempt) error { return b.file.update(ctx, b, try, fn) })
}

// call runs once on a bucket, and where its file is in trouble again after a repair.
func (s *Store) call(ctx context.Context, op, name string, once func(b *bucket, try attempt) error) error {
	b, err := s.bucket(op, name)
	if err == nil {
		err = once(b, first)
	}
	if _, ok := err.(trouble); ok {
		return b.file.repair(ctx, func(try attempt) error { return once(b, try) })
	}
	return err
}

// Check reads everything in the files that exist, and lets the engine check them as it can. Damage
// is kv.Corrupt; the files are left as they are, those of caches included.
func (s *Store) Check(ctx context.Context) error {
	for i := range s.files {
		if err := s.files[i].check(ctx); err != nil {
			return err
		}
	}
	return nil
}
