package postgreskv

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in a transaction, which has a connection of its own.
type reader struct {
	s      *store
	ctx    context.Context // of the transaction
	conn   *pgxpool.Conn
	before func() error // sends what is to be seen; nil of a snapshot
	ended  bool         // by a commit
}

var _ driver.Reader = (*reader)(nil)

func (r *reader) ready() error {
	if r.before == nil {
		return nil
	}
	return r.before()
}

// Get appends the value of key to dst.
func (r *reader) Get(dst, key []byte) ([]byte, error) {
	if err := r.ready(); err != nil {
		return dst, err
	}
	return scanValue(r.conn.QueryRow(r.ctx, r.s.get, key), dst)
}

// patience is how long a rollback may take before the connection is given up instead, which rolls
// back as well.
const patience = 5 * time.Second

// Close rolls back, unless a commit has ended the transaction.
func (r *reader) Close() error {
	defer r.conn.Release() // closes a connection that is broken, or still in a transaction
	if r.ended || r.conn.Conn().IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), patience)
	defer cancel()
	_, err := r.conn.Exec(ctx, "ROLLBACK")
	if r.conn.Conn().IsClosed() {
		return nil
	}
	return classify(err)
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	return &cursor{r: r, rg: rg, size: firstPairs}, nil
}

// cursor is several queries, of which each goes on behind the one before.
type cursor struct {
	r     *reader
	rg    driver.Range
	last  []byte // the last key that was read, nil before the first
	size  int    // how many pairs to read next
	ahead driver.Ahead
	done  bool
}

var (
	_ driver.Chunker = (*cursor)(nil)
	_ driver.Seeker  = (*cursor)(nil)
)

// How much is read at once: few pairs first, then more, as long as they are not large.
const (
	firstPairs = 8
	mostPairs  = 1024
	mostBytes  = 1 << 20
)

// Next returns the next pair.
func (c *cursor) Next() (key, value []byte, err error) { return c.ahead.Next(c.Chunk) }

// Chunk reads the next pairs.
func (c *cursor) Chunk() (pairs []driver.Pair, err error) {
	if c.done {
		return nil, nil
	}
	if err := c.r.ready(); err != nil {
		return nil, err
	}
	text, args := c.query()
	rows, err := c.r.conn.Query(c.r.ctx, text, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		p := driver.Pair{}
		fields := []any{&p.Key, &p.Value}
		if c.rg.KeysOnly {
			fields = fields[:1]
		}
		if err := rows.Scan(fields...); err != nil {
			return nil, classify(err)
		}
		size += len(p.Key) + len(p.Value)
		pairs = append(pairs, p)
	}
	if err := rows.Err(); err != nil {
		return nil, classify(err)
	}
	if len(pairs) < c.size {
		c.done = true
	}
	if len(pairs) > 0 {
		c.last = pairs[len(pairs)-1].Key
		c.size = max(1, min(4*c.size, mostPairs, mostBytes*len(pairs)/(size+1)))
	}
	return pairs, nil
}

// query returns the text for the next pairs.
func (c *cursor) query() (text string, args []any) {
	columns, order := "k, v", ""
	if c.rg.KeysOnly {
		columns = "k"
	}
	start, end := c.rg.Start, c.rg.End
	switch {
	case c.rg.Reverse:
		order = " DESC"
		if c.last != nil {
			end = c.last
		}
	case c.last != nil:
		start = append(bytes.Clone(c.last), 0) // the key after it
	}
	where, args := c.r.s.where(start, end)
	args = append(args, c.size)
	return fmt.Sprintf("SELECT %s FROM %s%s ORDER BY k%s LIMIT $%d", columns, c.r.s.table, where, order, len(args)), args
}

// where returns the condition for the keys in [start, end), of which nil is open, and its
// arguments, which it copies.
func (s *store) where(start, end []byte) (text string, args []any) {
	next := " WHERE k"
	if start != nil {
		text, args, next = next+" >= $1", append(args, bytes.Clone(start)), " AND k"
	}
	if end != nil {
		args = append(args, bytes.Clone(end))
		text += fmt.Sprintf("%s < $%d", next, len(args))
	}
	return text, args
}

// Seek moves the cursor.
func (c *cursor) Seek(key []byte) error {
	c.ahead, c.done, c.size, c.last = nil, false, firstPairs, nil
	if c.rg.Reverse {
		c.last = append(bytes.Clone(key), 0) // key itself is before it
		return nil
	}
	c.rg.Start = bytes.Clone(key)
	return nil
}

// Close ends the walk.
func (c *cursor) Close() error { return nil }
