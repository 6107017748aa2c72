// Package statetest is the conformance suite of package state: what a store promises on an engine,
// as tests.
package statetest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/state"
)

// Target is an engine under test.
type Target struct {
	// URL returns the URL of the store in the folder dir.
	URL func(dir string) string

	// Readers: calls that read do not wait for each other.
	Readers bool

	// Past: calls that read do not wait for one that writes; they see what was before.
	Past bool

	// Damage: each kind is one file, which the suite damages. What an engine that keeps a folder
	// makes of damage is for its own tests.
	Damage bool

	// SQLite: the engine opens every SQLite file, and puts the log of an older one into it.
	SQLite bool

	// Slow: opening takes milliseconds, so that the suite does what it does less often.
	Slow bool
}

// times returns n, or less for an engine that is slow or where there is little time.
func (target Target) times(n int) int {
	if target.Slow {
		n /= 2
	}
	if testing.Short() {
		n /= 2
	}
	return max(n, 2)
}

// Run runs the suite. The test that calls it must do so before anything else: Run starts the test
// binary again, with the same test selected, for processes that work at the same time and are
// killed.
func Run(t *testing.T, target Target) {
	runChild(t, target)
	t.Parallel() // much of the time is waiting
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.damages && !target.Damage {
				t.Skip("the files of this engine are not damaged here")
			}
			if target.Slow && testing.Short() && (!c.crowds || c.again) {
				t.Skip("this engine is slow: without -short")
			}
			s := &suite{Suite: frame.Suite{T: t}, target: target, dir: t.TempDir()}
			s.clock.set(time.Unix(1_700_000_000, 0))
			c.run(s)
		})
	}
}

// A testCase has as its name the sentence that it proves.
type testCase struct {
	name    string
	run     func(s *suite)
	damages bool // files
	crowds  bool // starts processes: what an engine does differently from others
	again   bool // starts many of them, or kills them again and again
}

var cases = []testCase{
	{name: "what was put comes back unchanged", run: testRoundTrip},
	{name: "buckets with similar names are kept apart, of every kind", run: testBucketsApart},
	{name: "a store that was never written has no entries, and reading makes no file", run: testNothingThere},
	{name: "a scan gives the entries of a prefix in order", run: testScan},
	{name: "an entry of a cache is not found once it is older than the TTL", run: testExpiry},
	{name: "stale entries are deleted, and no others", run: testDeleteStale},
	{name: "a cache never has more than its bound, and loses what was written first", run: testBound},
	{name: "expired entries of a cache do not stay in its file", run: testPruneExpired},
	{name: "values of a type come back, and are changed by one process after another", run: testTyped},
	{name: "a swap happens only if the value is the expected one", run: testCompareAndSwap},
	{name: "of concurrent swaps none is lost", run: testCompareAndSwapRace},
	{name: "an update is there as a whole or not at all", run: testUpdate},
	{name: "an update changes several buckets of one kind", run: testIn},
	{name: "bytes given and got belong to the caller", run: testOwnership},
	{name: "wrong arguments are refused and nothing is changed", run: testArguments},
	{name: "a call whose context has ended does nothing", run: testCanceled},
	{name: "a view or transaction is over when its call is", run: testEnded},
	{name: "folder and files are the owner's alone", run: testModes},
	{name: "secrets that others may read are closed to them, and that is reported", run: testTightened},

	{name: "a damaged cache is set aside, reported and rebuilt", run: testDamagedCache, damages: true},
	{name: "a damaged state file is an error, never a wrong value", run: testDamagedState, damages: true},
	{name: "a cut file is damaged, even an empty one", run: testCut, damages: true},
	{name: "of processes that find a cache damaged one sets it aside", run: testDamagedCacheAtOnce, damages: true,
		crowds: true},

	{name: "an SQLite file is migrated, whatever it holds, and kept", run: testMigration},
	{name: "an SQLite file that cannot be migrated is left as it was", run: testMigrationFails},
	{name: "one SQLite file is migrated to several kinds, and kept or removed by choice",
		run: testMigrationOfSeveralKinds},
	{name: "a migration that was killed between its files goes on", run: testMigrationHalfDone},
	{name: "a secret that was not moved yet is an error", run: testSecretsNotMoved},
	{name: "an older program that goes on writing loses nothing that it was acknowledged",
		run: testMigrationBesideOlder},
	{name: "of processes that find an SQLite file one migrates it", run: testMigrationAtOnce, crowds: true},
	{name: "a migration that was killed is begun again", run: testMigrationKilled, crowds: true, again: true},

	{name: "a call waits for a lock as long as it should, and not longer", run: testBusy, crowds: true},
	{name: "readers do not wait for readers, where the engine can", run: testReaders, crowds: true},
	{name: "processes that start at once create one store", run: testCreateAtOnce, crowds: true},
	{name: "many processes at once, some killed, lose no acknowledged write", run: testProcesses, crowds: true,
		again: true},
}

// suite is one running case.
type suite struct {
	frame.Suite
	target Target
	dir    string
	clock  clock
}

// patience is how long anything may take; only a hang lasts as long.
const patience = frame.Patience

// buckets are those of most cases.
var buckets = []state.Bucket{
	{Name: "a"}, {Name: "b"},
	{Name: "cache", Kind: state.Cache, TTL: time.Hour}, {Name: "kept", Kind: state.Cache},
	{Name: "secret", Kind: state.Secret},
}

// oneOfEach are buckets of the three kinds.
var oneOfEach = []string{"a", "cache", "secret"}

// options returns what most cases open with: commits survive the death of the process, waiting ends
// only with a hang.
func (target Target) options() state.Options {
	return state.Options{Buckets: buckets, Durability: kv.Flushed, Wait: patience, MigrationWait: patience}
}

// store returns the store in the case's folder. change may change its options.
func (s *suite) store(change ...func(*state.Options)) *state.Store {
	s.Helper()
	o := s.target.options()
	o.Now = s.clock.now
	for _, c := range change {
		c(&o)
	}
	store, err := state.New(s.target.URL(s.dir), &o)
	if err != nil {
		s.Fatalf("new: %v", err)
	}
	return store
}

func (s *suite) put(store *state.Store, bucket, key, value string) {
	s.Helper()
	s.Must("put "+key, store.Put(s.Ctx(), bucket, []byte(key), []byte(value)))
}

// wantGet checks the value of a key.
func (s *suite) wantGet(store *state.Store, bucket, key, want string) {
	s.Helper()
	got, err := store.Get(s.Ctx(), bucket, []byte(key))
	if err != nil || got == nil || !bytes.Equal(got, []byte(want)) {
		s.Errorf("get %s %q: got %q, %v, want %q", bucket, key, clip(got), err, clip([]byte(want)))
	}
}

// wantNone checks that a key is absent.
func (s *suite) wantNone(store *state.Store, bucket, key string) {
	s.Helper()
	if got, err := store.Get(s.Ctx(), bucket, []byte(key)); !errors.Is(err, kv.NotFound) || got != nil {
		s.Errorf("get %s %q: got %q, %v, want not found", bucket, key, clip(got), err)
	}
}

// wantKeys checks the keys below a prefix, in order.
func (s *suite) wantKeys(store *state.Store, bucket, prefix string, want ...string) {
	s.Helper()
	entries, err := store.Scan(s.Ctx(), bucket, []byte(prefix))
	s.Must("scan", err)
	if len(entries) != len(want) {
		s.Errorf("scan %s %q: got %d entries, want %q", bucket, prefix, len(entries), want)
		return
	}
	for i, e := range entries {
		if string(e.Key) != want[i] {
			s.Errorf("scan %s %q: key %d is %q, want %q", bucket, prefix, i, e.Key, want[i])
		}
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 60)] }
