package postgreskv

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv/driver"
)

// store is a table.
type store struct {
	pool  *pgxpool.Pool
	table string // quoted

	get, put, delete string // statements
}

var (
	_ driver.Getter     = (*store)(nil)
	_ driver.Compacter  = (*store)(nil)
	_ driver.Configured = (*store)(nil)
)

func newStore(pool *pgxpool.Pool, table string) *store {
	return &store{pool: pool, table: table,
		get:    "SELECT v FROM " + table + " WHERE k = $1",
		put:    "INSERT INTO " + table + " (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		delete: "DELETE FROM " + table + " WHERE k = $1"}
}

// Caps tells what a store can do.
func (s *store) Caps() driver.Caps { return caps }

// Get returns the value of the last committed state.
func (s *store) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	return scanValue(s.pool.QueryRow(ctx, s.get, key), dst)
}

// scanValue appends the one value of a row.
func scanValue(row pgx.Row, dst []byte) ([]byte, error) {
	var v []byte
	switch err := row.Scan(&v); {
	case errors.Is(err, pgx.ErrNoRows):
		return dst, driver.NotFound
	case err != nil:
		return dst, classify(err)
	}
	return append(dst, v...), nil
}

// Snapshot begins a transaction that sees one state. PostgreSQL: that is fixed by its first
// statement.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r, err := s.begin(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Begin begins a transaction.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	level := "off"
	if d == driver.Synced {
		level = "on"
	}
	r, err := s.begin(ctx, "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL synchronous_commit = "+level+"; SELECT 1")
	if err != nil {
		return nil, err
	}
	t := &txn{reader: r}
	r.before = t.flush
	return t, nil
}

func (s *store) begin(ctx context.Context, text string) (*reader, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, classify(err)
	}
	r := &reader{s: s, ctx: ctx, conn: conn}
	if _, err := conn.Conn().PgConn().Exec(ctx, text).ReadAll(); err != nil {
		return nil, errors.Join(classify(err), r.Close())
	}
	return r, nil
}

// Compact gives the space of what was removed to what comes, and that at the table's end to the
// file system.
func (s *store) Compact(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "VACUUM "+s.table)
	return classify(err)
}

// Settings tells the table, and what the server says of itself.
func (s *store) Settings() []driver.Setting {
	list := []driver.Setting{{Name: "table", Value: s.table}}
	for _, name := range []string{"server_version", "fsync", "full_page_writes", "wal_level"} {
		var value string
		if err := s.pool.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&value); err == nil {
			list = append(list, driver.Setting{Name: name, Value: value})
		}
	}
	return list
}

// Close ends the connections, and makes what was committed without a sync durable: a commit that is
// synced is so with all before it.
func (s *store) Close() error {
	defer s.pool.Close()
	var readOnly bool
	ctx := context.Background()
	err := s.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::bool").Scan(&readOnly)
	if err == nil && !readOnly {
		_, err = s.pool.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', true), pg_current_xact_id()")
	}
	return classify(err)
}
