// What passes between Go and C, and the calls that take it over.

#ifndef ASSAY_CROSS_H
#define ASSAY_CROSS_H

#include "sqlite.h"

// A value is an argument or a column. Text and blobs lie in a buffer beside it.
typedef struct {
	int64_t number;  // the integer, the bits of the float, or the offset in the buffer
	int32_t kind;    // as SQLite's: 1 integer, 2 float, 3 text, 4 blob, 5 null; 0 is null, too
	uint32_t length; // bytes of a text or blob
} assay_value;

// The bits of hooks: which callbacks of Go there are.
enum { hook_trace = 1, hook_wal = 2, hook_commit = 4, hook_rollback = 8, hook_update = 16, hook_progress = 32, hook_authorize = 64,
	hook_files = 128 };

struct assay_ring;
struct assay_run;

typedef struct {
	sqlite3 *db;
	uintptr_t handle;    // of the connection in Go
	int stop;            // atomic: a running statement ends
	int beside;          // atomic: statements that have rows left, and blobs, beside what runs
	int64_t wait;        // for a lock, in milliseconds
	int64_t waiting;     // since when, in nanoseconds
	int defensive;       // SQL cannot damage the file
	int strict_quotes;   // what stands in double quotes is never a text
	int hooks;           // of Go
	int checkpoint;      // after a commit that leaves so many pages in the log; 0: never
	int checkpoint_rc;   // of the last one in the hook
	int preparing;       // a statement of the program's is being compiled
	int guarded;         // the policy table is hidden from it, and policy's settings are kept
	const char *kept;    // settings that the program cannot change, each between commas
	int names_schema;    // what is being compiled reads the schema
	uint32_t pages;      // in the log, if the running statement committed
	struct assay_run *running;
	struct assay_ring *ring;
} assay_conn;

// A run is a prepared statement.
typedef struct assay_run {
	sqlite3_stmt *stmt;
	char *held; // copies of the arguments while rows are outstanding
	uint64_t room;
	int columns;
	int parameters;
	int read_only;
	int hides;   // leave out rows that name the policy table
	int active;  // it has been stepped and not reset
	int pending; // its row has not been copied yet
	int timeout; // it is PRAGMA busy_timeout: 1 asks, 2 sets
	int autocheckpoint; // it is PRAGMA wal_autocheckpoint
	int anew;    // how often SQLite compiled it again
	int64_t started; // by the monotonic clock, if a callback traces it
	int64_t began;   // in ticks of the ring's clock, if that does
	uint32_t id;     // of its text in the ring; 0: none
} assay_run;

// An outcome is what a crossing did.
typedef struct {
	int32_t rc;   // 100: there are more rows; 101: the statement ended; -1: the next row needs so many bytes
	int32_t rows; // copied
	int32_t anew; // it was compiled again: its columns may be others
	int32_t lost; // it failed, and SQLite rolled back the transaction that it was in
	int64_t need;
	int64_t changes;
	int64_t rowid;
} assay_outcome;

void assay_configure(int count);
int assay_open(assay_conn *c, const char *name, int flags, const char *vfs);
int assay_prepare(assay_conn *c, const char *sql, int length, unsigned int flags, assay_run **run, int *tail);
void assay_finalize(assay_conn *c, assay_run *r);
void assay_reset(assay_conn *c, assay_run *r);
void assay_stop(assay_conn *c, int on);
void assay_beside(assay_conn *c, int more);
void assay_hooks(assay_conn *c);
void assay_hook_log(assay_conn *c);
int assay_defend(assay_conn *c, int on);
void assay_ended(assay_conn *c, assay_run *r); // tells the ring

// assay_step runs r with args until its rows fill out, or it ends. Its twin is for connections whose
// callbacks call Go.
void assay_step(assay_conn *c, assay_run *r, assay_value *args, int n, const char *data, uint64_t length,
	char *out, int64_t room, int most, assay_outcome *o);
void assay_step_calling(assay_conn *c, assay_run *r, assay_value *args, int n, const char *data, uint64_t length,
	char *out, int64_t room, int most, assay_outcome *o);

// A ring holds what was traced until Go takes it. Times in it are ticks, and are nanoseconds of the
// monotonic clock once they are taken.
typedef struct {
	int64_t at;
	int64_t duration; // of a profile
	uintptr_t conn;
	int32_t kind;
	uint32_t id;     // of the text; if it is 0 the text stands apart
	uint32_t length; // of the text before it was cut
	uint32_t pages;  // in the log after a commit
} assay_event;

typedef char assay_text[208];

typedef struct assay_ring assay_ring;
assay_ring *assay_ring_new(uint64_t slots);
void assay_ring_free(assay_ring *r);
void assay_ring_put(assay_ring *r, int kind, uintptr_t conn, int64_t at, int64_t duration, uint32_t pages, uint32_t id, const char *text);
int assay_ring_take(assay_ring *r, assay_event *to, assay_text *texts, int n);
uint64_t assay_ring_lost(assay_ring *r);
int64_t assay_now(void);
int64_t assay_ticks(void);

#endif
