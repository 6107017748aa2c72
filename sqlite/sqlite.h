// The functions of SQLite that this package calls, declared as SQLite documents them:
// https://sqlite.org/c3ref/funclist.html. Their code comes with github.com/mattn/go-sqlite3 when the
// program is linked.

#ifndef ASSAY_SQLITE_H
#define ASSAY_SQLITE_H

#include <stdint.h>
#include <stdlib.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_blob sqlite3_blob;
typedef struct sqlite3_backup sqlite3_backup;

int sqlite3_config(int option, ...);
int sqlite3_threadsafe(void);
const char *sqlite3_libversion(void);
int sqlite3_strlike(const char *pattern, const char *text, unsigned int escape);
int sqlite3_sleep(int ms);
void *sqlite3_vfs_find(const char *name);

int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs);
int sqlite3_close_v2(sqlite3 *db);
int sqlite3_db_config(sqlite3 *db, int option, ...);
int sqlite3_extended_result_codes(sqlite3 *db, int on);
int sqlite3_extended_errcode(sqlite3 *db);
int sqlite3_error_offset(sqlite3 *db);
int sqlite3_system_errno(sqlite3 *db);
const char *sqlite3_errmsg(sqlite3 *db);
const char *sqlite3_errstr(int rc);
int sqlite3_get_autocommit(sqlite3 *db);
int sqlite3_db_readonly(sqlite3 *db, const char *name);
const char *sqlite3_db_filename(sqlite3 *db, const char *name);
void sqlite3_interrupt(sqlite3 *db);
int64_t sqlite3_changes64(sqlite3 *db);
int64_t sqlite3_total_changes64(sqlite3 *db);
int64_t sqlite3_last_insert_rowid(sqlite3 *db);

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int length, unsigned int flags, sqlite3_stmt **stmt, const char **tail);
int sqlite3_bind_int64(sqlite3_stmt *stmt, int i, int64_t v);
int sqlite3_bind_double(sqlite3_stmt *stmt, int i, double v);
int sqlite3_bind_null(sqlite3_stmt *stmt, int i);
int sqlite3_bind_text64(sqlite3_stmt *stmt, int i, const char *v, uint64_t length, void (*release)(void *), unsigned char encoding);
int sqlite3_bind_blob64(sqlite3_stmt *stmt, int i, const void *v, uint64_t length, void (*release)(void *));
int sqlite3_bind_parameter_count(sqlite3_stmt *stmt);
const char *sqlite3_bind_parameter_name(sqlite3_stmt *stmt, int i);
int sqlite3_clear_bindings(sqlite3_stmt *stmt);
int sqlite3_step(sqlite3_stmt *stmt);
int sqlite3_reset(sqlite3_stmt *stmt);
int sqlite3_finalize(sqlite3_stmt *stmt);
int sqlite3_stmt_readonly(sqlite3_stmt *stmt);
int sqlite3_stmt_busy(sqlite3_stmt *stmt);
int sqlite3_stmt_status(sqlite3_stmt *stmt, int op, int reset);
const char *sqlite3_sql(sqlite3_stmt *stmt);

int sqlite3_column_count(sqlite3_stmt *stmt);
const char *sqlite3_column_name(sqlite3_stmt *stmt, int i);
const char *sqlite3_column_decltype(sqlite3_stmt *stmt, int i);
int sqlite3_column_type(sqlite3_stmt *stmt, int i);
int64_t sqlite3_column_int64(sqlite3_stmt *stmt, int i);
double sqlite3_column_double(sqlite3_stmt *stmt, int i);
const unsigned char *sqlite3_column_text(sqlite3_stmt *stmt, int i);
const void *sqlite3_column_blob(sqlite3_stmt *stmt, int i);
int sqlite3_column_bytes(sqlite3_stmt *stmt, int i);
int sqlite3_table_column_metadata(sqlite3 *db, const char *schema, const char *table, const char *column,
	const char **type, const char **collation, int *not_null, int *primary_key, int *auto_increment);

int sqlite3_blob_open(sqlite3 *db, const char *schema, const char *table, const char *column, int64_t row, int flags, sqlite3_blob **blob);
int sqlite3_blob_reopen(sqlite3_blob *blob, int64_t row);
int sqlite3_blob_bytes(sqlite3_blob *blob);
int sqlite3_blob_read(sqlite3_blob *blob, void *to, int length, int offset);
int sqlite3_blob_write(sqlite3_blob *blob, const void *from, int length, int offset);
int sqlite3_blob_close(sqlite3_blob *blob);

sqlite3_backup *sqlite3_backup_init(sqlite3 *to, const char *to_schema, sqlite3 *from, const char *from_schema);
int sqlite3_backup_step(sqlite3_backup *b, int pages);
int sqlite3_backup_remaining(sqlite3_backup *b);
int sqlite3_backup_pagecount(sqlite3_backup *b);
int sqlite3_backup_finish(sqlite3_backup *b);

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *schema, int mode, int *log, int *copied);
int sqlite3_wal_autocheckpoint(sqlite3 *db, int pages);
int sqlite3_db_status(sqlite3 *db, int op, int *now, int *most, int reset);
int sqlite3_status64(int op, int64_t *now, int64_t *most, int reset);

int sqlite3_busy_handler(sqlite3 *db, int (*fn)(void *, int), void *arg);
void sqlite3_progress_handler(sqlite3 *db, int steps, int (*fn)(void *), void *arg);
int sqlite3_set_authorizer(sqlite3 *db, int (*fn)(void *, int, const char *, const char *, const char *, const char *), void *arg);
int sqlite3_trace_v2(sqlite3 *db, unsigned int mask, int (*fn)(unsigned int, void *, void *, void *), void *arg);
void *sqlite3_wal_hook(sqlite3 *db, int (*fn)(void *, sqlite3 *, const char *, int), void *arg);
void *sqlite3_commit_hook(sqlite3 *db, int (*fn)(void *), void *arg);
void *sqlite3_rollback_hook(sqlite3 *db, void (*fn)(void *), void *arg);
void *sqlite3_update_hook(sqlite3 *db, void (*fn)(void *, int, const char *, const char *, int64_t), void *arg);

#endif
