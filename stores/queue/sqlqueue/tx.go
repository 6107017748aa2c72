package sqlqueue

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// In returns a queue within tx, a transaction of the same file that the program opened with the
// driver that the queues have, see [Options]: jobs and rows of the program are committed together,
// or not at all. See [queue.Tx]. Another driver in the same process would take this one's locks
// away.
//
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, `INSERT INTO orders ...`)
//	jobs, err := sqlqueue.In(tx, mail)
//	_, err = jobs.Publish(queue.Draft{Payload: letter})
//	err = tx.Commit()
//
// The class of tx is what its connection is set to: with synchronous = FULL, which is what SQLite
// does if nothing is said, it is Synced. Open the program's connections with _txlock=immediate, or
// SQLite may have a transaction fail that reads before it writes. An error other than a
// [*queue.StaleError] rolls tx back.
//
// The queue is not told that tx was committed: workers that wait see its jobs after
// [queue.Options].Poll at most.
func In(tx *sql.Tx, q *queue.Queue) (*queue.Tx, error) {
	b, ok := q.Backend().(*backend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the queue is not kept in SQL tables"),
			Hint: "use Queue.In with a transaction of its store"}
	}
	if _, err := b.file.Joins(tx); err != nil {
		return nil, b.wrap("join", err)
	}
	j := joined{&backend{file: b.file, tx: tx, inside: true, dues: intables.Dues{}, held: map[string]*held{},
		self: rand.Int64() | 1}}
	if err := j.prepareWriter(); err != nil {
		return nil, b.wrap("join", err)
	}
	return q.Join(j), nil
}

// joined is queues within a transaction of the program's. It holds ids of its own.
type joined struct{ *backend }

var _ queue.Joined = joined{}

// Do implements queue.Joined.
func (j joined) Do(op *queue.Op) error { return j.wrap(op.Verb.String(), j.do(op)) }

// OnCommit implements queue.Joined.
func (j joined) OnCommit(func()) {}

// Fail implements queue.Joined.
func (j joined) Fail(error) { _ = j.tx.Rollback() } // it has ended, or a Commit will fail as well

// joinedStatement is a statement by database/sql: in a transaction of the program's, or of a
// session.
type joinedStatement struct {
	text string
	on   interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	kept *sql.Stmt // text on a session, prepared
}

func (s *joinedStatement) exec(args []any) (sql.Result, error) {
	if s.kept != nil {
		return s.kept.ExecContext(context.Background(), args...)
	}
	return s.on.ExecContext(context.Background(), s.text, args...)
}

func (s *joinedStatement) query(args []any) (*sql.Rows, error) {
	if s.kept != nil {
		return s.kept.QueryContext(context.Background(), args...)
	}
	return s.on.QueryContext(context.Background(), s.text, args...)
}

func (s *joinedStatement) run(args []any) (changed int, err error) {
	result, err := s.exec(copied(args))
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *joinedStatement) each(scan func(row), args []any) (err error) {
	rows, err := s.query(copied(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if scan != nil {
			scan(row{values: values})
		}
	}
	return rows.Err()
}

// copied returns args as other values: those that a conn gets need not be allocated then.
func copied(args []any) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			list[i] = int64(v)
		case int64:
			list[i] = v
		case string:
			list[i] = v
		case []byte:
			list[i] = append([]byte{}, v...)
		}
	}
	return list
}

// joinedBlob returns a value as a copy of its bytes, nil if it has none.
func joinedBlob(value any) []byte {
	switch v := value.(type) {
	case string:
		return append([]byte(nil), v...)
	case []byte:
		return append([]byte(nil), v...)
	}
	return nil
}
