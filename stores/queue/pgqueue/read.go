package pgqueue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/internal/postgres"
	"github.com/assaydb/assay/stores/queue"
)

const (
	selectJobs = `SELECT state, id, token, priority, CASE state WHEN 2 THEN at ELSE visible_at END, created_at, attempts, special, payload,
		CASE WHEN attempts > 0 THEN (SELECT array_agg(f.at ORDER BY attempt) FROM assay_job_failures f WHERE f.queue = j.queue AND f.id = j.id) END,
		CASE WHEN attempts > 0 THEN (SELECT array_agg(f.attempt ORDER BY attempt) FROM assay_job_failures f WHERE f.queue = j.queue AND f.id = j.id) END,
		CASE WHEN attempts > 0 THEN (SELECT array_agg(f.error ORDER BY attempt) FROM assay_job_failures f WHERE f.queue = j.queue AND f.id = j.id) END
		FROM assay_jobs j WHERE queue = $1 AND `
	findJob   = selectJobs + `id = $2`
	listJobs  = selectJobs + `state = $2 ORDER BY CASE state WHEN 0 THEN priority ELSE 0 END, CASE state WHEN 3 THEN 0 ELSE at END, id LIMIT $3`
	countJobs = `SELECT state, count(*), count(*) FILTER (WHERE state IN (1, 2) AND at <= $2) FROM assay_jobs WHERE queue = $1 GROUP BY state`
	allQueues = `SELECT name FROM assay_job_queues ORDER BY name`
)

// Counts implements queue.Backend. It counts the jobs, of which those whose delay or lease has
// ended are ready.
func (b *backend) Counts(ctx context.Context, name string, now int64) (c queue.Counts, err error) {
	err = b.each(ctx, func(rows pgx.Rows) error {
		var state queue.State
		var n, ended int
		if err := rows.Scan(&state, &n, &ended); err != nil {
			return err
		}
		*c.Of(state) += n - ended
		c.Ready += ended
		return nil
	}, countJobs, []byte(name), now)
	return c, postgres.Wrap("counts", err)
}

// List implements queue.Backend.
func (b *backend) List(ctx context.Context, name string, state queue.State, limit int) (jobs []queue.Job, err error) {
	err = b.each(ctx, func(rows pgx.Rows) error {
		job, err := scanJob(rows)
		jobs = append(jobs, job)
		return err
	}, listJobs, []byte(name), int16(state), limit)
	return jobs, postgres.Wrap("list", err)
}

// Find implements queue.Backend.
func (b *backend) Find(ctx context.Context, name string, id uint64) (job queue.Job, err error) {
	found := false
	err = b.each(ctx, func(rows pgx.Rows) (err error) {
		found = true
		job, err = scanJob(rows)
		return err
	}, findJob, []byte(name), int64(id))
	if err == nil && !found {
		return job, queue.NoJob("find", name, id)
	}
	return job, postgres.Wrap("find", err)
}

// Queues implements queue.Backend.
func (b *backend) Queues(ctx context.Context) (names []string, err error) {
	err = b.each(ctx, func(rows pgx.Rows) error {
		var name []byte
		err := rows.Scan(&name)
		names = append(names, string(name))
		return err
	}, allQueues)
	return names, postgres.Wrap("queues", err)
}

// each gives the rows of a query to scan.
func (b *backend) each(ctx context.Context, scan func(pgx.Rows) error, text string, args ...any) error {
	rows, err := b.pool.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanJob(rows pgx.Rows) (job queue.Job, err error) {
	var id, token, at, created int64
	var special []byte
	var failedAt []int64
	var attempts []int
	var errs [][]byte
	err = rows.Scan(&job.State, &id, &token, &job.Priority, &at, &created, &job.Attempts, &special, &job.Payload,
		&failedAt, &attempts, &errs)
	if err != nil {
		return job, err
	}
	job.ID, job.VisibleAt, job.CreatedAt = uint64(id), queue.Millis(at), queue.Millis(created)
	if len(job.Payload) == 0 {
		job.Payload = nil
	}
	if job.State == queue.Claimed {
		job.Receipt = queue.Receipt{ID: job.ID, Until: at, Token: uint64(token)}
	}
	if err := job.SetSpecial(special); err != nil || len(errs) == 0 {
		return job, err
	}
	failures := make([]queue.Failure, len(errs))
	for i := range failures {
		failures[i] = queue.Failure{At: queue.Millis(failedAt[i]), Attempt: attempts[i], Error: string(errs[i])}
	}
	text, err := queue.FailuresText(failures)
	if err != nil {
		return job, err
	}
	return job, job.SetFailures(text)
}
