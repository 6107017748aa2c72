package workload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// publishedQueue is a queue as the publication has it: one table, each call one SQL text through
// database/sql's pool, prepared anew each time, and nothing that tells claims of one job apart. Its
// statements run without a context that can end: the driver would start a goroutine for each.
type publishedQueue struct {
	db   *sql.DB
	news chan struct{} // a job was published
}

const publishedTables = `
CREATE TABLE IF NOT EXISTS jobs (
	id         INTEGER PRIMARY KEY,
	queue      TEXT    NOT NULL,
	payload    BLOB    NOT NULL,
	visible_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	attempts   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS jobs_visible ON jobs (queue, visible_at);`

const (
	publishedPublish = `INSERT INTO jobs (queue, payload, visible_at, created_at) VALUES (?, ?, ?, ?)`
	publishedClaim   = `UPDATE jobs SET visible_at = ?, attempts = attempts + 1 WHERE id = (
		SELECT id FROM jobs WHERE queue = ? AND visible_at <= ? ORDER BY visible_at LIMIT 1
	) RETURNING id, payload, attempts`
	publishedAck = `DELETE FROM jobs WHERE id = ?`
)

// openPublished opens the published queue. Its pragmas are in the name of the database, so that all
// connections have them.
func openPublished(ctx context.Context, driver, path string, class kv.Durability, pragmas map[string]string) (jobQueue,
	error) {
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/dir/name
	}
	synchronous := "NORMAL"
	if class == kv.Synced {
		synchronous = "FULL"
	}
	query := url.Values{"_journal_mode": {"WAL"}, "_pragma": {"busy_timeout(10000)",
		"synchronous(" + synchronous + ")"}}
	if driver == cDriver { // which has other names for the same
		query = url.Values{"_journal_mode": {"WAL"}, "_busy_timeout": {"10000"}, "_synchronous": {synchronous}}
	}
	for name, value := range pragmas {
		query.Add("_pragma", name+"("+value+")")
	}
	db, err := sql.Open(driver, (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, publishedTables); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.SetMaxOpenConns(1) // the published program has a single writer; two would sleep for each other's locks
	return &publishedQueue{db: db, news: make(chan struct{}, 1)}, nil
}

func (q *publishedQueue) publish(ctx context.Context, payloads ...[]byte) error {
	if len(payloads) == 1 {
		now := time.Now().UnixMilli()
		_, err := q.db.ExecContext(context.WithoutCancel(ctx), publishedPublish, "work", payloads[0], now, now)
		select {
		case q.news <- struct{}{}:
		default:
		}
		return err
	}
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	for _, p := range payloads {
		if _, err := tx.ExecContext(ctx, publishedPublish, "work", p, now, now); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// claim claims one job after the other: there is no more to it.
func (q *publishedQueue) claim(ctx context.Context, limit int) (jobs []queue.Job, err error) {
	for len(jobs) < limit {
		var job queue.Job
		now := time.Now()
		row := q.db.QueryRowContext(context.WithoutCancel(ctx), publishedClaim,
			now.Add(queueSettings.Lease).UnixMilli(), "work", now.UnixMilli())
		err := row.Scan(&job.ID, &job.Payload, &job.Attempts)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func (q *publishedQueue) next(context.Context) ([]queue.Job, error) { return nil, errNotPublished }

// nextAfter acknowledges and claims one after the other. It does not poll: the producer tells it
// that there is a job.
func (q *publishedQueue) nextAfter(ctx context.Context, done ...queue.Job) (jobs []queue.Job, err error) {
	if err := q.ack(ctx, done...); err != nil {
		return nil, err
	}
	for {
		if jobs, err = q.claim(ctx, 1); err != nil || len(jobs) > 0 {
			return jobs, err
		}
		select {
		case <-q.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *publishedQueue) nack(context.Context, queue.Job) error { return errNotPublished }

var errNotPublished = &kv.Error{Op: "workload", Engine: "sqlite", Kind: kv.Unsupported,
	Err:  errors.New("the published queue cannot do that"),
	Hint: "use another form"}

func (q *publishedQueue) ack(ctx context.Context, jobs ...queue.Job) error {
	for _, job := range jobs {
		result, err := q.db.ExecContext(context.WithoutCancel(ctx), publishedAck, int64(job.ID))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n != 1 {
			return errors.Join(fmt.Errorf("ack of job %d: %d rows deleted", job.ID, n), err)
		}
	}
	return nil
}

func (q *publishedQueue) counts(ctx context.Context) (c queue.Counts, err error) {
	err = q.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE visible_at <= ?1), count(*) FILTER (WHERE visible_at > ?1) FROM jobs`,
		time.Now().UnixMilli()).Scan(&c.Ready, &c.Claimed)
	return c, err
}

func (q *publishedQueue) list(context.Context, queue.State, int) ([]queue.Job, error) {
	return nil, errNotPublished
}

func (q *publishedQueue) close() error { return q.db.Close() }
