//go:build cgo

package sqliteckv

/*
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "sqlite.h"

// A told is SQLite's file system, which writes down each sync. It opens files as SQLite does and
// exchanges their tables of methods, so that nothing but a sync is a call more.
struct told {
	sqlite3_vfs vfs; // first, so that its address is that of told
	sqlite3_vfs *below;
	struct told_table {
		sqlite3_io_methods methods; // first, likewise
		const sqlite3_io_methods *below;
		struct told *told;
	} tables[4]; // on Unix there are two: with locks and without
	struct told_event {
		int64_t took; // ns
		int rc, number; // the result code, and the system's error
	} *events;
	int n;
	char name[40];
};

static int64_t told_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int told_note(struct told *t, int64_t began, int rc) {
	struct told_event e = {told_now() - began, rc, rc != 0 ? t->below->last_error(t->below, 0, NULL) : 0};
	struct told_event *all = realloc(t->events, (t->n + 1) * sizeof e);
	if (all != NULL) {
		t->events = all;
		all[t->n++] = e;
	}
	return rc;
}

static int told_sync(sqlite3_file *file, int flags) {
	struct told_table *table = (struct told_table *)file->methods;
	int64_t began = told_now();
	return told_note(table->told, began, table->below->sync(file, flags));
}

static int told_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
	struct told *t = (struct told *)vfs;
	int rc = t->below->open(t->below, name, file, flags, out);
	if (file->methods == NULL)
		return rc;
	for (int i = 0; i < 4; i++) {
		struct told_table *table = &t->tables[i];
		if (table->below == NULL) {
			*table = (struct told_table){*file->methods, file->methods, t};
			table->methods.sync = told_sync;
		}
		if (table->below == file->methods) {
			file->methods = &table->methods;
			break;
		}
	}
	return rc;
}

static struct told *told_new(void) {
	struct told *t = calloc(1, sizeof *t);
	if (t == NULL)
		abort(); // as C.malloc
	t->below = sqlite3_vfs_find(NULL);
	t->vfs = *t->below;
	snprintf(t->name, sizeof t->name, "assay-%p", (void *)t);
	t->vfs.name = t->name;
	t->vfs.next = NULL;
	t->vfs.open = told_open;
	sqlite3_vfs_register(&t->vfs, 0);
	return t;
}

static void told_free(struct told *t) {
	sqlite3_vfs_unregister(&t->vfs);
	free(t->events);
	free(t);
}
*/
import "C"

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// told is the file system of one connection whose syncs are told of, nil where nobody asks. C
// writes them down, and the connection tells of them when a call has returned: a step of SQLite
// calls no Go.
type told struct {
	vfs    *C.struct_told
	onSync driver.OnSync
}

// newTold registers one, and returns its name for SQLite, which is nil for the system's.
func newTold(onSync driver.OnSync) (*told, *C.char) {
	if onSync == nil {
		return nil, nil
	}
	t := &told{C.told_new(), onSync}
	return t, &t.vfs.name[0]
}

// tell tells of the syncs since the last time.
func (t *told) tell() {
	for _, e := range unsafe.Slice(t.vfs.events, t.vfs.n) {
		var err error
		if e.rc != sqlite.OK {
			err = sqlite.NewError(int32(e.rc), C.GoString(C.sqlite3_errstr(e.rc)), syscall.Errno(e.number))
		}
		t.onSync(time.Duration(e.took), err)
	}
	t.vfs.n = 0
}

// end tells of the last ones, once the connection is closed.
func (t *told) end() {
	if t != nil {
		t.tell()
		C.told_free(t.vfs)
	}
}
