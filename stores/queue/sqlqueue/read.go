package sqlqueue

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/stores/internal/sqlite"
	"github.com/assaydb/assay/stores/queue"
)

// readStatements are those of the readers.
type readStatements struct {
	counts, list, find, queues *sql.Stmt
}

func (b *backend) prepareReaders() (err error) {
	prepare := func(s **sql.Stmt, query string) {
		if err == nil {
			*s, err = b.readers.Prepare(query)
		}
	}
	prepare(&b.read.counts, `SELECT state, count(*), count(*) FILTER (WHERE state IN (1, 2) AND at <= ?2) FROM jobs WHERE queue = ?1 GROUP BY state`)
	prepare(&b.read.queues, `SELECT name FROM queues ORDER BY name`)
	prepare(&b.read.list, selectJobs+` FROM jobs WHERE queue = ?1 AND state = ?2 ORDER BY rank, at, id LIMIT ?3 + 0`)
	prepare(&b.read.find, selectJobs+` FROM jobs WHERE queue = ?1 AND id = ?2`)
	return err
}

// Counts implements queue.Backend. It counts the jobs, of which those whose delay or lease has
// ended are ready.
func (b *backend) Counts(ctx context.Context, name string, now int64) (c queue.Counts, err error) {
	rows, err := b.read.counts.QueryContext(ctx, name, now)
	err = sqlite.Rows(rows, err, func() error {
		var state queue.State
		var n, ended int
		err := rows.Scan(&state, &n, &ended)
		*c.Of(state) += n - ended
		c.Ready += ended
		return err
	})
	return c, b.wrap("counts", err)
}

// List implements queue.Backend.
func (b *backend) List(ctx context.Context, name string, state queue.State, limit int) (jobs []queue.Job, err error) {
	rows, err := b.read.list.QueryContext(ctx, name, state, limit)
	jobs, err = scanJobs(rows, err)
	return jobs, b.wrap("list", err)
}

// Find implements queue.Backend.
func (b *backend) Find(ctx context.Context, name string, id uint64) (queue.Job, error) {
	rows, err := b.read.find.QueryContext(ctx, name, int64(id))
	jobs, err := scanJobs(rows, err)
	switch {
	case err != nil:
		return queue.Job{}, b.wrap("find", err)
	case len(jobs) == 0:
		return queue.Job{}, queue.NoJob("find", name, id)
	}
	return jobs[0], nil
}

// selectJobs selects what scanJob scans.
const selectJobs = `SELECT state, id, token, priority, iif(state = 2, at, visible_at), created_at, attempts,
	` + theSpecial + `, ` + thePayload + `,
	iif(attempts > 0, (SELECT
		json_group_array(json_object('at', f.at, 'attempt', f.attempt, 'error', f.error) ORDER BY f.attempt)
		FROM failures f WHERE f.queue = jobs.queue AND f.id = jobs.id), NULL)`

// scanJobs returns the jobs in the rows of a query, which ended with err.
func scanJobs(rows *sql.Rows, err error) (jobs []queue.Job, _ error) {
	err = sqlite.Rows(rows, err, func() error {
		job, _, err := scanJob(rows)
		jobs = append(jobs, job)
		return err
	})
	return jobs, err
}

// scanJob returns the job of a row, and what the table specials has of it; further columns go to
// more.
func scanJob(rows *sql.Rows, more ...any) (job queue.Job, special []byte, err error) {
	var id, token, at, created int64
	var failures []byte
	err = rows.Scan(append([]any{&job.State, &id, &token, &job.Priority, &at, &created, &job.Attempts, &special,
		&job.Payload, &failures}, more...)...)
	if err != nil {
		return job, nil, err
	}
	if len(job.Payload) == 0 {
		job.Payload = nil
	}
	job.ID, job.VisibleAt, job.CreatedAt = uint64(id), queue.Millis(at), queue.Millis(created)
	if job.State == queue.Claimed {
		job.Receipt = queue.Receipt{ID: job.ID, Until: at, Token: uint64(token)}
	}
	return job, special, errors.Join(job.SetSpecial(special), job.SetFailures(failures))
}

// Queues implements queue.Backend.
func (b *backend) Queues(ctx context.Context) (names []string, err error) {
	rows, err := b.read.queues.QueryContext(ctx)
	err = sqlite.Rows(rows, err, func() error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, b.wrap("queues", err)
}
