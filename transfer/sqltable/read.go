package sqltable

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads one state: a connection within a transaction.
type reader struct {
	s    *store
	conn *sql.Conn
}

var _ driver.Reader = (*reader)(nil)

// Snapshot begins a transaction that reads. SQLite: its state is fixed by what it reads first.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	return s.begin(ctx, "BEGIN", "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)")
}

func (s *store) begin(ctx context.Context, statements ...string) (*reader, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, classed(err)
	}
	r := &reader{s: s, conn: conn}
	for _, text := range statements {
		if _, err := conn.ExecContext(context.Background(), text); err != nil {
			return nil, errors.Join(classed(err), r.Close())
		}
	}
	return r, nil
}

// Close ends the transaction.
func (r *reader) Close() error {
	_, err := r.conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		err = nil
	}
	return errors.Join(err, r.conn.Close())
}

// find returns the table whose keys begin as key does, and key without the prefix.
func (s *store) find(key []byte) (*table, []byte) {
	for _, t := range s.tables {
		if rest, ok := bytes.CutPrefix(key, []byte(t.Prefix)); ok {
			return t, rest
		}
	}
	return nil, nil
}

// Get appends the value of a key.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	t, rest := r.s.find(key)
	if t == nil {
		return dst, driver.NotFound
	}
	args, ok := t.keyValues(rest)
	if !ok {
		return dst, driver.NotFound
	}
	c := &cursor{r: r}
	if err := c.query(t, t.equal, args...); err != nil {
		return dst, err
	}
	_, value, err := c.row()
	if err = errors.Join(err, c.Close()); err != nil {
		return dst, err
	}
	if value == nil {
		return dst, driver.NotFound
	}
	return append(dst, value...), nil
}

// cursor walks over the tables, one after the other.
type cursor struct {
	r          *reader
	bounds     driver.Range
	left       []*table // those that were not begun
	t          *table
	rows       *sql.Rows
	fields     []any
	at         []any // pointers to fields
	key, value []byte
	last       []byte
}

// Cursor returns a cursor over the range.
func (r *reader) Cursor(bounds driver.Range) (driver.Cursor, error) {
	return &cursor{r: r, bounds: bounds, left: r.s.tables}, nil
}

// Close ends the walk.
func (c *cursor) Close() error {
	if c.rows == nil {
		return nil
	}
	err := c.rows.Close()
	c.rows = nil
	return err
}

// Next returns the next pair.
func (c *cursor) Next() (key, value []byte, err error) {
	for {
		if c.rows == nil {
			if len(c.left) == 0 {
				return nil, nil, nil
			}
			if err := c.begin(); err != nil {
				return nil, nil, err
			}
			continue
		}
		key, value, err := c.row()
		if err != nil {
			return nil, nil, err
		}
		if key == nil {
			if err := c.Close(); err != nil {
				return nil, nil, err
			}
			continue
		}
		if bytes.Equal(key, c.last) {
			return nil, nil, invalid("name more columns of the key", "table %s: two rows have the key %q", c.t.Name,
				key)
		}
		c.last = append(c.last[:0], key...)
		if bytes.Compare(key, c.bounds.Start) >= 0 && (c.bounds.End == nil || bytes.Compare(key, c.bounds.End) < 0) {
			return key, value, nil
		}
	}
}

// begin begins the next table, unless no key of it is in the range.
func (c *cursor) begin() error {
	t := c.left[0]
	c.left = c.left[1:]
	order := ""
	if c.bounds.Reverse {
		order = " DESC"
		all := len(c.left)
		t = c.r.s.tables[all]
		c.left = c.r.s.tables[:all]
	}
	start, end, none := c.within(t)
	if none {
		return nil
	}
	var sorted []string
	for _, k := range t.keys {
		sorted = append(sorted, quote(k)+bytewise+order)
	}
	where, args := t.where(start, end)
	return c.query(t, where+" ORDER BY "+strings.Join(sorted, ", "), args...)
}

// within returns the bounds of the range without the table's prefix, nil where there is none.
func (c *cursor) within(t *table) (start, end []byte, none bool) {
	prefix := []byte(t.Prefix)
	if b := c.bounds.Start; len(b) > 0 {
		if rest, ok := bytes.CutPrefix(b, prefix); ok {
			start = rest
		} else if bytes.Compare(b, prefix) > 0 {
			return nil, nil, true
		}
	}
	if b := c.bounds.End; b != nil {
		if rest, ok := bytes.CutPrefix(b, prefix); ok {
			return start, rest, len(rest) == 0
		} else if bytes.Compare(b, prefix) < 0 {
			return nil, nil, true
		}
	}
	return start, end, false
}

// where bounds a query by the first column of the key, where that is easily said; the cursor looks
// at each key itself, too.
func (t *table) where(start, end []byte) (text string, args []any) {
	cast := map[Type]string{Text: "CAST(? AS TEXT)", Blob: "?"}[t.kinds[0]]
	if len(t.kinds) > 1 || cast == "" {
		return t.whereInt(start, end)
	}
	var parts []string
	if len(start) > 0 {
		parts, args = append(parts, quote(t.keys[0])+bytewise+" >= "+cast), append(args, start)
	}
	if len(end) > 0 {
		parts, args = append(parts, quote(t.keys[0])+bytewise+" < "+cast), append(args, end)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

// whereInt is where for a key that begins with an integer: its first 8 bytes are compared.
func (t *table) whereInt(start, end []byte) (text string, args []any) {
	if t.kinds[0] != Int {
		return "", nil
	}
	first := func(bound []byte) any {
		values, _ := (&table{kinds: []Type{Int}}).keyValues(append(bytes.Clone(bound), make([]byte, 8)...)[:8])
		return values[0]
	}
	text = " WHERE 1"
	if len(start) > 0 {
		text, args = text+fmt.Sprintf(" AND %s >= ?", quote(t.keys[0])), append(args, first(start))
	}
	if len(end) > 0 {
		text, args = text+fmt.Sprintf(" AND %s <= ?", quote(t.keys[0])), append(args, first(end))
	}
	return text, args
}

// query begins to read rows of t.
func (c *cursor) query(t *table, rest string, args ...any) (err error) {
	c.t, c.last = t, nil
	c.fields = make([]any, len(t.keys)+len(t.values))
	c.at = make([]any, len(c.fields))
	for i := range c.fields {
		c.at[i] = &c.fields[i]
	}
	c.rows, err = c.r.conn.QueryContext(context.Background(), "SELECT "+t.columns+" FROM "+quote(t.Name)+rest, args...)
	return classed(err)
}

// row returns the next row as a pair, nil after the last one.
func (c *cursor) row() (key, value []byte, err error) {
	if !c.rows.Next() {
		return nil, nil, classed(c.rows.Err())
	}
	if err := c.rows.Scan(c.at...); err != nil {
		return nil, nil, err
	}
	n := len(c.t.keys)
	if c.key, err = c.t.appendKey(append(c.key[:0], c.t.Prefix...), c.fields[:n]); err != nil {
		return nil, nil, err
	}
	if c.bounds.KeysOnly {
		return c.key, nil, nil
	}
	if c.value == nil {
		c.value = []byte{}
	}
	if c.value, err = c.t.appendValue(c.value[:0], c.fields[n:]); err != nil {
		return nil, nil, err
	}
	return c.key, c.value, nil
}
