package bboltkv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

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

// verify returns Busy if path leads to another file by now: the lock was got on a file that a
// compaction replaced. It returns Corrupt if the file is shorter than its header says, where bbolt
// would fault on a missing page.
func (f *file) verify(path string, o *options) error {
	info, err := f.os.Stat()
	if err != nil {
		return err
	}
	switch same, err := isAt(info, path); {
	case err != nil:
		return err
	case !same:
		return &driver.Error{Kind: driver.Busy, Err: errors.New("the file was replaced while it was opened")}
	}
	f.users.Add(1)
	tx, b, err := f.begin(o, readOnly)
	if err != nil {
		return err
	}
	defer f.end(tx) // fails only after an end
	switch {
	case tx.Size() > info.Size():
		return corrupt(fmt.Sprintf("the file has %d bytes, its header says %d", info.Size(), tx.Size()))
	case b == nil:
		err = o.refuseOthers(tx)
	}
	if err == nil && !o.ReadOnly {
		err = f.trust(tx, info.Size())
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

// refuseOthers is for a file without the store's bucket: it returns Invalid if there are others,
// which another program made, and Corrupt if those are none. A file without any is a new store.
func (o *options) refuseOthers(tx *bolt.Tx) (err error) {
	defer recovered(&err, protect())
	var names []string
	c := tx.Cursor()
	for k, _ := c.First(); k != nil && len(names) < 20; k, _ = c.Next() {
		b := tx.Bucket(k)
		if b == nil || len(k) == 0 || int64(b.Root()) >= tx.Size()/int64(o.PageSize) {
			return corrupt("what stands among the buckets is none")
		}
		b.Cursor().Seek(nil) // panics over what is no page of a bucket
		names = append(names, strconv.Quote(string(k)))
	}
	if len(names) == 0 {
		return nil
	}
	return &driver.Error{Kind: driver.Invalid,
		Err:  fmt.Errorf("no bucket %q in a file that has %s", o.bucket, strings.Join(names, ", ")),
		Hint: "name the bucket to open: ?Bucket=NAME, or ?Bucket=OUTER/INNER for one within another"}
}

// classifyOpen is classify for Open, where an error that is not the operating system's is about the
// file's content.
func classifyOpen(err error, path string, o *options) error {
	info, serr := os.Stat(path)
	c := classify(err)
	switch {
	case o.ReadOnly && serr == nil && info.Size() == 0:
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("an empty file"),
			Hint: "open it once without mode=ro"}
	case c != err, driver.KindOf(err) != driver.Other,
		errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return c
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup, or name another file"}
}
