package record

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// Backend is what keeps the rows and pairs of one collection. Programs use [Collection]; a backend holds only what is
// particular to how records lie in the store: Collection encodes, keeps indexes and checks arguments.
//
// A row is the record with an id, whose key is given as [ID.AppendKey] made it. It has one column, or one for each field.
// A pair is anything else: the header, an entry of an index. Slices that are given are kept by nobody; those that are
// yielded are borrowed until the step ends.
type Backend interface {
	// Traits tells what the backend is.
	Traits() Traits

	// SetColumns says how the columns of rows are called, and how many bytes of a key are the id at its start, or -1.
	// It is called once, before the first row is touched. Without columns a row is one value.
	SetColumns(names [][]byte, idLength func(key []byte) int)

	// View runs fn on a snapshot, Update on a transaction with at least the durability d. Blind is Update for a function
	// that reads nothing.
	View(ctx context.Context, fn func(BackendReader) error) error
	Update(ctx context.Context, d kv.Durability, fn func(BackendWriter) error) error
	Blind(ctx context.Context, d kv.Durability, fn func(BackendPutter) error) error
}

// Traits says as data what a backend is.
type Traits struct {
	Layout    string        // its name, kept in the header
	ByField   bool          // a row has a column for each field
	Shared    bool          // other processes may write too
	ReadOnly  bool          // nothing can be written
	Strongest kv.Durability // the strongest class that Update delivers
}

// BackendReader reads one state.
type BackendReader interface {
	// Pair appends the value of a pair to dst. An absent one is NotFound.
	Pair(dst, key []byte) ([]byte, error)

	// Pairs yields pairs in order until yield returns false.
	Pairs(r kv.Range, yield func(key, value []byte) bool) error

	// Row sets row, which has an element for each column, to the columns of a row; absent ones are nil. They may use the
	// memory of buf, which is returned to be used again. An absent row is NotFound.
	Row(buf []byte, row [][]byte, id []byte) ([]byte, error)

	// Column appends one column of a row to dst. An absent row or column is NotFound.
	Column(dst, id []byte, column int) ([]byte, error)

	// Rows yields the rows with ids in a range, in order, until yield returns false.
	Rows(r kv.Range, row [][]byte, yield func(id []byte) bool) error

	// ColumnOf yields one column of the rows with ids in a range; nil if the row does not have it.
	ColumnOf(r kv.Range, column int, yield func(id, value []byte) bool) error
}

// BackendPutter writes.
type BackendPutter interface {
	SetPair(key, value []byte) error
	DeletePair(key []byte) error

	// PutRow sets the columns of a row that are not nil, removes those whose indexes are in stale, and leaves the others.
	PutRow(id []byte, row [][]byte, stale []int) error

	// DeleteRow removes a row and all its columns. That it is absent is no error.
	DeleteRow(id []byte) error
}

// BackendWriter is a transaction. Nothing is written while Pairs, Rows or ColumnOf yield.
type BackendWriter interface {
	BackendReader
	BackendPutter
}
