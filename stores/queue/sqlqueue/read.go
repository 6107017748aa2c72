package sqlqueue

import (
	"context"
	"database/sql"

	"github.com/assaydb/assay/stores/queue"
)

// readStatements are those of the readers.
type readStatements struct {
	counts, list, queues *sql.Stmt
}

func (b *backend) prepareReaders() (err error) {
	prepare := func(s **sql.Stmt, query string) {
		if err == nil {
			*s, err = b.readers.Prepare(query)
		}
	}
	prepare(&b.read.counts, `SELECT state, count(*), count(*) FILTER (WHERE state IN (1, 2) AND at <= ?2) FROM jobs WHERE queue = ?1 GROUP BY state`)
	prepare(&b.read.queues, `SELECT name FROM queues ORDER BY name`)
	prepare(&b.read.list, `SELECT id, token, priority, iif(state = 2, at, visible_at), created_at, attempts, `+thePayload+`
		FROM jobs WHERE queue = ?1 AND state = ?2 ORDER BY rank, at, id LIMIT ?3 + 0`)
	return err
}

// Counts implements queue.Backend. It counts the jobs, of which those whose delay or lease has ended are ready.
func (b *backend) Counts(ctx context.Context, name string, now int64) (c queue.Counts, err error) {
	rows, err := b.read.counts.QueryContext(ctx, name, now)
	if err != nil {
		return c, b.wrap("counts", err)
	}
	defer rows.Close()
	for rows.Next() {
		var state queue.State
		var n, ended int
		if err := rows.Scan(&state, &n, &ended); err != nil {
			return c, b.wrap("counts", err)
		}
		*c.Of(state) += n - ended
		c.Ready += ended
	}
	return c, b.wrap("counts", rows.Err())
}

// List implements queue.Backend.
func (b *backend) List(ctx context.Context, name string, state queue.State, limit int) (jobs []queue.Job, err error) {
	rows, err := b.read.list.QueryContext(ctx, name, state, limit)
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
