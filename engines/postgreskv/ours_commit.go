package postgreskv

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assaydb/assay/kv/driver"
)

// Every handle has a row in a table, its mark. Each transaction that writes sets the mark to its
// number, which is higher than those before it, as it commits: if the commit's answer is lost, the
// mark tells what became of it. Who looks sets the mark too. So a transaction that is still under
// way, because the server has not seen that its client is gone, is waited for; and one that the
// server comes to later fails at the mark, which is as high as its number already.
//
// The server's own pg_xact_status would need no table. But it knows nothing of a transaction that
// another server has forgotten, which took over from this one, and other servers that speak the
// protocol do not have it.
const (
	commitsTable   = "assay_commits"
	commitsColumns = "handle text PRIMARY KEY, serial bigint NOT NULL, at timestamptz NOT NULL DEFAULT now()"
	// a mark that is too high makes it NULL, and so the transaction fail
	setMark = "INSERT INTO " + commitsTable + " AS c (handle, serial) VALUES ($1, $2)" +
		" ON CONFLICT (handle) DO UPDATE SET at = now()," +
		" serial = CASE WHEN abs(c.serial) < excluded.serial THEN excluded.serial END"
	// It writes even if the commit is there: then it is as durable as a commit that is synced.
	lookForMark = "INSERT INTO " + commitsTable + " AS c (handle, serial) VALUES ($1, -$2::bigint)" +
		" ON CONFLICT (handle) DO UPDATE SET at = now()," +
		" serial = CASE WHEN abs(c.serial) < $2::bigint THEN -$2::bigint ELSE c.serial END RETURNING serial"
	removeMark = "DELETE FROM " + commitsTable + " WHERE handle = $1"
	touchMark  = "UPDATE " + commitsTable + " SET at = now() WHERE handle = $1"
	// of programs that have died; who is idle for as long gets another one
	removeOldMarks = "DELETE FROM " + commitsTable + " WHERE at < now() - interval '7 days'"
)

// createCommits makes the table of the marks.
func (s *store) createCommits(ctx context.Context) error {
	if err := s.create(ctx, commitsTable, commitsColumns); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, removeOldMarks)
	return err
}

// mark adds the mark of the next transaction to what it sends.
func (s *store) mark(b *pgx.Batch) (serial int64) {
	s.serial++
	b.Queue(setMark, s.handle, s.serial)
	return s.serial
}

// resolve finds out what became of the commit with a mark, whose answer was lost because of err. It
// does not end with ctx, which may be why.
func (s *store) resolve(ctx context.Context, serial int64, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.timeout())
	defer cancel()
	s.looked = true
	var found int64
	lerr := s.again(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, lookForMark, s.handle, serial).Scan(&found)
	})
	switch {
	case lerr != nil:
		return &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("%w; asked again: %w", err, lerr),
			Hint: "see whether the server runs, then look whether the commit is there"}
	case found != serial:
		return &driver.Error{Kind: driver.Aborted, Err: err}
	}
	return nil
}

// leave removes the handle's mark, by a commit that is synced, and with it all before it. The mark
// of one that has looked stays for a while: a transaction may come late.
func (s *store) leave(ctx context.Context) error {
	text := removeMark
	if s.looked {
		text = touchMark
	}
	return s.again(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, text, s.handle)
		return err
	})
}

// refused reports whether the server has said that a commit was not done. A server that ends says
// so with an error that is fatal, whatever became of the commit.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.SeverityUnlocalized == "ERROR"
}
