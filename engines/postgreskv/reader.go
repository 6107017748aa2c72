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
	begun  bool
	ended  bool // by a commit
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
	dst, err := scanValue(r.conn.QueryRow(r.ctx, r.s.get, key), dst)
	return dst, r.failed(err)
}

// patience is how long a rollback may take before the connection is given up instead, which rolls
// back as well.
const patience = 5 * time.Second

// Close rolls back, unless a commit has ended the transaction.
func (r *reader) Close() error {
	defer r.conn.Release() // closes a connection that is broken, or still in a transaction
	if !r.begun || r.ended || r.conn.Conn().IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), patience)
	defer cancel()
	_, err := r.conn.Exec(ctx, "ROLLBACK")
	if r.conn.Conn().IsClosed() || lost(err) {
		return nil
	}
	return classify(err)
}

// Cursor returns a cursor before the first pair of rg.
func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	return &cursor{r: r, rg: rg, size: firstPairs}, nil
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
