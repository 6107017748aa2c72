// Package recordtest is the conformance suite of record collections: what every way of keeping one
// promises, as tests.
package recordtest

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/internal/frame"
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

	// Settle waits until nothing is under way any more that killed processes had begun. Nil where
	// that ends with them.
	Settle func(ctx context.Context) error
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
	kept := frame.Target{Delivers: target.Delivers, Volatile: target.Volatile, Settle: target.Settle}
	frame.Run(t, kept, cases, func(s frame.Suite) *suite { return &suite{s, target} })
}

var cases = []frame.Case[*suite]{
	{Name: "an empty collection has nothing", Run: testEmpty},
	{Name: "what was put comes back unchanged", Run: testRoundTrip},
	{Name: "a put replaces, and of a list the last wins", Run: testReplace},
	{Name: "an insert refuses a second record, a replace one that is not there", Run: testInsert},
	{Name: "an id that was forgotten overwrites nothing", Run: testForgottenID},
	{Name: "an update that passes over a failure changes nothing", Run: testFailure},
	{Name: "an update that fails changes nothing", Run: testRollback},
	{Name: "bytes given and got belong to the caller", Run: testOwnership},
	{Name: "a span is what it says", Run: testSpans},
	{Name: "texts are ids in their own order", Run: testTexts},
	{Name: "an id of another kind is refused", Run: testWrongID},
	{Name: "a walk ends early when it is told to", Run: testWalkEnds},
	{Name: "collections in one store are kept apart", Run: testNames},
	{Name: "a context that has ended does nothing", Run: testCanceled},
	{Name: "a field is read and set alone", Run: testField},
	{Name: "the sum of a field is that of the records", Run: testSum},
	{Name: "a field that there is not is refused", Run: testWrongField},
	{Name: "an index follows every write", Run: testIndexFollows},
	{Name: "a query is what it says", Run: testQuery},
	{Name: "a condition is what it says, and counts and deletions agree with queries", Run: testWhere},
	{Name: "a unique index refuses a second record and nothing is changed", Run: testUnique},
	{Name: "an index is built for what is there", Run: testIndexBuilt},
	{Name: "an index that cannot be built leaves no trace", Run: testIndexFails},
	{Name: "an index is kept until it is dropped", Run: testIndexDropped},
	{Name: "random work agrees with a model", Run: testModel},
	{Name: "readers see all of an update or nothing", Run: testIsolation},
	{Name: "a type that differs is an error that names the fields", Run: testRefuse},
	{Name: "a field that was added has the default in old records", Run: testExtend},
	{Name: "a default stays when the collection is opened without it", Run: testDefaultStays},
	{Name: "a record has a default of its own", Run: testDefaultOwned},
	{Name: "a new field called like a stored one is refused", Run: testAlike},
	{Name: "what a type lacks stays through every write", Run: testKeep},
	{Name: "what a type lacks is dropped where that was chosen", Run: testDrop},
	{Name: "random work on records of all kinds of values agrees with a model", Run: testRichModel},
	{Name: "fields are added, dropped, renamed, made hot and cold", Run: testRichEvolves},
	{Name: "an index of a field that is dropped goes by its name", Run: testIndexOfDroppedField},
	{Name: "an index that another collection added is not passed over", Run: testTwoCollections},
	{Name: "a number that was chosen is not chosen again", Run: testSequence},
	{Name: "records outlive the store's closing", Run: testReopen, Reopens: true},
	{Name: "records and indexes agree after the process was killed", Run: testKill, Reopens: true},
	{Name: "hot fields, slices in indexes and sequences agree after the process was killed", Run: testRichKill,
		Reopens: true},
}

// suite is one running case.
type suite struct {
	frame.Suite
	target Target
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
	s.Must("open store", err)
	return store, s.Closing(store.Close)
}

// items opens the collection of items in a store.
func (s *suite) items(store Store, o record.Options) *record.Collection[Item] {
	s.Helper()
	o.ZeroID = true // of the edges of ids it is one
	c, err := store.Items(s.Ctx(), s.target.options(o))
	s.Must("open collection", err)
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
	s.Must("put", c.PutAll(s.Ctx(), s.Class, list))
}

// want checks that the record with the id of v is v.
func (s *suite) want(c *record.Collection[Item], v Item) {
	s.Helper()
	got, err := c.Get(s.Ctx(), record.Int(v.ID))
	if err != nil || !reflect.DeepEqual(got, v) {
		s.Errorf("got  %+v, %v\nwant %+v", got, err, v)
	}
}

// all returns the records of a span.
func (s *suite) all(c *record.Collection[Item], span record.Span) (list []Item) {
	s.Helper()
	for v, err := range c.All(s.Ctx(), span) {
		s.Must("walk", err)
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
	list, err := c.Find(s.Ctx(), index, values...)
	s.Must("find", err)
	return list
}

func (s *suite) check(c *record.Collection[Item]) {
	s.Helper()
	s.Must("check", c.Check(s.Ctx()))
}
