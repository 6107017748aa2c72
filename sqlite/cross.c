#include "cross.h"

#include <string.h>
#include <time.h>

enum { rc_ok = 0, rc_nomem = 7, rc_row = 100, rc_done = 101, rc_need = -1 };

int64_t assay_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// busy waits for a lock, as long as the connection may and nobody ends the statement.
static int busy(void *arg, int tries) {
	assay_conn *c = arg;
	int64_t now = assay_now();
	if (tries == 0)
		c->waiting = now;
	if (__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE) || now - c->waiting >= c->wait * 1000000)
		return 0;
	sqlite3_sleep(tries < 10 ? 1 : 4);
	return 1;
}

// assay_configure is called before SQLite is first used.
//
// SQLite takes memory for many pages at once and gives it back with the cache, as for each UPDATE …
// RETURNING: musl's malloc asks the system for it each time, which makes such a statement four times
// as slow. Page by page it is as fast as with glibc, and with glibc a little faster.
//
// Counting its memory costs SQLite a lock for each allocation, a tenth of the time of small
// statements.
void assay_configure(int count) {
	sqlite3_config(7, NULL, 0, 0);
	sqlite3_config(9, count);
}

// own_files reports whether files are SQLite's affair unless a VFS is named: the one that is used then
// is the system's. Another one may call Go.
static int own_files(void) {
	const struct { // how each begins
		int version, file_size, most_path;
		void *next;
		const char *name;
	} *vfs = sqlite3_vfs_find(NULL);
	return vfs != NULL && (strncmp(vfs->name, "unix", 4) == 0 || strncmp(vfs->name, "win32", 5) == 0);
}

// assay_defend sets whether no SQL can damage the file.
int assay_defend(assay_conn *c, int on) {
	enum { defensive = 1010 };
	return sqlite3_db_config(c->db, defensive, on, NULL);
}

int assay_open(assay_conn *c, const char *name, int flags, const char *vfs) {
	enum { quoted_in_changes = 1013, quoted_in_schema = 1014 };
	int rc = sqlite3_open_v2(name, &c->db, flags, vfs);
	if (!own_files())
		c->hooks |= hook_files;
	if (rc == rc_ok && c->defensive)
		rc = assay_defend(c, 1);
	if (rc == rc_ok && c->strict_quotes)
		rc = sqlite3_db_config(c->db, quoted_in_changes, 0, NULL);
	if (rc == rc_ok && c->strict_quotes)
		rc = sqlite3_db_config(c->db, quoted_in_schema, 0, NULL);
	if (rc == rc_ok)
		rc = sqlite3_extended_result_codes(c->db, 1);
	if (rc == rc_ok)
		rc = sqlite3_busy_handler(c->db, busy, c);
	if (rc == rc_ok)
		assay_hooks(c);
	return rc;
}

// assay_stop has what runs end. SQLite: an interrupt ends all statements that have rows left, and each
// new one as long as there are such, or open blobs. Beside these the one that runs ends by progress alone.
void assay_stop(assay_conn *c, int on) {
	__atomic_store_n(&c->stop, on, __ATOMIC_RELEASE);
	if (on && __atomic_load_n(&c->beside, __ATOMIC_ACQUIRE) == 0)
		sqlite3_interrupt(c->db);
}

void assay_beside(assay_conn *c, int more) { __atomic_fetch_add(&c->beside, more, __ATOMIC_RELEASE); }

// first_word returns where the first word of a text begins.
static const char *first_word(const char *text) {
	for (;;) {
		if (*text == ' ' || *text == ';' || (*text >= '\t' && *text <= '\r'))
			text++;
		else if (text[0] == '-' && text[1] == '-')
			text += strcspn(text, "\n");
		else if (text[0] == '/' && text[1] == '*' && strstr(text + 2, "*/") != NULL)
			text = strstr(text + 2, "*/") + 2;
		else
			return text;
	}
}

// is_pragma reports whether a statement is a pragma, by the name of its column and its text.
static int is_pragma(sqlite3_stmt *stmt, const char *column, const char *like) {
	const char *name = sqlite3_column_count(stmt) == 1 ? sqlite3_column_name(stmt, 0) : NULL;
	return name != NULL && strcmp(name, column) == 0 && sqlite3_strlike(like, first_word(sqlite3_sql(stmt)), 0) == 0;
}

// timeout_of returns what assay_run.timeout is for a statement.
static int timeout_of(sqlite3_stmt *stmt) {
	if (!is_pragma(stmt, "timeout", "pragma%busy_timeout%"))
		return 0;
	const char *text = first_word(sqlite3_sql(stmt));
	return 1 + (sqlite3_strlike("%busy_timeout%=%", text, 0) == 0 || sqlite3_strlike("%busy_timeout%(%", text, 0) == 0);
}

// opens_files reports whether a statement opens files, which a VFS that calls Go may serve: it names
// one in a URI, as an argument too.
static int opens_files(sqlite3_stmt *stmt) {
	const char *text = first_word(sqlite3_sql(stmt));
	return sqlite3_strlike("attach%", text, 0) == 0 || sqlite3_strlike("vacuum%into%", text, 0) == 0;
}

// keep_waiting takes over what PRAGMA busy_timeout has set. SQLite: its own wait, which takes the
// place of busy, does not end with an interrupt.
static void keep_waiting(assay_conn *c, assay_run *r) {
	if (r->timeout < 2)
		return;
	c->wait = sqlite3_column_int64(r->stmt, 0);
	sqlite3_busy_handler(c->db, busy, c);
}

// keep_checkpoints takes over what PRAGMA wal_autocheckpoint has set, when it was compiled. SQLite: its
// own hook on the log takes the place of ours.
static void keep_checkpoints(assay_conn *c) {
	void *arg = sqlite3_wal_hook(c->db, NULL, NULL);
	if (arg != c) // that of SQLite's hook is the number, and there is none for 0
		c->checkpoint = (int)(intptr_t)arg;
	assay_hook_log(c);
}

int assay_prepare(assay_conn *c, const char *sql, int length, unsigned int flags, assay_run **run, int *tail) {
	sqlite3_stmt *stmt = NULL;
	const char *rest = sql;
	*run = NULL;
	c->preparing = 1;
	c->names_schema = 0;
	int rc = sqlite3_prepare_v3(c->db, sql, length, flags, &stmt, &rest);
	c->preparing = 0;
	*tail = (int)(rest - sql);
	if (rc != rc_ok || stmt == NULL)
		return rc;
	assay_run *r = calloc(1, sizeof *r);
	if (r == NULL) {
		sqlite3_finalize(stmt);
		return rc_nomem;
	}
	r->stmt = stmt;
	r->columns = sqlite3_column_count(stmt);
	r->parameters = sqlite3_bind_parameter_count(stmt);
	r->read_only = sqlite3_stmt_readonly(stmt);
	r->hides = c->guarded && c->names_schema;
	r->timeout = timeout_of(stmt);
	if ((r->autocheckpoint = is_pragma(stmt, "wal_autocheckpoint", "pragma%")))
		keep_checkpoints(c);
	if (opens_files(stmt))
		c->hooks |= hook_files;
	*run = r;
	return rc;
}

void assay_finalize(assay_conn *c, assay_run *r) {
	assay_reset(c, r); // a run that has rows left ends, and is told
	c->running = NULL;
	sqlite3_finalize(r->stmt);
	free(r->held);
	free(r);
}

void assay_reset(assay_conn *c, assay_run *r) {
	c->running = r;
	if (r->active) {
		assay_beside(c, -1);
		sqlite3_reset(r->stmt);
		if (c->ring != NULL)
			assay_ended(c, r);
	}
	r->active = r->pending = 0;
	if (r->room > 1 << 20) {
		sqlite3_clear_bindings(r->stmt);
		free(r->held);
		r->held = NULL;
		r->room = 0;
	}
}

// bind gives r its arguments. SQLite reads texts and blobs where they lie: in Go's memory if the
// statement ends within this call, which one without columns does, in a copy otherwise.
static int bind(assay_run *r, assay_value *args, int n, const char *data, uint64_t length) {
	if (length > 0 && r->columns > 0) {
		if (length > r->room) {
			free(r->held);
			r->room = length < 256 ? 256 : length;
			r->held = malloc(r->room);
			if (r->held == NULL) {
				r->room = 0;
				return rc_nomem;
			}
		}
		memcpy(r->held, data, length);
		data = r->held;
	}
	for (int i = 0; i < n; i++) {
		assay_value *a = &args[i];
		int rc;
		double f;
		switch (a->kind) {
		case 1:
			rc = sqlite3_bind_int64(r->stmt, i + 1, a->number);
			break;
		case 2:
			memcpy(&f, &a->number, sizeof f);
			rc = sqlite3_bind_double(r->stmt, i + 1, f);
			break;
		case 3: // an address that is not NULL makes an empty text
			rc = sqlite3_bind_text64(r->stmt, i + 1, a->length ? data + a->number : "", a->length, NULL, 1);
			break;
		case 4:
			rc = sqlite3_bind_blob64(r->stmt, i + 1, a->length ? data + a->number : "", a->length, NULL);
			break;
		default:
			rc = sqlite3_bind_null(r->stmt, i + 1);
		}
		if (rc != rc_ok)
			return rc;
		a->kind = 0;
	}
	return rc_ok;
}

static const char hidden[] = "sqlite_assay";

// is_hidden reports whether a column of the row names the policy table.
static int is_hidden(assay_run *r) {
	for (int i = 0; i < r->columns; i++) {
		if (sqlite3_column_type(r->stmt, i) != 3)
			continue;
		const unsigned char *text = sqlite3_column_text(r->stmt, i);
		int length = sqlite3_column_bytes(r->stmt, i);
		if (text == NULL)
			continue;
		if (length == sizeof hidden - 1 && memcmp(text, hidden, length) == 0)
			return 1;
		if (strncmp((const char *)text, "CREATE TABLE sqlite_assay(", 26) == 0)
			return 1;
	}
	return 0;
}

// copy_row puts the row at used: a value that says where the next one begins, the columns, their
// texts and blobs. It returns where the next one begins, or -1 if this one has no room.
static int64_t copy_row(assay_conn *c, assay_run *r, char *out, int64_t used, int64_t room, assay_outcome *o) {
	int64_t first = used + (int64_t)sizeof(assay_value);
	int64_t need = first + (int64_t)r->columns * (int64_t)sizeof(assay_value);
	for (int i = 0; i < r->columns; i++) {
		assay_value v = {0};
		const void *data = NULL;
		double f;
		v.kind = sqlite3_column_type(r->stmt, i);
		switch (v.kind) {
		case 1:
			v.number = r->timeout ? c->wait : r->autocheckpoint ? c->checkpoint : sqlite3_column_int64(r->stmt, i);
			break;
		case 2:
			f = sqlite3_column_double(r->stmt, i);
			memcpy(&v.number, &f, sizeof f);
			break;
		case 3:
		case 4:
			data = v.kind == 3 ? (const void *)sqlite3_column_text(r->stmt, i) : sqlite3_column_blob(r->stmt, i);
			v.length = (uint32_t)sqlite3_column_bytes(r->stmt, i);
			v.number = need;
			if (data == NULL && (sqlite3_extended_errcode(c->db) & 0xff) == rc_nomem) {
				o->rc = rc_nomem;
				return -1;
			}
			need += v.length;
		}
		if (need <= room) {
			memcpy(out + first + (int64_t)i * (int64_t)sizeof v, &v, sizeof v);
			if (v.length > 0)
				memcpy(out + v.number, data, v.length);
		}
	}
	if (need > room) {
		o->rc = rc_need;
		o->need = need - used;
		return -1;
	}
	need = (need + 7) & ~(int64_t)7;
	assay_value head = {.number = need};
	memcpy(out + used, &head, sizeof head);
	return need;
}

static inline void step(assay_conn *c, assay_run *r, assay_value *args, int n, const char *data, uint64_t length,
	char *out, int64_t room, int most, assay_outcome *o) {
	int64_t used = 0, before = 0;
	int first = !r->active, in_transaction = !sqlite3_get_autocommit(c->db);
	o->rows = o->anew = o->lost = 0;
	o->rc = rc_ok;
	c->running = r;
	c->pages = 0;
	c->names_schema = 0;
	if (!r->read_only)
		before = sqlite3_total_changes64(c->db);
	if (r->active)
		assay_beside(c, -1);
	else if (n > 0)
		o->rc = bind(r, args, n, data, length);
	r->active = 1;
	while (o->rc == rc_ok) {
		if (!r->pending) {
			int rc = sqlite3_step(r->stmt);
			if (first) { // SQLite compiles anew after the schema has changed
				first = 0;
				r->columns = sqlite3_column_count(r->stmt);
				int times = sqlite3_stmt_status(r->stmt, 5, 0);
				o->anew = times != r->anew;
				r->anew = times;
				if (o->anew)
					r->hides = c->guarded && c->names_schema;
				if (o->anew && r->autocheckpoint)
					keep_checkpoints(c);
			}
			if (rc != rc_row) {
				o->rc = rc;
				break;
			}
			if (r->timeout)
				keep_waiting(c, r);
			if (most < 0 || (r->hides && is_hidden(r)))
				continue; // nobody wants the rows
			r->pending = 1;
		}
		used = copy_row(c, r, out, used, room, o);
		if (used < 0)
			break;
		r->pending = 0;
		if (++o->rows == most) {
			o->rc = rc_row;
		}
	}
	if (o->rc == rc_need && o->rows > 0)
		o->rc = rc_row;
	if (!r->read_only) {
		o->changes = sqlite3_total_changes64(c->db) == before ? 0 : sqlite3_changes64(c->db);
		o->rowid = sqlite3_last_insert_rowid(c->db);
	} else {
		o->changes = 0;
	}
	if (o->rc == rc_row || o->rc == rc_need) {
		assay_beside(c, 1);
		return;
	}
	int rc = sqlite3_reset(r->stmt);
	if (o->rc == rc_done && rc != rc_ok)
		o->rc = rc;
	o->lost = in_transaction && o->rc != rc_done && sqlite3_get_autocommit(c->db);
	r->active = r->pending = 0;
	if (c->ring != NULL)
		assay_ended(c, r);
	if (length > 0)
		sqlite3_clear_bindings(r->stmt);
	if (r->room > 1 << 20)
		assay_reset(c, r);
}

void assay_step(assay_conn *c, assay_run *r, assay_value *args, int n, const char *data, uint64_t length,
	char *out, int64_t room, int most, assay_outcome *o) {
	step(c, r, args, n, data, length, out, room, most, o);
}

void assay_step_calling(assay_conn *c, assay_run *r, assay_value *args, int n, const char *data, uint64_t length,
	char *out, int64_t room, int most, assay_outcome *o) {
	step(c, r, args, n, data, length, out, room, most, o);
}
