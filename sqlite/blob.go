//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"errors"
	"io"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A BlobFile is a blob or text of one row, read and written in place; its size is fixed. It ends
// when its row is changed otherwise: calls are errors of SQLite's code 4 then. It belongs to its
// connection's goroutine.
type BlobFile struct {
	c    *Conn
	b    *C.sqlite3_blob // nil when closed
	size int64
}

var (
	_ io.ReaderAt = (*BlobFile)(nil)
	_ io.WriterAt = (*BlobFile)(nil)
)

// A BlobMode says what may be done with a blob.
type BlobMode int

// Modes of blobs.
const (
	ReadBlob BlobMode = iota
	WriteBlob
)

// OpenBlob opens the column of the row with that id, in the schema "main", or that of ATTACH. A
// blob of zeros to write is made by INSERT with zeroblob(n).
func (c *Conn) OpenBlob(ctx context.Context, schema, table, column string, row int64,
	mode BlobMode) (*BlobFile, error) {
	if err := c.enter("open blob"); err != nil {
		return nil, err
	}
	defer c.leave()
	if mode != ReadBlob && mode != WriteBlob {
		return nil, c.invalid("open blob", "", "mode %d", mode)
	}
	if strings.EqualFold(table, hiddenTable) || strings.ContainsRune(schema+table+column, 0) {
		return nil, c.invalid("open blob", "", "no such table: %q.%q", schema, table)
	}
	if c.lost != nil {
		return nil, c.gone("open blob", plainRole)
	}
	if err := c.begin(ctx, "open blob"); err != nil {
		return nil, err
	}
	defer c.finish(ctx)
	names := [3]*C.char{C.CString(schema), C.CString(table), C.CString(column)}
	defer func() {
		for _, n := range names {
			C.free(unsafe.Pointer(n))
		}
	}()
	b := &BlobFile{c: c}
	rc := C.sqlite3_blob_open(c.c.db, names[0], names[1], names[2], C.int64_t(row), C.int(mode), &b.b)
	if rc != rcOK {
		return nil, c.failure(ctx, "open blob", rc)
	}
	b.size = int64(C.sqlite3_blob_bytes(b.b))
	c.blobs[b] = struct{}{}
	C.assay_beside(c.c, 1)
	return b, nil
}

// enter begins a call.
func (b *BlobFile) enter(op string) error {
	if err := b.c.enter(op); err != nil {
		return err
	}
	if b.b == nil {
		b.c.leave()
		return &kv.Error{Op: op, Engine: engine, Path: b.c.path, Kind: kv.Closed}
	}
	return nil
}

// Size returns the size in bytes.
func (b *BlobFile) Size() int64 { return b.size }

// ReadAt implements [io.ReaderAt].
func (b *BlobFile) ReadAt(p []byte, off int64) (int, error) {
	if err := b.enter("read blob"); err != nil {
		return 0, err
	}
	defer b.c.leave()
	if off < 0 {
		return 0, b.c.invalid("read blob", "", "offset %d", off)
	}
	n := int(min(int64(len(p)), max(b.size-off, 0)))
	if n > 0 {
		rc := C.sqlite3_blob_read(b.b, unsafe.Pointer(unsafe.SliceData(p)), C.int(n), C.int(off))
		if rc != rcOK {
			return 0, b.c.failure(context.Background(), "read blob", rc)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements [io.WriterAt]. What does not fit is an error of kind [kv.TooLarge], and
// nothing is written.
func (b *BlobFile) WriteAt(p []byte, off int64) (int, error) {
	if err := b.enter("write blob"); err != nil {
		return 0, err
	}
	defer b.c.leave()
	if off < 0 || off > b.size-int64(len(p)) {
		return 0, &kv.Error{Op: "write blob", Engine: engine, Path: b.c.path, Kind: kv.TooLarge,
			Err: errors.New("the size of a blob is fixed"), Hint: "update the row with a blob of another size"}
	}
	if len(p) == 0 {
		return 0, nil
	}
	rc := C.sqlite3_blob_write(b.b, unsafe.Pointer(unsafe.SliceData(p)), C.int(len(p)), C.int(off))
	if rc != rcOK {
		return 0, b.c.failure(context.Background(), "write blob", rc)
	}
	return len(p), nil
}

// Reopen goes to the same column of another row, at less cost than OpenBlob. After an error b can
// only be closed.
func (b *BlobFile) Reopen(row int64) error {
	if err := b.enter("reopen blob"); err != nil {
		return err
	}
	defer b.c.leave()
	if rc := C.sqlite3_blob_reopen(b.b, C.int64_t(row)); rc != rcOK {
		b.size = 0
		return b.c.failure(context.Background(), "reopen blob", rc)
	}
	b.size = int64(C.sqlite3_blob_bytes(b.b))
	return nil
}

// Close ends b, and outside a transaction commits what was written. Closing twice is an error of
// kind [kv.Closed].
func (b *BlobFile) Close() error {
	if err := b.enter("close blob"); err != nil {
		return err
	}
	defer b.c.leave()
	if rc := b.end(); rc != rcOK {
		return b.c.failure(context.Background(), "close blob", rc)
	}
	return b.c.panicked("close blob")
}

// end closes b within a call.
func (b *BlobFile) end() C.int {
	rc := C.sqlite3_blob_close(b.b)
	b.b = nil
	delete(b.c.blobs, b)
	C.assay_beside(b.c.c, -1)
	return rc
}
