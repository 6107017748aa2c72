package bboltkv

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv/driver"
)

// commit commits tx. Its error is marked as not done where nothing is there and bbolt may go on: it
// refused the commit before it wrote anything, or the disk was full for pages that nobody needs
// yet. Where a sync has failed, or a write for another reason, what the system keeps in memory need
// no longer be what is on the disk.
func (f *file) commit(tx *bolt.Tx) (err error) {
	defer f.recovered(&err, protect())
	id := tx.ID()
	if err = tx.Commit(); err == nil {
		return nil
	}
	var path *fs.PathError
	written := strings.HasPrefix(err.Error(), "file resize error") || errors.As(err, &path) && path.Op == "write"
	c := classify(err)
	if errors.Is(err, berrors.ErrMaxSizeReached) || driver.KindOf(c) == driver.Full && written && f.last() < id {
		return driver.NotDone(c)
	}
	if f.os == nil {
		return c
	}
	return errors.Join(c, f.mark())
}

// last returns the id of the last commit that is visible: the write that failed may be that of the
// page that tells.
func (f *file) last() int {
	tx, err := f.db.Begin(readOnly)
	if err != nil {
		return math.MaxInt
	}
	defer tx.Rollback() // fails only after an end
	return tx.ID()
}

// A sync that failed leaves pages that everybody reads and no later sync writes, the page that
// names all others perhaps among them. Opened again, bbolt would take that for the state of the
// disk, and write into pages that the disk still needs. So a commit in doubt makes the file one
// byte longer than its pages, which bbolt does not mind and whoever opens it next sees for as long
// as those pages are in memory.

// mark marks the file as one to be healed.
func (f *file) mark() error {
	info, err := f.os.Stat()
	if err != nil || f.marked(info.Size()) {
		return err
	}
	return f.os.Truncate(info.Size() + 1)
}

// marked tells by the size of the file.
func (f *file) marked(size int64) bool { return size%f.page != 0 }

// heal writes the whole file once more, of which pages up to used are in use: first what the two
// pages at its beginning name, then those.
func (f *file) heal(used, size int64) error {
	for _, part := range [][2]int64{{2 * f.page, used}, {0, 2 * f.page}} {
		from, to := io.NewSectionReader(f.os, part[0], part[1]-part[0]), io.NewOffsetWriter(f.os, part[0])
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if err := f.os.Sync(); err != nil {
			return err
		}
	}
	return f.os.Truncate(size - size%f.page)
}
