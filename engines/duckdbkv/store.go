package duckdbkv

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open database.
type store struct {
	db       *sql.DB
	path     string
	prepared sync.Map // statements, by their text
}

var _ driver.Compacter = (*store)(nil)

// Caps tells what a store can do.
func (s *store) Caps() driver.Caps { return caps }

// Snapshot returns a view of the last committed state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) { return s.begin(ctx) }

// Begin starts a transaction.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	return s.begin(ctx)
}

// begin begins a transaction that sees the last committed state, whatever becomes of ctx later.
func (s *store) begin(ctx context.Context) (*txn, error) {
	tx, err := s.db.Begin()
	if err != nil {
		return nil, classify(err)
	}
	t := &txn{reader{s, tx}}
	if err := t.run(ctx, pin); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Compact writes the log into the database, which gives free blocks at its end back. DuckDB: beside
// a transaction that still sees an earlier state it cannot, and the next commit or Close does it.
func (s *store) Compact(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "CHECKPOINT store")
	if err != nil && strings.Contains(err.Error(), "other write transactions active") {
		return nil
	}
	return classify(err)
}

// Close writes the log into the database and closes it.
func (s *store) Close() error {
	defer disclaim(s.path)
	return classify(s.db.Close())
}
