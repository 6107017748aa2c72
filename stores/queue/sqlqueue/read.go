package sqlqueue

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/stores/queue"
)

// readStatements are those of the readers.
type readStatements struct {
	counts, queues stmt
	list           [len(states)]stmt
}

// orders are those of List, by queue.State.
var orders = [...]string{`priority, visible_at, id`, `until, id`, `until, id`, `id`}

func (b *backend) prepareReaders() (err error) {
	prepare := func(s *stmt, query string) {
		if err == nil {
			*s, err = b.readers.Prepare(query)
		}
	}
	prepare(&b.read.counts, `SELECT ready, delayed, claimed, dead,
		(SELECT count(*) FROM jobs WHERE queue = ?1 AND state IN (1, 2) AND until <= ?2 AND state = 1),
		(SELECT count(*) FROM jobs WHERE queue = ?1 AND state IN (1, 2) AND until <= ?2 AND state = 2)
		FROM queues WHERE name = ?1`)
	prepare(&b.read.queues, `SELECT name FROM queues ORDER BY name`)
	for state, condition := range states {
		prepare(&b.read.list[state], `SELECT id, ifnull(token, 0), priority, ifnull(until, visible_at), created_at, attempts, payload
			FROM jobs WHERE queue = ?1 AND `+condition+` ORDER BY `+orders[state]+` LIMIT ?2 + 0`)
	}
	return err
}

// Counts implements queue.Backend. Jobs whose delay or lease has ended count as ready.
func (b *backend) Counts(ctx context.Context, name string, now int64) (c queue.Counts, err error) {
	var delayed, claimed int // that have ended
	err = b.read.counts.QueryRowContext(ctx, name, now).Scan(&c.Ready, &c.Delayed, &c.Claimed, &c.Dead, &delayed, &claimed)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	c.Ready += delayed + claimed
	c.Delayed -= delayed
	c.Claimed -= claimed
	return c, b.wrap("counts", err)
}

// List implements queue.Backend.
func (b *backend) List(ctx context.Context, name string, state queue.State, limit int) (jobs []queue.Job, err error) {
	rows, err := b.read.list[state].QueryContext(ctx, name, limit)
	if err != nil {
		return nil, b.wrap("list", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, token, at, created int64
		job := queue.Job{State: state}
		if err := rows.Scan(&id, &token, &job.Priority, &at, &created, &job.Attempts, &job.Payload); err != nil {
			return nil, b.wrap("list", err)
		}
		if len(job.Payload) == 0 {
			job.Payload = nil
		}
		job.ID, job.VisibleAt, job.CreatedAt = uint64(id), queue.Millis(at), queue.Millis(created)
		if state == queue.Claimed {
			job.Receipt = queue.Receipt{ID: job.ID, Until: at, Token: uint64(token)}
		}
		jobs = append(jobs, job)
	}
	return jobs, b.wrap("list", rows.Err())
}

// Queues implements queue.Backend.
func (b *backend) Queues(ctx context.Context) (names []string, err error) {
	rows, err := b.read.queues.QueryContext(ctx)
	if err != nil {
		return nil, b.wrap("queues", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, b.wrap("queues", err)
		}
		names = append(names, name)
	}
	return names, b.wrap("queues", rows.Err())
}
