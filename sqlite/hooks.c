#include "cross.h"
#include "_cgo_export.h"

#include <string.h>

// The events of sqlite3_trace_v2.
enum { trace_statement = 1, trace_profile = 2, trace_row = 4, trace_close = 8 };

// trace takes the time itself: that of SQLite is in whole milliseconds as a rule, and it reads the
// clock for it. So a ring has the end of a statement from assay_step.
static int trace(unsigned int kind, void *arg, void *p, void *x) {
	assay_conn *c = arg;
	assay_run *r = c->running;
	const char *text = NULL;
	int called = c->hooks >> 8 & (int)kind;
	int64_t now = c->hooks >> 8 ? assay_now() : 0, duration = 0;
	if (r != NULL && r->stmt != p)
		r = NULL; // a statement of SQLite's own within the one that runs
	switch (kind) {
	case trace_statement: // x is the text, or a comment that names a trigger
		text = x;
		if (r != NULL && strncmp(text, "--", 2) != 0) {
			r->started = now;
			if (c->ring != NULL)
				r->began = assay_ticks();
		} else if (c->ring != NULL)
			assay_ring_put(c->ring, kind, c->handle, assay_ticks(), 0, 0, 0, text);
		break;
	case trace_profile:
		text = sqlite3_sql(p);
		duration = r != NULL && r->started != 0 ? now - r->started : *(int64_t *)x;
		break;
	case trace_row:
		text = sqlite3_sql(p);
		break;
	case trace_close:
		if (c->ring != NULL)
			assay_ring_put(c->ring, kind, c->handle, assay_ticks(), 0, 0, 0, NULL);
	}
	if (called)
		assayTrace(c->handle, (int)kind, kind == trace_close ? NULL : p, (char *)text, now, duration);
	return 0;
}

void assay_ended(assay_conn *c, assay_run *r) {
	if (r->began == 0)
		return;
	int64_t now = assay_ticks();
	assay_ring_put(c->ring, trace_profile, c->handle, now, now - r->began, c->pages, r->id, sqlite3_sql(r->stmt));
	r->began = c->pages = 0;
}

// wal is in the place of SQLite's own hook, which would checkpoint: so it does.
static int wal(void *arg, sqlite3 *db, const char *schema, int pages) {
	assay_conn *c = arg;
	c->pages = (uint32_t)pages;
	if (c->hooks & hook_wal)
		assayWAL(c->handle, (char *)schema, pages);
	if (c->checkpoint > 0 && pages >= c->checkpoint) {
		int rc = sqlite3_wal_checkpoint_v2(db, schema, 0, NULL, NULL);
		int later = (rc & 0xff) == 5 || (rc & 0xff) == 6 || rc == 9; // busy, interrupted: the next commit tries again
		c->checkpoint_rc = later ? 0 : rc;
	}
	return 0; // the commit is done, whatever became of the checkpoint
}

static int commit(void *arg) { return assayCommit(((assay_conn *)arg)->handle); }

static void rollback(void *arg) { assayRollback(((assay_conn *)arg)->handle); }

static void update(void *arg, int op, const char *schema, const char *table, int64_t row) {
	assayUpdate(((assay_conn *)arg)->handle, op, (char *)schema, (char *)table, row);
}

// progress ends a statement that began just as it was told to stop: SQLite forgets an interrupt that
// comes before the first step.
static int progress(void *arg) {
	assay_conn *c = arg;
	if (__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE))
		return 1;
	return c->hooks & hook_progress ? assayProgress(c->handle) : 0;
}

// names reports whether text is one of the words of list, which stand between commas.
static int names(const char *list, const char *text) {
	size_t n = strlen(text);
	char low[40];
	if (list == NULL || n + 3 > sizeof low)
		return 0;
	low[0] = ',';
	for (size_t i = 0; i < n; i++)
		low[i + 1] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
	low[n + 1] = ',';
	low[n + 2] = 0;
	return strstr(list, low) != NULL;
}

static int same(const char *a, const char *b) {
	if (a == NULL || strlen(a) != strlen(b))
		return 0;
	for (; *a; a++, b++)
		if ((*a >= 'A' && *a <= 'Z' ? *a + 32 : *a) != *b)
			return 0;
	return 1;
}

// guard hides the policy table and keeps the settings of the policy.
static int guard(assay_conn *c, int action, const char *a, const char *b) {
	enum { pragma = 19, read = 20 };
	if (action == pragma) {
		if (b != NULL && names(c->kept, a))
			return 1;
		if (names(",table_list,", a))
			c->names_schema = 1;
		return b != NULL && same(b, "sqlite_assay") ? 2 : 0; // nothing is told of it
	}
	if (same(a, "sqlite_assay") || (action != read && same(b, "sqlite_assay")))
		return 1;
	if (a != NULL && action == read && (strncmp(a, "sqlite_", 7) == 0 || strncmp(a, "pragma_", 7) == 0 || strcmp(a, "dbstat") == 0))
		c->names_schema = 1;
	return 0;
}

// authorize is asked while a statement is compiled, also by SQLite again, before a run of it begins.
// What SQLite compiles for itself while one runs (VACUUM) is its own affair, but for pragmas, which
// stand behind functions (pragma_table_info).
static int authorize(void *arg, int action, const char *a, const char *b, const char *schema, const char *trigger) {
	assay_conn *c = arg;
	enum { pragma = 19, ignore = 2 };
	if (!c->preparing && (c->running == NULL || sqlite3_stmt_busy(c->running->stmt)))
		return c->guarded && action == pragma && same(b, "sqlite_assay") ? ignore : 0;
	int rc = c->guarded ? guard(c, action, a, b) : 0;
	if (rc == 0 && (c->hooks & hook_authorize))
		rc = assayAuthorize(c->handle, action, (char *)a, (char *)b, (char *)schema, (char *)trigger);
	return rc;
}

void assay_hook_log(assay_conn *c) {
	if ((c->hooks & hook_wal) || c->ring != NULL)
		sqlite3_wal_hook(c->db, wal, c);
	else // it sets a hook of its own
		sqlite3_wal_autocheckpoint(c->db, c->checkpoint);
}

void assay_hooks(assay_conn *c) {
	unsigned int mask = c->hooks >> 8; // what Go wants traced
	if (mask & trace_profile)
		mask |= trace_statement;
	if (c->ring != NULL)
		mask |= trace_statement | trace_close;
	sqlite3_trace_v2(c->db, mask, mask ? trace : NULL, c);
	assay_hook_log(c);
	sqlite3_commit_hook(c->db, c->hooks & hook_commit ? commit : NULL, c);
	sqlite3_rollback_hook(c->db, c->hooks & hook_rollback ? rollback : NULL, c);
	sqlite3_update_hook(c->db, c->hooks & hook_update ? update : NULL, c);
	sqlite3_progress_handler(c->db, 1000, progress, c);
	sqlite3_set_authorizer(c->db, c->guarded || (c->hooks & hook_authorize) ? authorize : NULL, c);
}
