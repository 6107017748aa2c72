package sqlqueue

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/sqlite"
	"github.com/assaydb/assay/stores/queue"
)

// Dump gives fn all items of the queues in the database of c, as [queue.Dump] does. One without the
// tables of queues has none. Call it within a transaction, so that all is of one moment.
func Dump(ctx context.Context, c *sql.Conn, fn func(*queue.Item) error) error {
	begun, err := begun(ctx, c)
	if err != nil || !begun {
		return err
	}
	d := dump{ctx: ctx, on: c, fn: fn}
	var heads []queue.Item
	keep := func(p *queue.Item) error { heads = append(heads, *p); return nil }
	err = (&dump{ctx: ctx, on: c, fn: keep}).each(queue.Item{Kind: queue.HeadItem},
		func(p *queue.Item) []any { return []any{&p.Queue, &p.ID} }, `SELECT name, last FROM queues
		UNION ALL SELECT DISTINCT queue, 0 FROM schedules WHERE queue NOT IN (SELECT name FROM queues) ORDER BY name`)
	for i := range heads {
		if err == nil {
			err = d.queue(&heads[i])
		}
	}
	return err
}

// begun reports whether there are the tables, in the format that is known.
func begun(ctx context.Context, c *sql.Conn) (bool, error) {
	stored, err := sqlite.Format(ctx, c, "jobqueue")
	switch {
	case err != nil || stored == 0:
		return false, err
	case stored == oldFormat:
		err = &kv.Error{Op: "dump queues", Kind: kv.Unsupported, Err: fmt.Errorf("format %d", stored),
			Hint: "open the queues once, which changes them"}
	case stored != format:
		err = queue.FormatError(stored, format)
	}
	return true, err
}

// dump is one Dump.
type dump struct {
	ctx context.Context
	on  *sql.Conn
	fn  func(*queue.Item) error
}

// each gives fn an item like p for each row of a query, whose columns go to fields.
func (d *dump) each(p queue.Item, fields func(*queue.Item) []any, query string, args ...any) error {
	return sqlite.Each(d.ctx, d.on, p, fields, d.fn, query, args...)
}

func (d *dump) queue(head *queue.Item) error {
	if err := d.fn(head); err != nil {
		return err
	}
	if err := d.jobs(head.Queue); err != nil {
		return err
	}
	err := d.each(queue.Item{Kind: queue.KeyItem, Queue: head.Queue},
		func(p *queue.Item) []any { return []any{&p.Name, &p.ID, &p.At} },
		`SELECT name, id, until FROM keys WHERE queue = ? ORDER BY name`, head.Queue)
	if err != nil {
		return err
	}
	return d.each(queue.Item{Kind: queue.ScheduleItem, Queue: head.Queue},
		func(p *queue.Item) []any { return []any{&p.Name, &p.At} },
		`SELECT name, last FROM schedules WHERE queue = ? ORDER BY name`, head.Queue)
}

func (d *dump) jobs(name string) error {
	rows, err := d.on.QueryContext(d.ctx, selectJobs+`, extended, iif(payload IS NULL, NOT EXISTS (SELECT 1 FROM payloads p
		WHERE p.queue = jobs.queue AND p.id = jobs.id), 0) FROM jobs WHERE queue = ? ORDER BY state, rank, at, id`, name)
	return sqlite.Rows(rows, err, func() (err error) {
		p := queue.Item{Kind: queue.JobItem, Queue: name}
		var lost bool
		if p.Job, p.Special, err = scanJob(rows, &p.Extended, &lost); err != nil {
			return err
		}
		if lost {
			return &kv.Error{Op: "dump queues", Kind: kv.Corrupt, Err: fmt.Errorf("job %d has no payload", p.Job.ID)}
		}
		return d.fn(&p)
	})
}

// Create makes the tables of queues in the database of c, unless they are there, within the
// caller's transaction.
func Create(ctx context.Context, c *sql.Conn) error {
	begun, err := begun(ctx, c)
	if err != nil || begun {
		return err
	}
	_, err = c.ExecContext(ctx, tables+`; INSERT INTO jobqueue (id, format) VALUES (1, ?)`, format)
	return err
}

// Restore writes an item into the queues in the database of c, as [queue.Restore] does, within the
// caller's transaction.
func Restore(ctx context.Context, c *sql.Conn, p *queue.Item) error {
	exec := func(query string, args ...any) error {
		_, err := c.ExecContext(ctx, query, args...)
		return err
	}
	switch p.Kind {
	case queue.HeadItem:
		if p.ID > math.MaxInt64 {
			return &kv.Error{Op: "restore", Kind: kv.Invalid, Err: fmt.Errorf("queue %q: id %d", p.Queue, p.ID)}
		}
		return exec(`INSERT INTO queues (name, holder, last) VALUES (?, 0, ?)`, p.Queue, int64(p.ID))
	case queue.JobItem:
		return restoreJob(exec, p)
	case queue.KeyItem:
		return exec(`INSERT INTO keys (queue, name, id, until) VALUES (?, ?, ?, ?)`, p.Queue, p.Name, int64(p.ID), p.At)
	}
	return exec(`INSERT INTO schedules (queue, name, last) VALUES (?, ?, ?)`, p.Queue, p.Name, p.At)
}

func restoreJob(exec func(query string, args ...any) error, p *queue.Item) error {
	job := &p.Job
	id, at := int64(job.ID), job.VisibleAt.UnixMilli()
	rank, place := 0, at
	switch job.State {
	case queue.Ready:
		rank = int(job.Priority)
	case queue.Dead:
		place = 0
	}
	payload := job.Payload
	if payload == nil {
		payload = []byte{}
	}
	large := len(payload) > mostInline || p.Special != nil
	var inline any = payload
	if large {
		inline = nil
	}
	err := exec(`INSERT INTO jobs (queue, state, rank, at, id, priority, visible_at, created_at, attempts, token,
		extended, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, p.Queue, int64(job.State), rank, place, id,
		int64(job.Priority), at, job.CreatedAt.UnixMilli(), job.Attempts, int64(job.Receipt.Token), p.Extended, inline)
	if err == nil && large {
		err = exec(`INSERT INTO payloads (queue, id, payload) VALUES (?, ?, ?)`, p.Queue, id, payload)
	}
	if err == nil && p.Special != nil {
		err = exec(`INSERT INTO specials (queue, id, special) VALUES (?, ?, ?)`, p.Queue, id, string(p.Special))
	}
	// the last first: each of the others would have a trigger remove what is ten attempts older
	failures := job.Failures()
	for i := len(failures) - 1; i >= 0 && err == nil; i-- {
		f := failures[i]
		err = exec(`INSERT INTO failures (queue, id, attempt, at, error) VALUES (?, ?, ?, ?, ?)`, p.Queue, id, f.Attempt,
			f.At.UnixMilli(), f.Error)
	}
	return err
}
