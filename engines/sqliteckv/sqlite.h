// The functions of SQLite that this package calls, declared as SQLite documents them: https://sqlite.org/capi3ref.html.
// Their code comes with github.com/mattn/go-sqlite3 when the program is linked.

#include <stdlib.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs);
int sqlite3_close_v2(sqlite3 *db);
int sqlite3_extended_result_codes(sqlite3 *db, int on);
int sqlite3_errcode(sqlite3 *db);
int sqlite3_extended_errcode(sqlite3 *db);
const char *sqlite3_errmsg(sqlite3 *db);
const char *sqlite3_errstr(int rc);
int sqlite3_system_errno(sqlite3 *db);
int sqlite3_get_autocommit(sqlite3 *db);
int sqlite3_db_status(sqlite3 *db, int op, int *current, int *highest, int reset);
int sqlite3_db_readonly(sqlite3 *db, const char *name);
void sqlite3_interrupt(sqlite3 *db);

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int length, unsigned int flags, sqlite3_stmt **stmt, const char **tail);
int sqlite3_bind_blob(sqlite3_stmt *stmt, int i, const void *data, int length, void (*release)(void *));
int sqlite3_step(sqlite3_stmt *stmt);
int sqlite3_reset(sqlite3_stmt *stmt);
int sqlite3_finalize(sqlite3_stmt *stmt);
const void *sqlite3_column_blob(sqlite3_stmt *stmt, int i);
int sqlite3_column_bytes(sqlite3_stmt *stmt, int i);

int sqlite3_db_config(sqlite3 *db, int what, ...);
int sqlite3_file_control(sqlite3 *db, const char *name, int what, void *arg);
void *sqlite3_wal_hook(sqlite3 *db, int (*hook)(void *arg, sqlite3 *db, const char *name, int pages), void *arg);

// A file system and the methods of its files, as https://sqlite.org/c3ref/vfs.html and
// https://sqlite.org/c3ref/io_methods.html document them; what is not called here stands in an array.
typedef struct sqlite3_vfs sqlite3_vfs;
typedef struct sqlite3_io_methods sqlite3_io_methods;
typedef struct sqlite3_file {
	const sqlite3_io_methods *methods;
} sqlite3_file;

struct sqlite3_io_methods {
	int version;
	void *before[4];
	int (*sync)(sqlite3_file *file, int flags);
	void *others[7];
	int (*shm_map)(sqlite3_file *file, int region, int size, int grow, void volatile **out);
	int (*shm_lock)(sqlite3_file *file, int n, int count, int flags);
	void *more[4];
};

struct sqlite3_vfs {
	int version, file_size, most_path;
	sqlite3_vfs *next;
	const char *name;
	void *data;
	int (*open)(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out);
	void *others[10];
	int (*last_error)(sqlite3_vfs *vfs, int n, char *text);
	void *more[4];
};

sqlite3_vfs *sqlite3_vfs_find(const char *name);
int sqlite3_vfs_register(sqlite3_vfs *vfs, int as_default);
int sqlite3_vfs_unregister(sqlite3_vfs *vfs);
