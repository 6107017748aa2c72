// Package recordtest is the conformance suite of record collections: what every way of keeping one
// promises, as tests.
package recordtest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/record"
)

// Target is a way of keeping collections.
type Target struct {
	// Open opens the store kept in the folder dir, creating it.
	Open func(dir string) (Store, error)

	// Delivers tells what a commit of each class that may be asked for is delivered as. It is not
	// empty.
	Delivers map[kv.Durability]kv.Durability

	Codec    record.Codec
	Volatile bool // nothing outlives Close
}

// Store is an open store of collections. It opens collections of the suite's types.
type Store interface {
	Items(ctx context.Context, o *record.Options) (*record.Collection[Item], error)
	Fewer(ctx context.Context, o *record.Options) (*record.Collection[Fewer], error)
	More(ctx context.Context, o *record.Options) (*record.Collection[More], error)
	Other(ctx context.Context, o *record.Options) (*record.Collection[Other], error)
	Alike(ctx context.Context, o *record.Options) (*record.Collection[Alike], error)
	Texts(ctx context.Context, o *record.Options) (*record.Collection[Text], error)
	Riches(ctx context.Context, o *record.Options) (*record.Collection[Rich], error)
	Richers(ctx context.Context, o *record.Options) (*record.Collection[Richer], error)
	Olders(ctx context.Context, o *record.Options) (*record.Collection[Older], error)
	Newers(ctx context.Context, o *record.Options) (*record.Collection[Newer], error)
	Close() error
}

// Run runs the suite. The test that calls it must do so before anything else: Run starts the test
// binary again, with the same test selected, for processes to kill.
func Run(t *testing.T, target Target) {
	crash.Work(t, func(job task) error { return job.run(target) })
	t.Parallel() // most of the time is waiting for syncs
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.reopens && target.Volatile {
				t.Skip("this store does not outlive its closing")
			}
			c.run(&suite{T: t, target: target, class: slices.Max(target.classes())})
		})
	}
}

// A testCase has as its name the sentence that it proves.
type testCase struct {
	name    string
	run     func(s *suite)
	reopens bool // needs a store that outlives its closing
}

var cases = []testCase{
	{name: "an empty collection has nothing", run: testEmpty},
	{name: "what was put comes back unchanged", run: testRoundTrip},
	{name: "a put replaces, and of a list the last wins", run: testReplace},
	{name: "an insert refuses a second record, a replace one that is not there", run: testInsert},
	{name: "an id that was forgotten overwrites nothing", run: testForgottenID},
	{name: "an update that passes over a failure changes nothing", run: testFailure},
	{name: "an update that fails changes nothing", run: testRollback},
	{name: "bytes given and got belong to the caller", run: testOwnership},
	{name: "a span is what it says", run: testSpans},
	{name: "texts are ids in their own order", run: testTexts},
	{name: "an id of another kind is refused", run: testWrongID},
	{name: "a walk ends early when it is told to", run: testWalkEnds},
	{name: "collections in one store are kept apart", run: testNames},
	{name: "a context that has ended does nothing", run: testCanceled},
	{name: "a field is read and set alone", run: testField},
	{name: "the sum of a field is that of the records", run: testSum},
	{name: "a field that there is not is refused", run: testWrongField},
	{name: "an index follows every write", run: testIndexFollows},
	{name: "a query is what it says", run: testQuery},
	{name: "a condition is what it says, and counts and deletions agree with queries", run: testWhere},
	{name: "a unique index refuses a second record and nothing is changed", run: testUnique},
	{name: "an index is built for what is there", run: testIndexBuilt},
	{name: "an index that cannot be built leaves no trace", run: testIndexFails},
	{name: "an index is kept until it is dropped", run: testIndexDropped},
	{name: "random work agrees with a model", run: testModel},
	{name: "readers see all of an update or nothing", run: testIsolation},
	{name: "a type that differs is an error that names the fields", run: testRefuse},
	{name: "a field that was added has the default in old records", run: testExtend},
	{name: "a default stays when the collection is opened without it", run: testDefaultStays},
	{name: "a record has a default of its own", run: testDefaultOwned},
	{name: "a new field called like a stored one is refused", run: testAlike},
	{name: "what a type lacks stays through every write", run: testKeep},
	{name: "what a type lacks is dropped where that was chosen", run: testDrop},
	{name: "random work on records of all kinds of values agrees with a model", run: testRichModel},
	{name: "fields are added, dropped, renamed, made hot and cold", run: testRichEvolves},
	{name: "an index of a field that is dropped goes by its name", run: testIndexOfDroppedField},
	{name: "an index that another collection added is not passed over", run: testTwoCollections},
	{name: "a number that was chosen is not chosen again", run: testSequence},
	{name: "records outlive the store's closing", run: testReopen, reopens: true},
	{name: "records and indexes agree after the process was killed", run: testKill, reopens: true},
	{name: "hot fields, slices in indexes and sequences agree after the process was killed", run: testRichKill, reopens: true},
}

// classes returns the classes that may be asked for, the strongest first.
func (target Target) classes() []kv.Durability { return slices.Sorted(maps.Keys(target.Delivers)) }

// suite is one running case.
type suite struct {
	*testing.T
	target Target
	class  kv.Durability // the cheapest
}

// patience is how long anything may take.
const patience = time.Minute

func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// options completes o with what the target is.
func (target Target) options(o record.Options) *record.Options {
	o.Codec = target.Codec
	return &o
}

// store opens a store in a new folder.
func (s *suite) store() Store {
	s.Helper()
	store, _ := s.storeIn(s.TempDir())
	return store
}

// storeIn opens the store in dir. It is closed when the case ends, or by closeAll.
func (s *suite) storeIn(dir string) (store Store, closeAll func()) {
	s.Helper()
	store, err := s.target.Open(dir)
	s.must("open store", err)
	closed := false
	closeAll = func() {
		if !closed {
			closed = true
			if err := store.Close(); err != nil {
				s.Errorf("close: %v", err)
			}
		}
	}
	s.Cleanup(closeAll)
	return store, closeAll
}

// items opens the collection of items in a store.
func (s *suite) items(store Store, o record.Options) *record.Collection[Item] {
	s.Helper()
	o.ZeroID = true // of the edges of ids it is one
	c, err := store.Items(s.ctx(), s.target.options(o))
	s.must("open collection", err)
	return c
}

// fresh opens a collection of items in a new store.
func (s *suite) fresh(indexes ...record.Index) *record.Collection[Item] {
	s.Helper()
	return s.items(s.store(), record.Options{Indexes: indexes})
}

// fill puts the items from first up to last.
func (s *suite) fill(c *record.Collection[Item], first, last int64) {
	s.Helper()
	var list []Item
	for id := first; id <= last; id++ {
		list = append(list, item(id, 0))
	}
	s.must("put", c.PutAll(s.ctx(), s.class, list))
}

func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *suite) wantKind(what string, err error, kind kv.Kind) {
	s.Helper()
	if kv.KindOf(err) != kind || err == nil {
		s.Errorf("%s: got error %v, want %v", what, err, kind)
	}
}

// want checks that the record with the id of v is v.
func (s *suite) want(c *record.Collection[Item], v Item) {
	s.Helper()
	got, err := c.Get(s.ctx(), record.Int(v.ID))
	if err != nil || !reflect.DeepEqual(got, v) {
		s.Errorf("got  %+v, %v\nwant %+v", got, err, v)
	}
}

// all returns the records of a span.
func (s *suite) all(c *record.Collection[Item], span record.Span) (list []Item) {
	s.Helper()
	for v, err := range c.All(s.ctx(), span) {
		s.must("walk", err)
		list = append(list, v)
	}
	return list
}

func (s *suite) wantIDs(what string, list []Item, want ...int64) {
	s.Helper()
	var got []int64
	for _, v := range list {
		got = append(got, v.ID)
	}
	if !slices.Equal(got, want) {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (s *suite) find(c *record.Collection[Item], index string, values ...any) []Item {
	s.Helper()
	list, err := c.Find(s.ctx(), index, values...)
	s.must("find", err)
	return list
}

func (s *suite) check(c *record.Collection[Item]) {
	s.Helper()
	s.must("check", c.Check(s.ctx()))
}
