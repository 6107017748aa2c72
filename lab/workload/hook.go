package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
)

// hook is a command-line tool that other programs call for every little thing: each run opens its store, does one
// thing and closes it. Operations with "shared" in their name keep one handle open instead, and those with "processes"
// really start a process each time.
var hook = Workload{
	Name:    "hook",
	Summary: "a short-lived command opens the store, works and closes it",
	Params:  hookParams,
	Ops: []Op{
		{Name: "open_close", Summary: "open and close", Core: true,
			New: hookWork((*hookRunner).nothing)},
		{Name: "put", Summary: "open, put one key, close", Commits: true, Core: true,
			New: hookWork((*hookRunner).put)},
		{Name: "get", Summary: "open, get one key, close", Core: true,
			New: hookWork((*hookRunner).get)},
		{Name: "put_get", Summary: "open, put one key, get it, close", Commits: true, Core: true,
			New: hookWork((*hookRunner).putGet)},
		{Name: "scan20", Summary: "open, scan the 20 keys of a prefix, close", Core: true,
			New: hookWork((*hookRunner).scan)},
		{Name: "get_shared_14", Summary: "14 goroutines get keys through one open handle", Core: true, Workers: 14,
			New: sharedRead(14, (*hookReader).get)},
		{Name: "scan20_shared", Summary: "scan the 20 keys of a prefix through an open handle",
			New: sharedRead(1, (*hookReader).scan)},
		{Name: "session", Summary: "80 gets and 20 puts in random order, each with an open and a close", Commits: true,
			Items: sessionLength, New: newSessionRunner},
		{Name: "delete_stale", Summary: "open, delete the 10 old ones of the 20 keys of a prefix, close", Commits: true,
			Items: groupSize / 2, New: newStaleRunner},
		{Name: "processes_1", Summary: "a process opens, does one get or put, closes; 5 % are killed", Commits: true,
			Workers: 1, New: newProcessRunner},
		{Name: "processes_4", Summary: "the same, 4 processes at a time", Commits: true,
			Workers: 4, New: newProcessRunner},
		{Name: "processes_14", Summary: "the same, 14 processes at a time", Commits: true,
			Workers: 14, New: newProcessRunner},
	},
}

var hookParams = []Param{
	{Name: "keys", Default: "100", Usage: "keys in the store: 10, 100, 1k, 100k, 1M"},
	{Name: "value", Default: "128", Usage: "bytes of a value"},
}

// groupSize is how many keys share a prefix.
const groupSize = 20

// hookKeySize is the length of a key in bytes.
const hookKeySize = 16

// hookStore is a loaded store, and what it should hold.
type hookStore struct {
	kvStore
	values   values
	versions []uint64   // by the number of the key; 0 is absent
	rand     *rand.Rand // for the inputs; what they are depends on how many were drawn, not on the slices
	sample   *rand.Rand // for what is compared after a slice
}

func newHookStore(env Env) (hookStore, error) {
	p := env.params(hookParams)
	keys := p.count("keys", 1, 100e6)
	size := p.count("value", minValue, 1<<20)
	if p.err != nil {
		return hookStore{}, p.err
	}
	return hookStore{
		kvStore:  newKVStore(env),
		values:   values{seed: env.Seed, size: size},
		versions: make([]uint64, keys),
		rand:     rand.New(rand.NewPCG(env.Seed, 1)),
		sample:   rand.New(rand.NewPCG(env.Seed, 2)),
	}, nil
}

// Setup loads version 1 of every key.
func (s *hookStore) Setup(ctx context.Context) error {
	var key, value []byte
	return s.create(ctx, func(db *kv.DB) error {
		if s.closed && !db.Caps().Persistent {
			return &kv.Error{Op: "workload", Engine: s.env.Engine, Kind: kv.Unsupported,
				Err: errors.New("the store does not outlive a close")}
		}
		return s.fill(ctx, db, len(s.versions), func(i int, b *kv.Batch) {
			s.versions[i] = 1
			key = appendHookKey(key[:0], i)
			value = s.values.append(value[:0], uint64(i), 1)
			b.Put(key, value)
		})
	})
}

// appendHookKey appends key number i: the number of its group, which is the prefix, and its own.
func appendHookKey(dst []byte, i int) []byte {
	return kv.AppendUint64(kv.AppendUint64(dst, uint64(i/groupSize)), uint64(i))
}

// drawKey draws the number of a key.
func (s *hookStore) drawKey() int { return s.rand.IntN(len(s.versions)) }

// bounds returns the numbers [first, end) of the keys of group g; the last group may be a short one.
func (s *hookStore) bounds(g int) (first, end int) {
	return g * groupSize, min((g+1)*groupSize, len(s.versions))
}

// checkPair returns the version of v; k and v must be key number i and its value.
func (s *hookStore) checkPair(k, v []byte, i int) (version uint64, err error) {
	if n, ok := kv.Uint64(k); !ok || len(k) != hookKeySize || n != uint64(i) {
		return 0, fmt.Errorf("scan: key %x, want key %d", k, i)
	}
	return s.versions[i], s.values.check(v, uint64(i), s.versions[i])
}

// allKeys is up to which number of keys the whole store is compared after a slice. Of a larger one the keys that the
// slice was about are, and sampleKeys others.
const (
	allKeys    = 10_000
	sampleKeys = 100
)

// verify returns an error unless the store holds what was written last. touched are the keys that the slice was about.
func (s *hookStore) verify(ctx context.Context, touched []int) error {
	return s.with(ctx, func(db *kv.DB) error {
		return s.compare(ctx, db, touched, func(i int, version uint64) error {
			if want := s.versions[i]; version != want {
				return fmt.Errorf("key %d: version %d, want %d (0 is absent)", i, version, want)
			}
			return nil
		})
	})
}

// accept is called for a key with the version that the store holds, 0 if it is absent.
type accept func(i int, version uint64) error

// compare calls accept for every key of a small store, and for the touched keys and a sample of a large one.
func (s *hookStore) compare(ctx context.Context, db *kv.DB, touched []int, accept accept) error {
	return db.View(ctx, func(snap *kv.Snapshot) error {
		if len(s.versions) <= allKeys {
			return s.compareAll(snap, accept)
		}
		for range sampleKeys {
			touched = append(touched, s.sample.IntN(len(s.versions)))
		}
		slices.Sort(touched)
		return s.compareSome(snap, slices.Compact(touched), accept)
	})
}

func (s *hookStore) compareAll(snap *kv.Snapshot, accept accept) error {
	next := 0
	for k, v := range snap.Scan(kv.Range{}) {
		n, ok := kv.Uint64(k)
		if !ok || len(k) != hookKeySize || n < uint64(next) || n >= uint64(len(s.versions)) {
			return fmt.Errorf("a key that was never written: %x", k)
		}
		for ; next < int(n); next++ {
			if err := accept(next, 0); err != nil {
				return err
			}
		}
		version, err := s.values.version(v, n)
		if err == nil {
			err = accept(next, version)
		}
		if err != nil {
			return err
		}
		next++
	}
	if err := snap.Err(); err != nil {
		return err
	}
	for ; next < len(s.versions); next++ {
		if err := accept(next, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *hookStore) compareSome(snap *kv.Snapshot, keys []int, accept accept) error {
	var key, value []byte
	for _, i := range keys {
		key = appendHookKey(key[:0], i)
		var version uint64
		var err error
		switch value, err = snap.Append(value[:0], key); {
		case err == nil:
			version, err = s.values.version(value, uint64(i))
		case errors.Is(err, kv.NotFound):
			err = nil
		}
		if err == nil {
			err = accept(i, version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
