//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"errors"
	"math"
	"os"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Backup copies the database into that of to, which is replaced, while other connections read and
// write. It copies so many pages at a time, all at once if pages is not positive, which a context
// does not end, and calls
// progress, unless that is nil, after each step. When another connection commits meanwhile it
// begins again. Until it has ended to holds nothing that can be read; an error leaves to as it was.
// A policy goes with the database; one of to that lets nobody write is an error of kind
// [kv.Permission].
func (c *Conn) Backup(ctx context.Context, to *Conn, pages int, progress func(left, total int)) (err error) {
	if to == c {
		return c.invalid("back up", "", "a database into itself")
	}
	for _, conn := range []*Conn{c, to} {
		if err := conn.enter("back up"); err != nil {
			return err
		}
		defer conn.leave()
	}
	if a, b := c.file(), to.file(); a != "" && b != "" && sameFile(a, b) {
		return c.invalid("back up", "", "a database into itself")
	}
	if to.policy != nil && to.policy.ReadOnly {
		return &kv.Error{Op: "back up", Engine: engine, Path: to.path, Kind: kv.Permission,
			Err: errors.New("the policy of the database that would be replaced is that nothing is written")}
	}
	name := C.CString("main")
	defer C.free(unsafe.Pointer(name))
	b := C.sqlite3_backup_init(to.c.db, name, c.c.db, name)
	if b == nil {
		return to.failure(ctx, "back up", C.sqlite3_extended_errcode(to.c.db))
	}
	defer func() {
		if rc := C.sqlite3_backup_finish(b); err == nil && rc != rcOK {
			err = to.failure(ctx, "back up", rc)
		}
		err = errors.Join(err, c.panicked("back up"), to.panicked("back up"))
	}()
	if pages = min(pages, math.MaxInt32); pages <= 0 {
		pages = -1
	}
	for waited := time.Duration(0); ; {
		if err := ctx.Err(); err != nil {
			return c.canceled("back up", err)
		}
		rc := C.sqlite3_backup_step(b, C.int(pages))
		if progress != nil && (rc == rcOK || rc == rcDone) {
			progress(int(C.sqlite3_backup_remaining(b)), int(C.sqlite3_backup_pagecount(b)))
		}
		switch Code(rc) & 0xff {
		case rcDone:
			return nil
		case rcOK:
			waited = 0
		case Busy, Locked: // a writer stands in the way; SQLite does not wait here
			if waited >= time.Duration(c.c.wait)*time.Millisecond {
				return to.failure(ctx, "back up", rc)
			}
			const pause = 4 * time.Millisecond
			waited += pause
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		default:
			return to.failure(ctx, "back up", rc)
		}
	}
}

func sameFile(a, b string) bool {
	ai, err := os.Stat(a)
	bi, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(ai, bi)
}

// BackupTo copies the database into the file at path, which is created or replaced; see Backup.
func (c *Conn) BackupTo(ctx context.Context, path string) error {
	to, err := open(ctx, path, &Options{}, false)
	if err != nil {
		return err
	}
	return errors.Join(c.Backup(ctx, to, 1000, nil), to.Close())
}
