package bboltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

func corrupt(cause any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("bbolt: %v", cause),
		Hint: "restore a backup; the file was damaged, or cut short, outside of bbolt"}
}

// protect and recovered stand around everything that reads pages: bbolt trusts its pages, and
// panics or touches memory that is not mapped where they are damaged. Use: defer recovered(&err,
// protect()).
func protect() (old bool) { return debug.SetPanicOnFault(true) }

// recovered turns a panic into Corrupt and restores what protect returned.
func recovered(err *error, old bool) {
	debug.SetPanicOnFault(old)
	if p := recover(); p != nil {
		*err = corrupt(p)
	}
}

// recovered is recovered for calls in which bbolt holds its locks.
func (f *file) recovered(err *error, old bool) {
	debug.SetPanicOnFault(old)
	if p := recover(); p != nil {
		f.broken.Store(true)
		*err = corrupt(p)
	}
}

// abandon lets go of a file in which bbolt panicked: its own Close would wait for its locks
// forever. Its memory map stays until the process ends.
func (f *file) abandon() error {
	if f.os == nil {
		return nil
	}
	return errors.Join(unlock(f.os), f.os.Close())
}

// whole reports whether all of b, which bbolt took from a page, can be read: a damaged length
// reaches beyond the end of the file. What lies elsewhere, as what this transaction wrote and small
// buckets do, it tries at both ends.
func (c *cursor) whole(b []byte) bool {
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - c.pages; at <= c.size {
		return uintptr(len(b)) <= c.size-at
	}
	if len(b) > 0 {
		c.touched = b[0] + b[len(b)-1]
	}
	return true
}

// verify returns Busy if path leads to another file by now: the lock was got on a file that a
// compaction replaced. It returns Corrupt if the file is shorter than its header says, where bbolt
// would fault on a missing page, and Invalid if the file has other buckets than that of o.
func (f *file) verify(path string, o *options) error {
	info, err := f.os.Stat()
	if err != nil {
		return err
	}
	same := names(info) == 1 // the usual case; a look at the path is a twentieth of an opening
	if names(info) > 1 {
		if same, err = isAt(info, path); err != nil {
			return err
		}
	}
	if !same {
		return &driver.Error{Kind: driver.Busy, Err: errors.New("the file was replaced while it was opened")}
	}
	tx, b, err := f.begin(o, readOnly)
	if err != nil {
		return err
	}
	defer tx.Rollback() // fails only after an end
	switch {
	case tx.Size() > info.Size():
		return corrupt(fmt.Sprintf("the file has %d bytes, its header says %d", info.Size(), tx.Size()))
	case b == nil:
		err = o.refuseOthers(tx)
	}
	if err == nil && !o.bolt.ReadOnly && f.marked(info.Size()) {
		err = f.heal(tx.Size(), info.Size())
	}
	return err
}

// isAt reports whether path leads to the file.
func isAt(file os.FileInfo, path string) (bool, error) {
	named, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(file, named), err
}

// survey reads all keys of a file that keeps no free list. Opening it for writing reads all pages
// too, but in a goroutine of bbolt's, where nobody could catch the panic over a damaged one.
func survey(path string, o options) error {
	o.bolt.ReadOnly, o.bolt.PreLoadFreelist = true, false
	return withFile(path, &o, func(tx *bolt.Tx) error { return walk(context.Background(), tx) })
}

// withFile opens path, apart from who may have opened it before, and calls do within a read
// transaction.
func withFile(path string, o *options, do func(tx *bolt.Tx) error) error {
	f, err := openFile(path, o)
	if err != nil {
		return err
	}
	tx, _, err := f.begin(o, readOnly)
	if err != nil {
		return errors.Join(err, f.release())
	}
	return errors.Join(do(tx), f.end(tx))
}

// walk reads every key, in all buckets, and requires them to ascend.
func walk(ctx context.Context, tx *bolt.Tx) (err error) {
	defer recovered(&err, protect())
	return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walkBucket(ctx, b) })
}

func walkBucket(ctx context.Context, b *bolt.Bucket) error {
	var last []byte
	return b.ForEach(func(k, v []byte) error {
		if last != nil && bytes.Compare(last, k) >= 0 {
			return corrupt("keys out of order")
		}
		last = k
		if v == nil {
			return walkBucket(ctx, b.Bucket(k))
		}
		return ctx.Err()
	})
}
