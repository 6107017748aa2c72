package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// In returns the log within tx, a transaction of the same file that the program opened with the
// driver that the log has, see [Options]: events and rows of the program are committed together, or
// not at all. See [eventlog.Tx]. Another driver in the same process would take this one's locks
// away.
//
//	tx, err := db.BeginTx(ctx, nil)
//	...
//	events, err := sqllog.In(tx, log)
//	_, err = events.Append("order-17", eventlog.Any, eventlog.Draft{Type: "OrderPlaced"})
//	...
//	err = tx.Commit()
//
// The class of tx is what its connection is set to: with synchronous = FULL, which is what SQLite
// does if nothing is said, it is Synced; with less, positions must be reserved: see
// [eventlog.Log.Reserve]. Open the program's connections with _txlock=immediate, or SQLite may have
// a transaction fail that reads before it writes. An error other than a Conflict rolls tx back.
//
// The log is not told that tx was committed: those who wait see its events after 100 ms at most,
// and a subscription whose Ack was part of it stands where it was until Subscribe is called again.
func In(tx *sql.Tx, log *eventlog.Log) (*eventlog.Tx, error) {
	b, ok := log.Backend().(*backend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the log is not kept in SQL tables"),
			Hint: "use Log.In with a transaction of its store"}
	}
	class, err := b.file.Joins(tx)
	if err != nil {
		return nil, b.wrap("join", err)
	}
	return log.Join(&joined{b: b, tx: tx, w: newWriting(tx, b.indexed), class: class})
}

// joined is a log within a transaction of the program's.
type joined struct {
	b     *backend
	tx    *sql.Tx
	w     *writing
	class kv.Durability
}

var _ eventlog.Joined = (*joined)(nil)

// Append implements eventlog.Joined.
func (j *joined) Append(parts []*eventlog.Pending) (refill uint64, err error) {
	s, err := j.w.readState()
	if err != nil {
		return 0, j.b.wrap("append", err)
	}
	needed, err := j.w.append(s, parts)
	if err != nil {
		return 0, j.b.wrap("append", err)
	}
	if parts[0].Err != nil {
		return 0, parts[0].Err
	}
	refill, err = s.Refill(needed, j.b.first, j.class)
	return refill, j.b.wrap("append", err)
}

// Ack implements eventlog.Joined.
func (j *joined) Ack(name string, position uint64) error {
	s, err := j.w.readState()
	if err == nil && position > s.Last {
		err = eventlog.AboveLast(position, s.Last)
	}
	if err == nil {
		err = j.w.raise(&eventlog.Mark{Name: name, Position: position})
	}
	return j.b.wrap("ack", err)
}

// Bookmark implements eventlog.Joined.
func (j *joined) Bookmark(name string) (position uint64, err error) {
	row := j.tx.QueryRowContext(context.Background(), `SELECT position FROM subscriptions WHERE name = ?`, name)
	err = row.Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		err = eventlog.NoSubscription(name)
	}
	return position, j.b.wrap("ack", err)
}

// OnCommit implements eventlog.Joined.
func (j *joined) OnCommit(func()) {}

// Fail implements eventlog.Joined.
func (j *joined) Fail(error) { _ = j.tx.Rollback() } // it has ended, or a Commit will fail as well
