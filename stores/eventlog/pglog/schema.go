package pglog

// format is the version of the tables.
const format = 1

const tables = `
CREATE TABLE IF NOT EXISTS assay_log_events (
	position bigint PRIMARY KEY,
	stream   bytea  NOT NULL,
	version  bigint,
	type     bytea  NOT NULL,
	data     bytea  NOT NULL,
	time     bigint NOT NULL,
	extra    bytea,
	commit   bigint NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS assay_log_versions ON assay_log_events (stream, version) WHERE version IS NOT NULL;
CREATE TABLE IF NOT EXISTS assay_log_truncated (
	stream  bytea  PRIMARY KEY,
	version bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS assay_log_ids (
	n        bigint PRIMARY KEY,
	id       bytea  NOT NULL UNIQUE,
	position bigint NOT NULL,
	version  bigint NOT NULL,
	sum      bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS assay_log_subscriptions (
	name     bytea  PRIMARY KEY,
	position bigint NOT NULL,
	holder   bytea  NOT NULL DEFAULT '',
	"until"  bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS assay_log_parked (
	name     bytea  NOT NULL,
	position bigint NOT NULL,
	cause    bytea  NOT NULL,
	PRIMARY KEY (name, position)
);
CREATE UNLOGGED TABLE IF NOT EXISTS assay_log_alive (
	id smallint PRIMARY KEY CHECK (id = 1)
);
CREATE TABLE IF NOT EXISTS assay_log (
	id       smallint PRIMARY KEY CHECK (id = 1),
	format   integer NOT NULL,
	streams  boolean NOT NULL,
	last     bigint  NOT NULL,
	reserved bigint  NOT NULL
);
INSERT INTO assay_log VALUES (1, 1, false, 0, 0) ON CONFLICT DO NOTHING;`

const (
	readOptions   = `SELECT format, streams, 'assay_log'::regclass::oid::text FROM assay_log`
	changeStreams = `UPDATE assay_log SET streams = $1 WHERE NOT EXISTS (SELECT FROM assay_log_events)`
)

// What an append is made of. PostgreSQL: a statement sees what was committed when it began, also if
// it waits for a lock; those behind lockHead see what its owner before has committed. A statement
// whose best plan depends on how long an array is it plans each time; into a parameter in a SELECT
// of its own it does not look.
const (
	lockHead = `SELECT last, reserved, streams FROM assay_log FOR UPDATE`
	// after a crash positions up to those that were reserved or acknowledged may be of events that
	// are lost
	readState = `SELECT coalesce((SELECT max(position) FROM assay_log_events), 0), alive,
		CASE WHEN NOT alive THEN coalesce((SELECT max(position) FROM assay_log_subscriptions), 0) ELSE 0 END,
		current_setting('synchronous_commit') <> 'off' FROM (SELECT EXISTS (SELECT FROM assay_log_alive)) AS s (alive)`
	readVersions = `SELECT name, coalesce((SELECT max(version) FROM assay_log_events WHERE stream = name AND version IS NOT NULL),
		(SELECT version FROM assay_log_truncated WHERE stream = name), 0) FROM unnest((SELECT $1::bytea[])) AS s (name)`
	readIDs = `SELECT id, position, version, sum FROM assay_log_ids WHERE id = ANY($1::bytea[])`

	insertEvents = `INSERT INTO assay_log_events (position, stream, version, type, data, time, extra, commit)
		SELECT position, stream, nullif(version, 0), type, data, time, extra, $8::bigint FROM
		unnest((SELECT $1::bigint[]), (SELECT $2::bytea[]), (SELECT $3::bigint[]), (SELECT $4::bytea[]), (SELECT $5::bytea[]),
		(SELECT $6::bigint[]), (SELECT $7::bytea[])) e (position, stream, version, type, data, time, extra)`
	insertIDs = `INSERT INTO assay_log_ids (n, id, position, version, sum)
		SELECT (SELECT coalesce(max(n), 0) FROM assay_log_ids) + n, id, position, version, sum FROM
		unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY i (id, position, version, sum, n)`
	forgetIDs = `DELETE FROM assay_log_ids WHERE n IN (SELECT n FROM assay_log_ids
		WHERE n <= (SELECT max(n) FROM assay_log_ids) - $1 ORDER BY n LIMIT $2)`
	setHead    = `UPDATE assay_log SET last = $1`
	setAlive   = `INSERT INTO assay_log_alive VALUES (1) ON CONFLICT DO NOTHING`
	notifyAll  = `SELECT pg_notify($1, $2)`
	findCommit = `SELECT coalesce((SELECT commit FROM assay_log_events WHERE position = $1), -1)`

	// after a crash it also gives up what an append gives up then, see readState
	reserve = `WITH crashed AS (INSERT INTO assay_log_alive SELECT id FROM assay_log FOR UPDATE ON CONFLICT DO NOTHING RETURNING id)
		UPDATE assay_log SET reserved = greatest(reserved, $1), last = CASE WHEN EXISTS (SELECT FROM crashed)
			THEN greatest(last, reserved, (SELECT max(position) FROM assay_log_subscriptions)) ELSE last END`
	// what a crash has taken keeps its positions
	giveBack = `UPDATE assay_log SET reserved = last WHERE reserved > last AND EXISTS (SELECT FROM assay_log_alive)`
)
