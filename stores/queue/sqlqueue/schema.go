package sqlqueue

import (
	"fmt"

	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// format is the version of the tables. Those of oldFormat become it when they are opened.
const (
	format    = 2
	oldFormat = 1
)

// Jobs lie in the order in which they are looked for, and no index repeats it: what a call changes
// in a short queue is one page of the table. Each index, and each counter, would be one more to be
// written. Since a job moves when its state changes, payloads of more than mostInline bytes stand
// elsewhere.
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
CREATE INDEX jobs_extended ON jobs (queue, id) WHERE extended = 1;
CREATE TABLE queues (
	name   TEXT    PRIMARY KEY NOT NULL,
	holder INTEGER NOT NULL,
	last   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE jobqueue (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	format INTEGER NOT NULL
);` + moreTables

// moreTables are what oldFormat does not have. One trigger does all that a deletion may ask for:
// each that SQLite looks at has its price at every acknowledgement.
const moreTables = `
CREATE TABLE specials (
	queue   TEXT    NOT NULL,
	id      INTEGER NOT NULL,
	special TEXT    NOT NULL,
	PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE TABLE failures (
	queue   TEXT    NOT NULL,
	id      INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	error   TEXT    NOT NULL,
	PRIMARY KEY (queue, id, attempt)
) WITHOUT ROWID;
CREATE TABLE keys (
	queue TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	id    INTEGER NOT NULL,
	until INTEGER NOT NULL,
	PRIMARY KEY (queue, name)
) WITHOUT ROWID;
CREATE INDEX keys_ended ON keys (queue, until) WHERE id = 0;
CREATE TABLE schedules (
	queue TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	last  INTEGER NOT NULL,
	PRIMARY KEY (queue, name)
) WITHOUT ROWID;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs
WHEN old.payload IS NULL OR old.attempts > (old.state = 2) BEGIN
	DELETE FROM payloads WHERE old.payload IS NULL AND queue = old.queue AND id = old.id;
	DELETE FROM failures WHERE old.attempts > 0 AND queue = old.queue AND id = old.id;
	UPDATE keys SET id = 0 WHERE old.payload IS NULL AND queue = old.queue AND id = old.id AND name =
		(SELECT special ->> 'key' FROM specials WHERE queue = old.queue AND id = old.id);
	DELETE FROM specials WHERE old.payload IS NULL AND queue = old.queue AND id = old.id;
END;
CREATE TRIGGER failures_kept AFTER INSERT ON failures BEGIN
	DELETE FROM failures WHERE queue = new.queue AND id = new.id AND attempt <= new.attempt - 10;
END;`

const migration = `DROP TRIGGER jobs_deleted;` + moreTables + `UPDATE jobqueue SET format = 2;`

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
	switch {
	case err == nil && stored == oldFormat:
		return b.writer.exec(migration)
	case err == nil && stored != format:
		return queue.FormatError(int(stored), format)
	}
	return err
}

// statements are those of the writer.
type statements struct {
	holder, hold, publish, setPayload, claimOne, claim stmt
	skipID                                             stmt
	setSpecial                                         stmt
	ack, nack, giveBack, extend, addFailure            settling
	bury, drop, makeReady, nextDue, requeue, purge     stmt
	outdated, dead                                     stmt
	addEnded, forgetFailures, deleteID, readDead       stmt
	isHeld, sweepKeys, holdKey, readTick, tick         stmt
	savepoints                                         [3]stmt
}

// settling is a statement on a claim, found by its receipt, and one on a claim that was extended:
// its receipt tells an earlier end of the lease.
type settling struct{ claimed, extended stmt }

// What is common to statements.
const (
	byClaim     = ` WHERE queue = ?1 AND state = 2 AND rank = 0 AND at = ?4 AND id = ?2 AND token = ?3`
	byExtension = ` WHERE (queue, state, rank, at, id) = (SELECT queue, state, rank, at, id FROM jobs INDEXED BY jobs_extended
		WHERE queue = ?1 AND id = ?2 AND extended = 1 AND token = ?3 AND at <> ?4)`

	setClaimed = `UPDATE jobs SET state = 2, rank = 0, at = ?2, attempts = attempts + 1, token = random() | 1` // 0 is no token
	firstReady = `(SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = 0 ORDER BY rank, at, id LIMIT `
	thePayload = `ifnull(payload, (SELECT p.payload FROM payloads p WHERE p.queue = jobs.queue AND p.id = jobs.id))`
	// a job with a special has its payload elsewhere, whatever its size: so that others need not be
	// looked up
	theSpecial = `iif(payload IS NULL, (SELECT s.special FROM specials s WHERE s.queue = jobs.queue AND s.id = jobs.id), NULL)`
	asJob      = ` RETURNING id, token, priority, visible_at, created_at, attempts, ` + theSpecial + `, ` + thePayload

	// ?5 is the time, ?6 when to be ready
	setReleased = `UPDATE jobs SET state = ?6 > ?5, rank = iif(?6 > ?5, 0, priority), at = ?6, visible_at = ?6, attempts = attempts - 1,
		token = 0, extended = 0`
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

// isExhausted tells whether a job is dead after its attempt: limit is after how many if the job
// does not say itself.
func isExhausted(limit string) string {
	own := theSpecial + ` ->> 'max_attempts'`
	return `attempts >= CASE ` + own + ` WHEN -1 THEN 9223372036854775807 ELSE ifnull(` + own + `, ` + limit + `) END`
}

// becomes returns the columns of a job that is dead at the time died if condition holds, and else
// ready or delayed.
func becomes(condition, died, state, rank, at string) string {
	return fmt.Sprintf(`state = iif(%[1]s, 3, %[3]s), rank = iif(%[1]s, 0, %[4]s), at = iif(%[1]s, 0, %[5]s),
		visible_at = iif(%[1]s, %[2]s, %[5]s), token = 0, extended = 0`, condition, died, state, rank, at)
}

// prepareWriter prepares them. SQLite: a statement whose LIMIT is a bare parameter is compiled anew
// at each call, as its plan may depend on the number; a sum is not looked into.
func (b *backend) prepareWriter() error {
	s := &b.write
	// ?5 is the time, ?6 when to be ready, ?7 the number of attempts at which it is dead, ?8
	// whether it is dead in any case
	setGivenBack := `UPDATE jobs SET ` + becomes(`?8 OR `+isExhausted(`?7`), `?5`, `?6 > ?5`,
		`iif(?6 > ?5, 0, priority)`, `?6`)
	addFailure := `INSERT OR REPLACE INTO failures (queue, id, attempt, at, error) SELECT queue, id, attempts, ?5, ?6 FROM jobs`
	return b.prepare(
		&s.holder, `SELECT holder, last FROM queues WHERE name = ?1`,
		&s.hold, `INSERT INTO queues (name, holder, last) VALUES (?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, last = excluded.last`,
		&s.skipID, `UPDATE queues SET last = last + 1 WHERE name = ?1`,
		// nothing, if another has come to hold the ids
		&s.publish, `INSERT INTO jobs (queue, state, rank, at, id, priority, visible_at, created_at, payload)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?4, ?7, ?8 FROM queues WHERE name = ?1 AND holder = ?9`,
		&s.setSpecial, `INSERT INTO specials (queue, id, special) VALUES (?1, ?2, ?3)`,
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
		&s.makeReady, `UPDATE jobs SET `+becomes(`state = 2 AND `+isExhausted(`?3`), `?2`, `0`, `priority`, `at`)+`
			WHERE (queue, state, rank, at, id) IN `+firstDue,
		&s.addEnded, `INSERT OR REPLACE INTO failures (queue, id, attempt, at, error)
			SELECT queue, id, attempts, ?2, '`+queue.LeaseEnded+`'
			FROM jobs WHERE state = 2 AND (queue, state, rank, at, id) IN `+firstDue,
		&s.nextDue, `SELECT (SELECT min(at) FROM jobs WHERE queue = ?1 AND state = 1 AND rank = 0),
			(SELECT min(at) FROM jobs WHERE queue = ?1 AND state = 2 AND rank = 0)`,
		&s.addFailure.claimed, addFailure+byClaim, &s.addFailure.extended, addFailure+byExtension,
		&s.forgetFailures, `DELETE FROM failures WHERE queue = ?1 AND id = ?2`,
		&s.deleteID, `DELETE FROM jobs WHERE queue = ?1 AND id = ?2`,
		&s.readDead, `SELECT `+theSpecial+` FROM jobs WHERE queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND id = ?2`,
		// by another job than ?4
		&s.isHeld, `SELECT 1 FROM keys WHERE queue = ?1 AND name = ?2 AND id <> ?4 AND (until > ?3 OR id <> 0 AND NOT EXISTS
			(SELECT 1 FROM jobs WHERE jobs.queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND jobs.id = keys.id))`,
		&s.sweepKeys, `DELETE FROM keys WHERE (queue, name) IN
			(SELECT queue, name FROM keys INDEXED BY keys_ended WHERE queue = ?1 AND id = 0 AND until <= ?2 LIMIT 8)`,
		&s.holdKey, `INSERT INTO keys (queue, name, id, until) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (queue, name) DO UPDATE SET id = excluded.id, until = excluded.until`,
		&s.readTick, `SELECT last FROM schedules WHERE queue = ?1 AND name = ?2`,
		&s.tick, `INSERT INTO schedules (queue, name, last) VALUES (?1, ?2, ?3)
			ON CONFLICT (queue, name) DO UPDATE SET last = excluded.last`,
		&s.requeue, `UPDATE jobs SET state = 0, rank = priority, at = ?3, visible_at = ?3, attempts = 0
			WHERE queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND id = ?2`,
		&s.purge, `DELETE FROM jobs WHERE (queue, state, rank, at, id) IN
			(SELECT queue, state, rank, at, id FROM jobs WHERE queue = ?1 AND state = ?2 LIMIT ?3 + 0)`,
		&s.outdated, oldest,
		&s.dead, `SELECT rank, at, id, attempts, visible_at < ?2 FROM jobs
			WHERE queue = ?1 AND state = 3 AND rank = 0 AND at = 0 AND id > ?4 AND id < 1000 * ?2 ORDER BY id LIMIT ?3 + 0`,
		&s.savepoints[intables.Save], `SAVEPOINT op`, &s.savepoints[intables.Undo], `ROLLBACK TO op`,
		&s.savepoints[intables.Release], `RELEASE op`)
}
