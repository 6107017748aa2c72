package sqlqueue

import (
	"fmt"

	"github.com/assaydb/assay/stores/queue"
)

// format is the version of the tables.
const format = 1

// Jobs lie in the order in which they are looked for, and no index repeats it: what a call changes in a short queue is one
// page of the table. Each index, and each counter, would be one more to be written. Since a job moves when its state
// changes, payloads of more than mostInline bytes stand elsewhere.
const tables = `
CREATE TABLE jobs (
	queue      TEXT    NOT NULL,
	state      INTEGER NOT NULL,
	rank       INTEGER NOT NULL,
	at         INTEGER NOT NULL,
	id         INTEGER NOT NULL,
	priority   INTEGER NOT NULL,
	visible_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	attempts   INTEGER NOT NULL DEFAULT 0,
	token      INTEGER NOT NULL DEFAULT 0,
	extended   INTEGER NOT NULL DEFAULT 0,
	payload    BLOB,
	PRIMARY KEY (queue, state, rank, at, id)
) WITHOUT ROWID;
CREATE TABLE payloads (
	queue   TEXT    NOT NULL,
	id      INTEGER NOT NULL,
	payload BLOB    NOT NULL,
	PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs WHEN old.payload IS NULL BEGIN
	DELETE FROM payloads WHERE queue = old.queue AND id = old.id;
END;
CREATE INDEX jobs_extended ON jobs (queue, id) WHERE extended = 1;
CREATE TABLE queues (
	name   TEXT    PRIMARY KEY NOT NULL,
	holder INTEGER NOT NULL,
	last   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE jobqueue (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	format INTEGER NOT NULL
);`

// mostInline is how large payloads in the table jobs are at most, in bytes.
const mostInline = 1024

// create makes what is not there yet, in the transaction that is open.
func (b *backend) create() error {
	begun, err := b.writer.integer(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'jobqueue'`)
	if err != nil {
		return err
	}
	if begun == 0 {
		if err := b.writer.exec(tables); err != nil {
			return err
		}
		return b.writer.exec(fmt.Sprintf(`INSERT INTO jobqueue (id, format) VALUES (1, %d)`, format))
	}
	stored, err := b.writer.integer(`SELECT format FROM jobqueue`)
	if err == nil && stored != format {
		err = queue.FormatError(int(stored), format)
	}
	return err
}

// statements are those of the writer.
type statements struct {
	holder, hold, publish, setPayload, claimOne, claim stmt
	ack, nack, giveBack, extend                        settling
	bury, drop, makeReady, nextDue, requeue, purge     stmt
	outdated, outdatedDead, savepoint, undo, release   stmt
}

// settling is a statement on a claim, found by its receipt, and one on a claim that was extended: its receipt tells an
// earlier end of the lease.
type settling struct{ claimed, extended stmt }

// What is common to statements.
const (
	byClaim     = ` WHERE queue = ?1 AND state = 2 AND rank = 0 AND at = ?4 AND id = ?2 AND token = ?3`
	byExtension = ` WHERE (queue, state, rank, at, id) = (SELECT queue, state, rank, at, id FROM jobs INDEXED BY jobs_extended
		WHERE queue = ?1 AND id = ?2 AND extended = 1 AND token = ?3 AND at <> ?4)`

	setClaimed = `UPDATE jobs SET state = 2, rank = 0, at = ?2, attempts = attempts + 1, token = random() | 1` // 0 is no token
	firstReady = `(SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = 0 ORDER BY rank, at, id LIMIT `
	thePayload = `ifnull(payload, (SELECT p.payload FROM payloads p WHERE p.queue = jobs.queue AND p.id = jobs.id))`
	asJob      = ` RETURNING id, token, priority, visible_at, created_at, attempts, ` + thePayload

	// ?5 is the time, ?6 when to be ready, ?7 the number of attempts at which it is dead
	setGivenBack = `UPDATE jobs SET state = iif(attempts >= ?7, 3, ?6 > ?5), rank = iif(attempts >= ?7 OR ?6 > ?5, 0, priority),
		at = iif(attempts >= ?7, 0, ?6), visible_at = iif(attempts >= ?7, ?5, ?6), token = 0, extended = 0`
	setReleased = `UPDATE jobs SET state = 0, rank = priority, at = ?5, visible_at = ?5, attempts = attempts - 1, token = 0, extended = 0`
	setExtended = `UPDATE jobs SET at = ?5, extended = 1`

	// the first ?4 whose time came until ?2, of delayed and of claimed jobs
	firstDue = `(SELECT queue, state, rank, at, id FROM
		(SELECT * FROM (SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = 1 AND rank = 0 AND at <= ?2
			ORDER BY at, id LIMIT ?4 + 0)
		UNION ALL SELECT * FROM (SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = 2 AND rank = 0 AND at <= ?2
			ORDER BY at, id LIMIT ?4 + 0))
		ORDER BY at, id LIMIT ?4 + 0)`

	// the ready jobs that were so before ?2: those at the beginning of each rank
	oldest = `WITH RECURSIVE ranks (rank) AS (
			SELECT min(rank) FROM jobs WHERE queue = ?1 AND state = 0
			UNION ALL SELECT (SELECT min(rank) FROM jobs WHERE queue = ?1 AND state = 0 AND rank > ranks.rank) FROM ranks WHERE rank IS NOT NULL)
		SELECT jobs.rank, at, id, attempts FROM ranks CROSS JOIN jobs
			WHERE queue = ?1 AND state = 0 AND jobs.rank = ranks.rank AND at < ?2 LIMIT ?3 + 0`
)

// prepareWriter prepares them. SQLite: a statement whose LIMIT is a bare parameter is compiled anew at each call, as its
// plan may depend on the number; a sum is not looked into.
func (b *backend) prepareWriter() error {
	s := &b.write
	return b.prepare(
		&s.holder, `SELECT holder, last FROM queues WHERE name = ?1`,
		&s.hold, `INSERT INTO queues (name, holder, last) VALUES (?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, last = excluded.last`,
		// nothing, if another has come to hold the ids
		&s.publish, `INSERT INTO jobs (queue, state, rank, at, id, priority, visible_at, created_at, payload)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?4, ?7, ?8 FROM queues WHERE name = ?1 AND holder = ?9`,
		&s.setPayload, `INSERT INTO payloads (queue, id, payload) VALUES (?1, ?2, ?3)`,
		&s.claimOne, setClaimed+` WHERE (queue, state, rank, at, id) = `+firstReady+`1)`+asJob,
		&s.claim, setClaimed+` WHERE (queue, state, rank, at, id) IN `+firstReady+`?3 + 0)`+asJob,
		&s.ack.claimed, `DELETE FROM jobs`+byClaim, &s.ack.extended, `DELETE FROM jobs`+byExtension,
		&s.nack.claimed, setGivenBack+byClaim, &s.nack.extended, setGivenBack+byExtension,
		&s.giveBack.claimed, setReleased+byClaim, &s.giveBack.extended, setReleased+byExtension,
		&s.extend.claimed, setExtended+byClaim, &s.extend.extended, setExtended+byExtension,
		&s.bury, `UPDATE jobs SET state = 3, rank = 0, at = 0, visible_at = ?6, token = 0, attempts = ?7
			WHERE queue = ?1 AND state = ?2 AND rank = ?3 AND at = ?4 AND id = ?5`,
		&s.drop, `DELETE FROM jobs WHERE queue = ?1 AND state = ?2 AND rank = ?3 AND at = ?4 AND id = ?5`,
		&s.makeReady, `UPDATE jobs SET state = iif(state = 2 AND attempts >= ?3, 3, 0), rank = iif(state = 2 AND attempts >= ?3, 0, priority),
			at = iif(state = 2 AND attempts >= ?3, 0, at), visible_at = iif(state = 2 AND attempts >= ?3, ?2, at), token = 0, extended = 0
			WHERE (queue, state, rank, at, id) IN `+firstDue,
		&s.nextDue, `SELECT min(at) FROM (SELECT min(at) AS at FROM jobs WHERE queue = ?1 AND state = 1 AND rank = 0
			UNION ALL SELECT min(at) FROM jobs WHERE queue = ?1 AND state = 2 AND rank = 0)`,
		&s.requeue, `UPDATE jobs SET state = 0, rank = priority, at = ?3, visible_at = ?3, attempts = 0
			WHERE queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND id = ?2`,
		&s.purge, `DELETE FROM jobs WHERE (queue, state, rank, at, id) IN
			(SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = ?2 LIMIT ?3 + 0)`,
		&s.outdated, oldest,
		&s.outdatedDead, `SELECT rank, at, id, attempts FROM jobs WHERE queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND id < 1000 * ?2 AND visible_at < ?2
			ORDER BY id LIMIT ?3 + 0`,
		&s.savepoint, `SAVEPOINT op`, &s.undo, `ROLLBACK TO op`, &s.release, `RELEASE op`)
}
