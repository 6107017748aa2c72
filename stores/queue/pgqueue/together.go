package pgqueue

import (
	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// Workers acknowledge and claim again and again, and several of a process do so at once. What they
// ask for is one statement: it acknowledges all, and claims for all.

// alike returns how many operations, from the first on, one statement can do: they acknowledge or
// claim in one queue, all with leases of one length, no receipt twice. What is due is made ready
// before, and a Retention asks for more.
func (s *session) alike(group []*queue.Op) int {
	claiming := group[0]
	taken := map[place]bool{}
	for n, op := range group {
		switch op.Verb {
		case queue.Ack:
		case queue.Claim:
			if claiming.Verb != queue.Claim {
				claiming = op
			}
			due := s.dues.Of(op.Queue).MustLook(op.Clock().UnixMilli())
			if due || op.Settings.Retention > 0 || op.After != claiming.After {
				return n
			}
		default:
			return n
		}
		if op.Queue != group[0].Queue {
			return n
		}
		for _, r := range op.Receipts {
			p := place{int64(r.ID), int64(r.Token)}
			if taken[p] {
				return n
			}
			taken[p] = true
		}
	}
	return len(group)
}

// together does operations that are alike, all at one time, and reports whether it did: nothing is
// done if a receipt is stale.
func (s *session) together(ops []*queue.Op) (bool, error) {
	var receipts []queue.Receipt
	limit, now, until := 0, int64(0), int64(0)
	for _, op := range ops {
		op.Begin()
		receipts = append(receipts, op.Receipts...)
		if op.Verb == queue.Claim {
			limit, now, until = limit+op.Limit, op.Now, op.Until
		}
	}
	jobs, done, err := s.swap(ops[0], receipts, until, limit)
	if err != nil || !done {
		return false, err
	}
	if len(jobs) > 0 {
		s.dues.Of(ops[0].Queue).Add(until)
	}
	for _, op := range ops { // each its part, as if they had come one after the other
		if op.Verb == queue.Claim {
			n := min(op.Limit, len(jobs))
			op.Now, op.Until, op.Jobs, jobs = now, until, jobs[:n:n], jobs[n:]
			if n == op.Limit {
				op.Ready = 1
			}
		}
	}
	s.setDue(ops)
	return true, nil
}

// alone does operations one after the other.
func (s *session) alone(ops []*queue.Op) error {
	for _, op := range ops {
		op.Begin()
		if err := intables.Do(s, op); err != nil {
			return err
		}
	}
	s.setDue(ops)
	return nil
}

// setDue tells operations when something of their queue is due.
func (s *session) setDue(ops []*queue.Op) {
	for _, op := range ops {
		op.Due = s.dues.Of(op.Queue).Next()
	}
}

// swap acknowledges the receipts and claims up to limit jobs, and reports whether it did: it does
// nothing if a receipt is stale.
func (s *session) swap(op *queue.Op, receipts []queue.Receipt, until int64, limit int) (jobs []queue.Job, done bool,
	err error) {
	held := 0
	ids, tokens, ends := columns(receipts)
	_, err = s.each(func(rows pgx.Rows) error {
		if rows.RawValues()[1] == nil { // no job was claimed
			return rows.Scan(&held, nil, nil, nil, nil, nil, nil, nil, nil)
		}
		var id, token, readyAt, created int64
		var special []byte
		job := queue.Job{State: queue.Claimed, VisibleAt: queue.Millis(until)}
		err := rows.Scan(&held, &id, &token, &job.Priority, &readyAt, &created, &job.Attempts, &special, &job.Payload)
		if err != nil {
			return err
		}
		job.ID, job.CreatedAt = uint64(id), queue.Millis(created)
		job.Receipt = queue.Receipt{ID: job.ID, Until: until, Token: uint64(token)}
		job.SetReadyAt(readyAt)
		if len(job.Payload) == 0 {
			job.Payload = nil
		}
		err = job.SetSpecial(special)
		jobs = append(jobs, job)
		return err
	}, swap, name(op), ids, tokens, ends, until, limit)
	inOrder(jobs)
	return jobs, held == len(receipts), err
}

// columns are those of receipts, which a statement takes as arrays: none is no NULL.
func columns(receipts []queue.Receipt) (ids, tokens, ends []int64) {
	ids, tokens, ends = []int64{}, []int64{}, []int64{}
	for _, r := range receipts {
		ids, tokens, ends = append(ids, int64(r.ID)), append(tokens, int64(r.Token)), append(ends, r.Until)
	}
	return ids, tokens, ends
}
