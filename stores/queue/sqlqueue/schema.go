package sqlqueue

import (
	"context"

	"github.com/assaydb/assay/stores/queue"
)

// format is the version of the tables.
const format = 1

// The conditions on state are those of the partial indexes, as numbers: SQLite uses such an index only where the query
// says the same.
const tables = `
CREATE TABLE jobs (
	queue      TEXT    NOT NULL,
	id         INTEGER NOT NULL,
	state      INTEGER NOT NULL,
	priority   INTEGER NOT NULL,
	visible_at INTEGER NOT NULL,
	until      INTEGER,
	created_at INTEGER NOT NULL,
	attempts   INTEGER NOT NULL DEFAULT 0,
	token      INTEGER,
	payload    BLOB    NOT NULL,
	PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX jobs_ready ON jobs (queue, priority, visible_at, id) WHERE state = 0;
CREATE INDEX jobs_timer ON jobs (queue, until, id) WHERE state IN (1, 2);
CREATE INDEX jobs_dead ON jobs (queue, id) WHERE state = 3;
CREATE TABLE queues (
	name    TEXT    PRIMARY KEY NOT NULL,
	last    INTEGER NOT NULL DEFAULT 0,
	ready   INTEGER NOT NULL DEFAULT 0,
	delayed INTEGER NOT NULL DEFAULT 0,
	claimed INTEGER NOT NULL DEFAULT 0,
	dead    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TRIGGER jobs_published AFTER INSERT ON jobs BEGIN
	INSERT INTO queues (name, last, ready, delayed) VALUES (new.queue, new.id, new.state = 0, new.state = 1)
	ON CONFLICT (name) DO UPDATE SET last = excluded.last, ready = ready + excluded.ready, delayed = delayed + excluded.delayed;
END;
CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs WHEN old.state <> new.state BEGIN
	UPDATE queues SET
		ready   = ready   + (new.state = 0) - (old.state = 0),
		delayed = delayed + (new.state = 1) - (old.state = 1),
		claimed = claimed + (new.state = 2) - (old.state = 2),
		dead    = dead    + (new.state = 3) - (old.state = 3)
	WHERE name = new.queue;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs BEGIN
	UPDATE queues SET
		ready   = ready   - (old.state = 0),
		delayed = delayed - (old.state = 1),
		claimed = claimed - (old.state = 2),
		dead    = dead    - (old.state = 3)
	WHERE name = old.queue;
END;
CREATE TABLE jobqueue (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	format INTEGER NOT NULL
);`

// create makes what is not there yet, in the transaction that is open.
func (b *backend) create() error {
	var begun int
	if err := b.row(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'jobqueue'`).Scan(&begun); err != nil {
		return err
	}
	if begun == 0 {
		if err := b.exec(tables); err != nil {
			return err
		}
		return b.exec(`INSERT INTO jobqueue (id, format) VALUES (1, ?)`, format)
	}
	var stored int
	err := b.row(`SELECT format FROM jobqueue`).Scan(&stored)
	if err == nil && stored != format {
		err = queue.FormatError(stored, format)
	}
	return err
}

// states are the conditions on state, by queue.State, for the indexes.
var states = [...]string{`state = 0`, `state = 1 AND state IN (1, 2)`, `state = 2 AND state IN (1, 2)`, `state = 3`}

// statements are those of the writer.
type statements struct {
	publish, claim, ack, nack, extend, bury, drop       stmt
	makeReady, nextDue, requeue, outdated, outdatedDead stmt
	purge                                               [len(states)]stmt
	savepoint, undo, release                            stmt
}

// prepareWriter prepares them. SQLite: a statement whose LIMIT is a bare parameter is compiled anew at each call, as its
// plan may depend on the number; a sum is not looked into.
func (b *backend) prepareWriter() error {
	s := &b.write
	err := b.prepare(
		// id, as queue.NextID says
		&s.publish, `INSERT INTO jobs (queue, id, state, priority, visible_at, until, created_at, payload)
			VALUES (?1, max(?2, ifnull((SELECT last + 1 FROM queues WHERE name = ?1), 0)), ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id`,
		// 0 is no token: the last bit is set
		&s.claim, `UPDATE jobs SET state = 2, attempts = attempts + 1, until = ?2, token = random() | 1
			WHERE queue = ?1 AND id IN (SELECT id FROM jobs WHERE queue = ?1 AND state = 0 ORDER BY priority, visible_at, id LIMIT ?3 + 0)
			RETURNING id, token, priority, visible_at, created_at, attempts, payload`,
		&s.ack, `DELETE FROM jobs WHERE queue = ?1 AND id = ?2 AND token = ?3 AND state = 2`,
		// ?4 is the time, ?5 when to be ready, ?6 the number of attempts at which it is dead
		&s.nack, `UPDATE jobs SET state = iif(attempts >= ?6, 3, ?5 > ?4), visible_at = ?5, token = NULL,
			until = iif(attempts >= ?6, ?4, iif(?5 > ?4, ?5, NULL))
			WHERE queue = ?1 AND id = ?2 AND token = ?3 AND state = 2`,
		&s.extend, `UPDATE jobs SET until = ?4 WHERE queue = ?1 AND id = ?2 AND token = ?3 AND state = 2`,
		&s.bury, `UPDATE jobs SET state = 3, until = ?3, token = NULL, attempts = ?4 WHERE queue = ?1 AND id = ?2`,
		&s.drop, `DELETE FROM jobs WHERE queue = ?1 AND id = ?2`,
		&s.makeReady, `UPDATE jobs SET state = iif(state = 2 AND attempts >= ?3, 3, 0), visible_at = until, token = NULL,
			until = iif(state = 2 AND attempts >= ?3, ?2, NULL)
			WHERE queue = ?1 AND id IN (SELECT id FROM jobs WHERE queue = ?1 AND state IN (1, 2) AND until <= ?2
				ORDER BY until, id LIMIT ?4 + 0)`,
		&s.nextDue, `SELECT min(until) FROM jobs WHERE queue = ?1 AND state IN (1, 2)`,
		&s.requeue, `UPDATE jobs SET state = 0, visible_at = ?3, until = NULL, attempts = 0 WHERE queue = ?1 AND id = ?2 AND state = 3`,
		&s.outdated, `SELECT id, attempts FROM jobs WHERE queue = ?1 AND id < ?2 AND state = 0 ORDER BY id LIMIT ?3 + 0`,
		&s.outdatedDead, `SELECT id, attempts FROM jobs WHERE queue = ?1 AND id < ?2 AND state = 3 ORDER BY id LIMIT ?3 + 0`,
		&s.savepoint, `SAVEPOINT op`, &s.undo, `ROLLBACK TO op`, &s.release, `RELEASE op`)
	for state, condition := range states {
		if err == nil {
			err = b.prepare(&s.purge[state], `DELETE FROM jobs WHERE queue = ?1 AND id IN
				(SELECT id FROM jobs WHERE queue = ?1 AND `+condition+` LIMIT ?2 + 0)`)
		}
	}
	return err
}

// exec and row run a statement once on the writer's connection.
func (b *backend) exec(query string, args ...any) error {
	_, err := b.writer.ExecContext(context.Background(), query, args...)
	return err
}
