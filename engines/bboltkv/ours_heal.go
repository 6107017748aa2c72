package bboltkv

import (
	"bytes"
	"encoding/binary"
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
		f.told(tx, nil)
		return nil
	}
	var path *fs.PathError
	written := strings.HasPrefix(err.Error(), "file resize error") || errors.As(err, &path) && path.Op == "write"
	c := classify(err)
	if errors.Is(err, berrors.ErrMaxSizeReached) || driver.KindOf(c) == driver.Full && written && f.last() < id {
		return driver.NotDone(c)
	}
	f.told(tx, err)
	if f.os == nil {
		return c
	}
	f.stored.Store(false)
	return errors.Join(c, f.mark())
}

// told tells of the writes and syncs of a commit as one sync: bbolt has no place to hear of each,
// and counts how long they took together, but for a commit that failed.
func (f *file) told(tx *bolt.Tx, err error) {
	if stats := tx.Stats(); f.onSync != nil && !f.db.NoSync {
		f.onSync(stats.GetWriteTime(), err)
	}
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
		if err := f.onSync.Time(f.os.Sync); err != nil {
			return err
		}
	}
	return f.os.Truncate(size - size%f.page)
}

// A process that dies right after a sync failed has no time to mark the file. So one that closes a
// file of which no sync has failed seals it, and what is not sealed is not trusted: its first
// Synced commit writes the page that names all others once more and syncs it, before it writes over
// what the page on the disk may need.

// sealText is what a seal begins with; the id of the last commit follows, in 8 bytes.
const sealText = "assay: closed after commit "

// sealOf returns the seal of a file whose last commit has an id, and where it stands: at the end of
// the page that the next commit writes anew, where bbolt leaves zeroes. No sync is needed for it.
func (f *file) sealOf(id int) (seal []byte, at int64) {
	seal = binary.BigEndian.AppendUint64([]byte(sealText), uint64(id))
	return seal, int64((id+1)%2)*f.page + f.page - int64(len(seal))
}

// seal seals the file before it is closed. Without a seal a commit takes longer, so that an error
// matters to nobody.
func (f *file) seal() {
	id := f.last()
	if !f.stored.Load() || id == f.sealed || id == math.MaxInt {
		return
	}
	seal, at := f.sealOf(id)
	_, _ = f.os.WriteAt(seal, at)
}

// trust heals a file that is marked, and finds out whether one is sealed.
func (f *file) trust(tx *bolt.Tx, size int64) error {
	if f.marked(size) {
		if err := f.heal(tx.Size(), size); err != nil {
			return err
		}
		f.stored.Store(true)
		return nil
	}
	want, at := f.sealOf(tx.ID())
	seal := make([]byte, len(want))
	n, _ := f.os.ReadAt(seal, at)
	if n == len(want) && bytes.Equal(seal, want) {
		f.stored.Store(true)
		f.sealed = tx.ID()
	}
	return nil
}

// store sees to it, before a commit that syncs, that the page that names all others, which was
// written by the commit before tx, is on the disk. If that fails, other pages may be lost, too.
func (f *file) store(tx *bolt.Tx) error {
	if f.db.NoSync || f.stored.Load() {
		return nil
	}
	page, at := make([]byte, f.page), int64((tx.ID()-1)%2)*f.page
	_, err := f.os.ReadAt(page, at)
	if err == nil {
		_, err = f.os.WriteAt(page, at)
	}
	if err == nil {
		err = f.onSync.Time(f.db.Sync)
	}
	if err != nil {
		return errors.Join(classify(err), f.mark())
	}
	f.stored.Store(true)
	return nil
}
