package pairs

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// kind is a kind of store, as the driver of its scheme.
type kind struct {
	name, summary string
	modules       []string
	options       driver.Table[options]
	apart         string // the form that is no engine: inSQL or inFiles
	openApart     func(ctx context.Context, c driver.Config, fresh bool) (form, error)

	dumpKV    func(s *kv.Snapshot, emit func(k, v []byte) error) error
	restoreKV func(tx *kv.Tx, o *options) (restorer, error)

	// of a form in SQL
	holds      string // a table that its tables have among them
	dumpSQL    func(ctx context.Context, c *sql.Conn, emit func(k, v []byte) error) error
	restoreSQL func(ctx context.Context, c *sql.Conn, k, v []byte) error
	createSQL  func(ctx context.Context, c *sql.Conn) error
}

var _ driver.Driver = (*kind)(nil)

// restorer takes the pairs of a transaction. Flush comes before the commit.
type restorer interface {
	Put(k, v []byte) error
	Flush() error
}

// codec makes pairs of the items P of a store, and items of pairs.
type codec[P any] struct {
	encode func(key []byte, p *P) (k, v []byte, err error) // key has the memory for the key
	decode func(k, v []byte) (*P, error)
}

// emitting returns what gives the pairs of items to emit.
func (c codec[P]) emitting(emit func(k, v []byte) error) func(*P) error {
	var key []byte
	return func(p *P) error {
		k, v, err := c.encode(key[:0], p)
		if key = k; err != nil {
			return err
		}
		return emit(k, v)
	}
}

// restoring returns restore for a pair.
func (c codec[P]) restoring(restore func(*P) error) oneByOne {
	return func(k, v []byte) error {
		p, err := c.decode(k, v)
		if err != nil {
			return err
		}
		return restore(p)
	}
}

// oneByOne is a restorer that writes each pair at once.
type oneByOne func(k, v []byte) error

// Put implements restorer.
func (put oneByOne) Put(k, v []byte) error { return put(k, v) }

// Flush implements restorer.
func (oneByOne) Flush() error { return nil }

// newKind returns the kind of a store whose package, and whose package of tables, have these
// functions. holds is a table that the tables have among them.
func newKind[P any](name, summary, holds string, c codec[P],
	dump func(*kv.Snapshot, func(*P) error) error, restore func(*kv.Tx, *P) error,
	dumpSQL func(context.Context, *sql.Conn, func(*P) error) error,
	restoreSQL func(context.Context, *sql.Conn, *P) error,
	create func(context.Context, *sql.Conn) error) *kind {
	k := &kind{name: name, summary: summary, modules: []string{"modernc.org/sqlite"}, options: table,
		apart: inSQL, holds: holds, createSQL: create,
		dumpKV: func(s *kv.Snapshot, emit func(k, v []byte) error) error { return dump(s, c.emitting(emit)) },
		dumpSQL: func(ctx context.Context, on *sql.Conn, emit func(k, v []byte) error) error {
			return dumpSQL(ctx, on, c.emitting(emit))
		},
		restoreKV: func(tx *kv.Tx, _ *options) (restorer, error) {
			return c.restoring(func(p *P) error { return restore(tx, p) }), nil
		},
		restoreSQL: func(ctx context.Context, on *sql.Conn, k, v []byte) error {
			return c.restoring(func(p *P) error { return restoreSQL(ctx, on, p) })(k, v)
		},
	}
	k.openApart = k.openSQL
	return k
}

// line returns v as a line of JSON, and what is behind it. The texts in v must be UTF-8, or JSON
// would change them.
func line(v any, behind []byte, texts ...string) ([]byte, error) {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil, &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("text %q is not UTF-8", text)}
		}
	}
	head, err := json.Marshal(v)
	return append(append(head, '\n'), behind...), err
}

// cutLine reads a line into v, and returns what is behind it.
func cutLine(value []byte, v any) (behind []byte, err error) {
	head, behind, ok := bytes.Cut(value, []byte{'\n'})
	if !ok {
		return nil, fmt.Errorf("%.40q is not a line", value)
	}
	decoder := json.NewDecoder(bytes.NewReader(head))
	decoder.DisallowUnknownFields()
	return behind, decoder.Decode(v)
}

// notAPair is the error of a pair that is not of the store.
func notAPair(store string, key []byte, err error) error {
	if err == nil {
		err = fmt.Errorf("the key is of no kind")
	}
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("key %.40q is not of a %s: %w", key, store, err),
		Hint: "copy from a URL of the same scheme"}
}
