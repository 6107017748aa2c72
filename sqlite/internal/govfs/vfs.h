// A file system of SQLite, as https://sqlite.org/c3ref/vfs.html documents it.

#ifndef ASSAY_TEST_VFS_H
#define ASSAY_TEST_VFS_H

typedef struct sqlite3_vfs sqlite3_vfs;
struct sqlite3_vfs {
	int version, file_size, most_path;
	sqlite3_vfs *next;
	const char *name;
	void *data;
	void *open, *remove;
	int (*access)(sqlite3_vfs *fs, const char *name, int flags, int *result);
	void *others[13];
};

sqlite3_vfs *sqlite3_vfs_find(const char *name);
int sqlite3_vfs_register(sqlite3_vfs *fs, int as_default);

int assay_test_vfs(int as_default);
int assay_test_base_vfs(void);

#endif
