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
	o     options
	caps  driver.Caps

	get, put, delete string // statements

	handle string // whose mark it is; "" of one that only reads
	serial int64  // of the last commit: kv has one writer at a time
	looked bool   // for a commit in doubt
}

var (
	_ driver.Getter     = (*store)(nil)
	_ driver.Compacter  = (*store)(nil)
	_ driver.Configured = (*store)(nil)
)

func newStore(pool *pgxpool.Pool, table string, o options) *store {
	return &store{pool: pool, table: table, o: o, caps: capsOf(o),
		get:    "SELECT v FROM " + table + " WHERE k = $1",
		put:    "INSERT INTO " + table + " (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		delete: "DELETE FROM " + table + " WHERE k = $1"}
}

// Caps tells what a store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Get returns the value of the last committed state.
func (s *store) Get(ctx context.Context, dst, key []byte) (v []byte, err error) {
	if s.o.views == serialViews {
		return s.getInOrder(ctx, dst, key)
	}
	err = s.again(ctx, func(ctx context.Context) error {
		v, err = scanValue(s.pool.QueryRow(ctx, s.get, key), dst)
		return err
	})
	return v, classify(err)
}

// scanValue appends the one value of a row.
func scanValue(row pgx.Row, dst []byte) ([]byte, error) {
	var v []byte
	switch err := row.Scan(&v); {
	case errors.Is(err, pgx.ErrNoRows):
		return dst, driver.NotFound
	case err != nil:
		return dst, err
	}
	return append(dst, v...), nil
}

// Snapshot begins a transaction that sees one state. PostgreSQL: that is fixed by its first
// statement.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r, err := s.acquire(ctx, beginView[s.o.views])
	if err != nil {
		return nil, s.waited(ctx, err)
	}
	return r, nil
}

// Begin takes a connection. The transaction begins with what it sends first.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	r, err := s.acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	t := &txn{reader: r, durability: d}
	r.before = t.flush
	return t, nil
}

// acquire takes a connection, and begins with a text, if there is one.
func (s *store) acquire(ctx context.Context, text string) (r *reader, err error) {
	err = s.again(ctx, func(bounded context.Context) error {
		conn, err := s.pool.Acquire(bounded)
		if err != nil || text == "" {
			r = &reader{s: s, ctx: ctx, conn: conn}
			return err
		}
		if _, err := conn.Conn().PgConn().Exec(bounded, text).ReadAll(); err != nil {
			conn.Release() // closes one that is broken, or still in a transaction
			return err
		}
		r = &reader{s: s, ctx: ctx, conn: conn, begun: true}
		return nil
	})
	return r, classify(err)
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

// Close ends the connections, and makes what was committed without a sync durable.
func (s *store) Close() error {
	defer s.pool.Close()
	if s.handle == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.o.timeout())
	defer cancel()
	return classify(s.leave(ctx))
}
