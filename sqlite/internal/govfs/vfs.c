#include "vfs.h"
#include "_cgo_export.h"

static sqlite3_vfs *base, ours;

static int access_through_go(sqlite3_vfs *fs, const char *name, int flags, int *result) {
	assayTestAccess();
	return base->access(base, name, flags, result);
}

int assay_test_vfs(int as_default) {
	if (base == 0) {
		base = sqlite3_vfs_find(0);
		ours = *base;
		ours.name = "go";
		ours.next = 0;
		ours.access = access_through_go;
	}
	return sqlite3_vfs_register(&ours, as_default);
}

int assay_test_base_vfs(void) { return sqlite3_vfs_register(base, 1); }
