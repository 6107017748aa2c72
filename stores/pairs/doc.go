// Package pairs makes the stores of this project the pairs of a store, in a form that does not
// depend on what keeps them, so that package transfer moves them between a key-value store, the
// tables of an SQLite file and Margaret's files:
//
//	import _ "github.com/assaydb/assay/stores/pairs"
//
//	transfer.Copy(ctx, "log:app.db?prefix=e/", "log:events.db?form=sql", nil)
//	transfer.Copy(ctx, "queue:jobs.db", "queue:data?form=pebble", nil)
//	transfer.Copy(ctx, "feed:log", "feed:data?form=pebble&compression=zstd", nil)
//
// The scheme says which store: log is one of package eventlog, queue the queues of package queue,
// feed one of package feed. The parameters say where it is:
//
//	form    sql, which are the tables of sqllog and sqlqueue, for a feed margaret, or the name of an engine; of what is there its
//	        content says it
//	prefix  the keys in the engine's store that begin so, as a kv.DB.Namespace has them
//
// A new feed in keys is kept as compression and block say, without a dictionary; one that is there
// as it was begun.
//
// It is for moving and looking, not for working. All commits are synced. Events and jobs that are
// put must be new, and nothing is removed: a store that was changed since is moved again. A value
// is found by reading all pairs before it. Pairs are read in ascending order alone.
//
// # Pairs
//
// A value is a line of JSON, and for an event its data behind that, for a job its payload. Numbers
// in keys are 8 bytes, big-endian; a text is as [kv.AppendString] has it; a name at the end of a
// key is as it is. Times are in milliseconds since 1970, those of events in nanoseconds.
//
// Of a log:
//
//	'a'                  up to which position all are used, and whether streams are indexed
//	'b' name             a subscription: its position
//	'e' position         an event: stream, version, type, time, id, meta; its data
//	'i' id               an id that is remembered: position and version of its event, its checksum
//	'l' name             a lease of a subscription: who has it until when
//	'p' text position    an event that a subscription parked, and why
//	's' name             a stream whose events are all removed: its version
//
// Of queues, each key behind the name of the queue, a text:
//
//	'a'                  the last id
//	'j' state rank at id a job: priority, when it was published, attempts, token of its claim, failures, and what is special
//	                     about it; its payload. state and rank are a byte. rank is the priority of a ready job, 128 more than
//	                     it; at is since when it is ready, or when its delay or lease ends; of a dead one both are 0
//	'k' name             a unique key: of which job, and held until when in any case
//	's' name             a schedule: its last tick
//
// Of a feed:
//
//	'a'           which message is the first, if others were trimmed
//	'm' sequence  a message: whether it was erased; its bytes
//
// What only a form has, and what makes no difference, is not in there: how many positions are
// reserved, marks and counters of a queue, indexes that only speed up SQL, how a feed is
// compressed. Reading a store checks it: an index, a counter or a state that contradicts the rest
// is Corrupt.
//
// A feed that was trimmed does not fit into Margaret's files, nor a message that was erased into
// keys: that is Unsupported.
package pairs
