package bboltkv

import (
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
		if !f.db.NoSync {
			f.flushed = false
		}
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

// A process that dies right after a sync failed has no time to mark the file. So notes are left in
// it, of which no sync is needed either. One that closes a file of which no sync has failed seals
// it, and what is not sealed is not trusted: its first Synced commit writes the page that names all
// others once more and syncs it, before it writes over what the page on the disk may need. That is
// not enough where Flushed commits, or those of others, have left pages to the sync that failed. So
// a commit that syncs for them, too, says so first, and who finds that it has not come to its end
// heals the file.

// A note begins with one of these; the id of the last commit follows, in 8 bytes.
const (
	noteSynced  = "assay: synced after commit " // closed, and all of it is on the disk
	noteClosed  = "assay: closed after commit " // closed, and the next sync is for Flushed commits, too
	noteSyncing = "assay: syncing past commit " // such a sync was begun
)

// leave leaves a note in a file whose last commit has an id.
func (f *file) leave(note string, id int) error {
	f.noted = noteOf(note, id)
	_, err := f.os.WriteAt([]byte(f.noted), f.noteAt(id))
	return err
}

func noteOf(text string, id int) string {
	return string(binary.BigEndian.AppendUint64([]byte(text), uint64(id)))
}

// noteAt returns where the note stands: at the end of the page that the next commit writes anew,
// where bbolt leaves zeroes.
func (f *file) noteAt(id int) int64 {
	return int64((id+1)%2)*f.page + f.page - int64(len(noteClosed)+8)
}

// seal seals the file before it is closed. Without a seal a commit takes longer, so that an error
// matters to nobody.
func (f *file) seal() {
	id, text := f.last(), noteSynced
	if f.flushed {
		text = noteClosed
	}
	if f.stored.Load() && id != math.MaxInt && f.noted != noteOf(text, id) {
		_ = f.leave(text, id)
	}
}

// trust heals a file that is marked, or in which a sync for Flushed commits has not come to its
// end, and finds out whether one is sealed.
func (f *file) trust(tx *bolt.Tx, size int64) error {
	id, note := tx.ID(), make([]byte, len(noteClosed)+8)
	_, _ = f.os.ReadAt(note, f.noteAt(id)) // what cannot be read is no seal
	f.noted = string(note)
	if f.marked(size) || f.noted == noteOf(noteSyncing, id) {
		if err := f.heal(tx.Size(), size); err != nil {
			return err
		}
		f.stored.Store(true)
		return f.leave(noteSynced, id)
	}
	f.flushed = f.noted != noteOf(noteSynced, id)
	f.stored.Store(!f.flushed || f.noted == noteOf(noteClosed, id))
	return nil
}

// store sees to it, before a commit that syncs, that the page that names all others, which was
// written by the commit before tx, is on the disk. If that fails, other pages may be lost, too.
func (f *file) store(tx *bolt.Tx) error {
	if f.db.NoSync {
		f.flushed = true
		return nil
	}
	if f.flushed {
		if err := f.leave(noteSyncing, tx.ID()-1); err != nil {
			return classify(err)
		}
	}
	if f.stored.Load() {
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
