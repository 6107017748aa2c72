package pgqueue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// sender is a connection, or a transaction of the program's.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// session is one transaction.
type session struct {
	ctx      context.Context
	on       sender
	begin    []string      // is sent with the first statement
	end      []string      // is sent with the last, which is the first as well
	pool     *pgxpool.Pool // for ids, which are not part of the transaction
	dues     intables.Dues
	notified map[string]time.Time
}

// exec runs a statement.
func (s *session) exec(text string, args ...any) error {
	_, err := s.each(nil, text, args...)
	return err
}

// each runs a statement, gives its rows to scan, and returns how many there are, or were changed.
func (s *session) each(scan func(pgx.Rows) error, text string, args ...any) (n int, err error) {
	var b pgx.Batch
	for _, text := range s.begin {
		b.Queue(text)
	}
	s.begin = nil
	b.Queue(text, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if scan == nil {
				continue
			}
			if err := scan(rows); err != nil {
				return err
			}
		}
		n = int(rows.CommandTag().RowsAffected())
		return rows.Err()
	})
	for _, text := range s.end {
		b.Queue(text)
	}
	return n, s.on.SendBatch(s.ctx, &b).Close()
}

var _ intables.Tables = (*session)(nil)

// Due implements intables.Tables.
func (s *session) Due(queue string) *intables.Due { return s.dues.Of(queue) }

// name is that of the queue of an operation, as the tables have it.
func name(op *queue.Op) []byte { return []byte(op.Queue) }

// takeIDs returns the first of the ids for an operation's drafts. They are taken by a transaction
// of its own, as the last of a queue is one row, which would be locked until the commit. It need
// not be synced: what is, is so with all before it.
func (s *session) takeIDs(op *queue.Op) (first int64, err error) {
	var on sender = s.pool
	if len(s.begin) > 0 { // nothing was sent yet
		on = s.on
	}
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue("SET LOCAL synchronous_commit = off")
	b.Queue(takeIDs, name(op), op.Now*1000, len(op.Drafts)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&first)
	})
	b.Queue("COMMIT")
	return first, on.SendBatch(s.ctx, &b).Close()
}

// drafts are columns of jobs that are published.
type drafts struct {
	ids, at               []int64
	states, priorities    []int16
	most                  []*int64
	keys, special, bodies [][]byte
}

// Publish implements intables.Tables, by one statement.
func (s *session) Publish(op *queue.Op) error {
	id, err := s.takeIDs(op)
	if err != nil {
		return err
	}
	var d drafts
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		if i > 0 {
			id++
		}
		if draft.Key != "" {
			until := int64(0)
			if draft.KeyFor > 0 {
				until = op.Now + draft.KeyFor.Milliseconds()
			}
			if ours, err := s.Hold(op, draft.Key, uint64(id), until); err != nil || !ours {
				if err != nil {
					return err
				}
				op.IDs = append(op.IDs, 0)
				continue
			}
		}
		state, at := queue.Ready, op.Now+draft.Delay.Milliseconds()
		if at > op.Now {
			state = queue.Delayed
			s.dues.Of(op.Queue).Add(at)
		} else {
			op.Ready++
		}
		d.add(id, at, state, draft, op.Now)
		op.IDs = append(op.IDs, uint64(id))
	}
	if len(d.ids) == 0 {
		return nil
	}
	return s.exec(publish, name(op), op.Now, d.ids, d.states, d.priorities, d.at, d.most, d.keys, d.special, d.bodies)
}

func (d *drafts) add(id, at int64, state queue.State, draft *queue.Draft, now int64) {
	var most *int64
	if draft.MaxAttempts != 0 {
		n := int64(draft.MaxAttempts)
		most = &n
	}
	var key []byte
	if draft.Key != "" {
		key = []byte(draft.Key)
	}
	d.ids, d.at = append(d.ids, id), append(d.at, at)
	d.states, d.priorities = append(d.states, int16(state)), append(d.priorities, int16(draft.Priority))
	d.most, d.keys = append(d.most, most), append(d.keys, key)
	d.special, d.bodies = append(d.special, draft.Special(now)), append(d.bodies, append([]byte{}, draft.Payload...))
}

// ClaimSome implements intables.Tables.
func (s *session) ClaimSome(op *queue.Op, n int) ([]queue.Job, error) {
	jobs, _, err := s.swap(op, nil, op.Until, n)
	return jobs, err
}
