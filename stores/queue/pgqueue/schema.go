package pgqueue

// An index holds the jobs of some states alone, so that one who claims or acknowledges changes two
// of them at most.
const tables = `
CREATE TABLE IF NOT EXISTS assay_jobs (
	queue        bytea    NOT NULL,
	id           bigint   NOT NULL,
	state        smallint NOT NULL,
	priority     smallint NOT NULL,
	at           bigint   NOT NULL,
	visible_at   bigint   NOT NULL,
	created_at   bigint   NOT NULL,
	attempts     integer  NOT NULL DEFAULT 0,
	token        bigint   NOT NULL DEFAULT 0,
	extended     boolean  NOT NULL DEFAULT false,
	max_attempts bigint,
	key          bytea,
	special      bytea,
	payload      bytea    NOT NULL,
	PRIMARY KEY (queue, id)
);
CREATE INDEX IF NOT EXISTS assay_jobs_ready ON assay_jobs (queue, priority, at, id) WHERE state = 0;
CREATE INDEX IF NOT EXISTS assay_jobs_delayed ON assay_jobs (queue, at, id) WHERE state = 1;
CREATE INDEX IF NOT EXISTS assay_jobs_claimed ON assay_jobs (queue, at, id) WHERE state = 2;
CREATE INDEX IF NOT EXISTS assay_jobs_dead ON assay_jobs (queue, id) WHERE state = 3;
CREATE TABLE IF NOT EXISTS assay_job_failures (
	queue   bytea   NOT NULL,
	id      bigint  NOT NULL,
	attempt integer NOT NULL,
	at      bigint  NOT NULL,
	error   bytea   NOT NULL,
	PRIMARY KEY (queue, id, attempt)
);
CREATE TABLE IF NOT EXISTS assay_job_keys (
	queue   bytea  NOT NULL,
	name    bytea  NOT NULL,
	id      bigint NOT NULL,
	"until" bigint NOT NULL,
	PRIMARY KEY (queue, name)
);
CREATE TABLE IF NOT EXISTS assay_job_schedules (
	queue bytea  NOT NULL,
	name  bytea  NOT NULL,
	last  bigint NOT NULL,
	PRIMARY KEY (queue, name)
);
CREATE TABLE IF NOT EXISTS assay_job_queues (
	name bytea  PRIMARY KEY,
	last bigint NOT NULL
);`

// What is common to statements: $1 is the queue. Of receipts, $2 are the ids, $3 the tokens and $4
// the ends of the leases: of a claim that was extended the receipt tells an earlier one.
//
// PostgreSQL: a statement whose best plan depends on how many receipts or jobs it is for is planned
// each time, which takes as long as to run it. A parameter in a SELECT of its own it does not look
// into.
const (
	held = `WITH held AS MATERIALIZED (
		SELECT j.id, j.token FROM assay_jobs j
		JOIN unnest((SELECT $2::bigint[]), (SELECT $3::bigint[]), (SELECT $4::bigint[])) r (id, token, "until") ON j.id = r.id
		WHERE j.queue = $1 AND j.state = 2 AND j.token = r.token AND (j.at = r."until" OR j.extended)
		ORDER BY j.id FOR UPDATE OF j)`
	ofHeld = ` FROM held WHERE j.queue = $1 AND j.id = held.id AND (SELECT count(*) FROM held) = cardinality($2::bigint[])`

	// what of a job has to be looked after when it is deleted
	left = ` RETURNING j.id, j.token, j.attempts > 0, j.key`

	// dead after its attempt: after how many the queue says, if the job does not
	exhaustedAt = `attempts >= CASE max_attempts WHEN -1 THEN 9223372036854775807 ELSE coalesce(max_attempts, `

	newToken = `((random() * 2147483647)::bigint << 32 | (random() * 2147483647)::bigint | 1)` // 0 is no token
)

const (
	takeIDs = `INSERT INTO assay_job_queues AS q (name, last) VALUES ($1, $2::bigint + $3 - 1)
		ON CONFLICT (name) DO UPDATE SET last = greatest(q.last + 1, $2) + $3 - 1 RETURNING last - $3 + 1`
	publish = `INSERT INTO assay_jobs (queue, id, state, priority, at, visible_at, created_at, max_attempts, key, special, payload)
		SELECT $1::bytea, id, state, priority, at, at, $2::bigint, max_attempts, key, special, payload FROM
		unnest($3::bigint[], $4::smallint[], $5::smallint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[])
		d (id, state, priority, at, max_attempts, key, special, payload)`
	// swap deletes the jobs of the receipts, and what is kept of them elsewhere, and claims up to
	// $6 jobs until $5; or does nothing if a receipt is stale: there are fewer held then
	swap = held + `,
		fresh AS MATERIALIZED (SELECT count(*) = cardinality($2::bigint[]) AS yes, count(*) AS n FROM held),
		done AS (DELETE FROM assay_jobs j USING held WHERE j.queue = $1 AND j.id = held.id AND (SELECT yes FROM fresh)
			RETURNING j.id, j.attempts, j.key),
		failures AS (DELETE FROM assay_job_failures f USING done d WHERE d.attempts > 1 AND f.queue = $1 AND f.id = d.id),
		keys AS (UPDATE assay_job_keys k SET id = 0 FROM done d WHERE d.key IS NOT NULL AND k.queue = $1 AND k.name = d.key AND k.id = d.id),
		claimed AS (UPDATE assay_jobs j SET state = 2, at = $5, attempts = attempts + 1, token = ` + newToken + `
			WHERE j.queue = $1 AND j.id = ANY (ARRAY(SELECT id FROM assay_jobs WHERE queue = $1 AND state = 0 AND (SELECT yes FROM fresh)
				ORDER BY priority, at, id LIMIT (SELECT $6::bigint) FOR UPDATE SKIP LOCKED))
			RETURNING j.id, j.token, j.priority, j.visible_at, j.created_at, j.attempts, j.special, j.payload)
		SELECT n, c.* FROM fresh LEFT JOIN claimed c ON true`

	ack = held + `, done AS (DELETE FROM assay_jobs j USING held WHERE j.queue = $1 AND j.id = held.id
		AND (SELECT count(*) FROM held) = cardinality($2::bigint[]) RETURNING j.id, j.attempts > 1, j.key)
		SELECT held.id, held.token, coalesce(d.failed, false), d.key FROM held LEFT JOIN done AS d (id, failed, key) ON d.id = held.id`
	// $5 is at how many attempts it is dead, $6 the time, $7 when to be ready, $8 whether it is
	// dead in any case
	nack = held + `, done AS (UPDATE assay_jobs j SET (state, at, visible_at) = (SELECT CASE WHEN d THEN 3 WHEN $7::bigint > $6 THEN 1 ELSE 0 END,
		CASE WHEN d THEN 0 ELSE $7 END, CASE WHEN d THEN $6::bigint ELSE $7 END FROM (SELECT $8 OR j.` + exhaustedAt + `$5) END AS d) dead),
		token = 0, extended = false` + ofHeld + `) SELECT id, token, false, NULL::bytea FROM held`
	giveBack = held + `, done AS (UPDATE assay_jobs j SET state = CASE WHEN $6::bigint > $5 THEN 1 ELSE 0 END, at = $6, visible_at = $6,
		attempts = attempts - 1, token = 0, extended = false` + ofHeld + `) SELECT id, token, false, NULL::bytea FROM held`
	extend = held + `, done AS (UPDATE assay_jobs j SET at = $5, extended = true` + ofHeld + `) SELECT id, token, false, NULL::bytea FROM held`

	addFailures = `INSERT INTO assay_job_failures (queue, id, attempt, at, error)
		SELECT queue, id, attempts, $3::bigint, $4::bytea FROM assay_jobs WHERE queue = $1 AND id = ANY($2::bigint[])
		ON CONFLICT (queue, id, attempt) DO UPDATE SET at = excluded.at, error = excluded.error`
	trimFailures = `DELETE FROM assay_job_failures f USING assay_jobs j
		WHERE f.queue = $1 AND f.id = ANY($2::bigint[]) AND j.queue = $1 AND j.id = f.id AND f.attempt <= j.attempts - 10`
	forgetFailures = `DELETE FROM assay_job_failures WHERE queue = $1 AND id = ANY($2::bigint[])`
	freeKeys       = `UPDATE assay_job_keys SET id = 0 WHERE queue = $1 AND name = ANY($2::bytea[]) AND id = ANY($3::bigint[])`

	// the first $3 whose time has come until $2: claims whose lease has ended, and delayed ones
	lockDue   = `SELECT id FROM assay_jobs WHERE queue = $1 AND state = $4 AND at <= $2 ORDER BY at, id LIMIT $3 FOR UPDATE SKIP LOCKED`
	makeReady = `UPDATE assay_jobs j SET state = CASE WHEN d THEN 3 ELSE 0 END, at = CASE WHEN d THEN 0 ELSE j.at END,
		visible_at = CASE WHEN d THEN $3::bigint ELSE j.at END, token = 0, extended = false
		FROM (SELECT id, state = 2 AND ` + exhaustedAt + `$4) END FROM assay_jobs WHERE queue = $1 AND id = ANY($2::bigint[])) AS due (id, d)
		WHERE j.queue = $1 AND j.id = due.id`
	nextDue = `SELECT (SELECT min(at) FROM assay_jobs WHERE queue = $1 AND state = 1),
		(SELECT min(at) FROM assay_jobs WHERE queue = $1 AND state = 2)`

	bury = `UPDATE assay_jobs SET state = 3, at = 0, visible_at = $3, token = 0, extended = false, attempts = $4
		WHERE queue = $1 AND id = $2`
	deleteID = `DELETE FROM assay_jobs j WHERE queue = $1 AND id = $2` + left
	purge    = `DELETE FROM assay_jobs j WHERE queue = $1 AND id IN
		(SELECT id FROM assay_jobs WHERE queue = $1 AND state = $2 LIMIT $3 FOR UPDATE SKIP LOCKED)` + left
	outdated = `SELECT id, attempts FROM assay_jobs WHERE queue = $1 AND state = 0 AND at < $2 ORDER BY priority, at, id LIMIT $3
		FOR UPDATE SKIP LOCKED`
	dead = `SELECT id, attempts, visible_at < $2 FROM assay_jobs WHERE queue = $1 AND state = 3 AND id > $4 ORDER BY id LIMIT $3
		FOR UPDATE SKIP LOCKED`
	readDead = `SELECT special FROM assay_jobs WHERE queue = $1 AND state = 3 AND id = $2 FOR UPDATE`
	requeue  = `UPDATE assay_jobs SET state = 0, at = $3, visible_at = $3, attempts = 0 WHERE queue = $1 AND id = $2`

	// the next statement sees what was committed by whoever had the key before
	lockKey   = `SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex') || ' ' || encode($2, 'hex'), 0))`
	sweepKeys = `DELETE FROM assay_job_keys WHERE queue = $1 AND id = 0 AND "until" <= $2 AND name IN
		(SELECT name FROM assay_job_keys WHERE queue = $1 AND id = 0 AND "until" <= $2 LIMIT 8 FOR UPDATE SKIP LOCKED)`
	// unless another job than $3 has it
	holdKey = `INSERT INTO assay_job_keys AS k (queue, name, id, "until") VALUES ($1, $2, $3, $4)
		ON CONFLICT (queue, name) DO UPDATE SET id = excluded.id, "until" = excluded."until"
		WHERE NOT (k.id <> $3 AND (k."until" > $5 OR k.id <> 0 AND NOT EXISTS
			(SELECT 1 FROM assay_jobs j WHERE j.queue = $1 AND j.state = 3 AND j.id = k.id)))`

	makeTick = `INSERT INTO assay_job_schedules (queue, name, last) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING`
	readTick = `SELECT last FROM assay_job_schedules WHERE queue = $1 AND name = $2 FOR UPDATE`
	tick     = `UPDATE assay_job_schedules SET last = $3 WHERE queue = $1 AND name = $2`
)
