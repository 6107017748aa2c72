package sqlite

import (
	"bytes"
	"cmp"
	endian "encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
)

// A system takes what a failed sync would have written for clean: no later sync writes it, though
// everybody still reads it. In the log that is a hole, behind which a power loss ends what is
// there, even if it was synced; and a checkpoint amid which power fails leaves pages of two times.
// Commits that are synced one by one leave none, as a failed one is overwritten by the next. Those
// that are not synced before it may.

// defaultCheckpoint is SQLite's own wal_autocheckpoint.
const defaultCheckpoint = 1000

func (o *Options) checkpointAt() int { return cmp.Or(o.WALAutocheckpoint, defaultCheckpoint) }

// checkpoint copies the log into the database after a commit that left as much in it, and returns
// what the commit must tell of it: that a sync failed, or Done. All else is tried again by the next
// one. SQLite's own checkpoint passes over a failed sync too, so that the commits after it would
// stand behind the hole.
func (c *conn) checkpoint() int32 {
	if s := c.reader.s; s.doubts(c) {
		switch err := s.rewriteLog(c, 0); {
		case driver.KindOf(err) == driver.Busy:
			return Done
		case err != nil:
			return IOErrFsync
		}
	}
	p, rc := c.db.Prepare("PRAGMA wal_checkpoint", 0)
	if rc == OK {
		_, _, rc = p.Step(0)
		p.Finalize()
	}
	if rc == IOErrFsync {
		return rc
	}
	return Done
}

// ran returns what a statement tells that ended with rc, once a checkpoint is done that is due.
func (c *conn) ran(rc int32) int32 {
	if rc == CheckpointDue {
		return c.checkpoint()
	}
	return rc
}

// compact rewrites the database, which passes through the log, and empties that.
func (c *conn) compact() error {
	err := c.exec("VACUUM")
	if s := c.reader.s; err == nil && s.doubts(c) {
		err = s.mend(c)
	}
	if err != nil {
		return err
	}
	return c.exec("PRAGMA wal_checkpoint(TRUNCATE)")
}

// patience is how long the log waits for other writers before it is mended.
const patience = time.Second

// mend writes the log once more after a commit of c in doubt: a sync may have failed, of which
// handles that are opened later know nothing. What fails is tried again before this handle writes,
// when it is closed, and before the first write of those.
func (s *Store) mend(c *conn) error {
	_ = s.protect(true) // where that is not to be had, as on a file of another user, nobody is told
	err := s.rewriteLog(c, patience)
	s.log.hole = err != nil
	return err
}

// rewriteLog writes the log once more, as it is, and syncs it, and has the next checkpoint copy all
// of it. Nobody else writes meanwhile: others that do are waited for. c has no transaction open.
func (s *Store) rewriteLog(c *conn, wait time.Duration) error {
	if s.journal != wal {
		return nil
	}
	err := awaited(wait, func() error { return s.forgetCopied(c) })
	if err != nil {
		return err
	}
	if err = rewrite(s.path+"-wal", s.onSync); err == nil {
		s.log.hole, c.fresh = false, false
		s.log.doubt.Store(false)
		_ = s.protect(false) // as above
	}
	return errors.Join(err, c.rollback())
}

// awaited returns what begin does, which is called again for a while where it is Busy.
func awaited(wait time.Duration, begin func() error) error {
	deadline := time.Now().Add(wait)
	err := begin()
	for driver.KindOf(err) == driver.Busy && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		err = begin()
	}
	return err
}

// begin begins a transaction that writes.
func (c *conn) begin() error {
	if rc := c.run(kindBegin, nil, nil); rc != Done {
		return c.db.Failure(rc)
	}
	return nil
}

// forgetCopied begins a transaction of c, with a log of which nothing counts as copied. SQLite: a
// checkpoint that readers keep from the end of the log does not sync what it copies, and the next
// one begins behind it. If the sync of that one fails, both are lost.
func (s *Store) forgetCopied(c *conn) error {
	if err := c.begin(); err != nil {
		return err
	}
	rc := c.db.CopyAll()
	if rc == OK {
		return nil
	}
	return errors.Join(NewError(rc, "the log's index", nil), c.rollback())
}

// The file -shm, as https://sqlite.org/walformat.html has it: the lock of who checkpoints, which
// lies behind LocksInShm in the file, and where it says how many pages of the log are copied, in
// four bytes; before that stands how many of its frames are committed.
const (
	LocksInShm     = 120
	CheckpointLock = 1
	FramesInShm    = 16
	CopiedInShm    = 96
	ShmRegion      = 32 << 10
)

// The sizes of the headers of a log, and of a frame in it.
const (
	logHeader   = 32
	frameHeader = 24
)

// rewrite writes the frames of the log at path once more and syncs them.
func rewrite(path string, onSync driver.OnSync) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for at, end := int64(0), endOfLog(f); err == nil && at < end; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), end-at)]
		n, failed := f.ReadAt(buf, at)
		if _, err = f.WriteAt(buf[:n], at); err == nil && failed != io.EOF { // the last frame may be torn
			err = failed
		}
	}
	if err == nil {
		err = onSync.Time(f.Sync)
	}
	return errors.Join(err, f.Close())
}

// endOfLog returns where the frames of a log end. SQLite: each bears the two salts of the header;
// those behind them are of an earlier round, and a file may hold many more of them.
func endOfLog(f io.ReaderAt) int64 {
	var header [logHeader]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return 0
	}
	frame := frameHeader + int64(endian.BigEndian.Uint32(header[8:]))
	end := int64(logHeader)
	for {
		var h [frameHeader]byte
		if _, err := f.ReadAt(h[:], end); err != nil || !bytes.Equal(h[8:16], header[16:24]) {
			return end
		}
		end += frame
	}
}

// unwrite takes what a commit has written out of the log that found no space, which err says. The
// next commit overwrites it, and may end with the same bytes: if power fails amid that, and they
// are there and what stands before them is not, the log has the one that was not done. Without this
// it is in doubt.
func (c *conn) unwrite(err error) error {
	var undone error
	if s := c.reader.s; s.journal == wal {
		if undone = awaited(patience, c.begin); undone == nil {
			undone = errors.Join(c.cutLog(), c.rollback())
		}
	}
	if undone == nil {
		return driver.NotDone(err)
	}
	return &driver.Error{Kind: driver.InDoubt, Err: errors.Join(err, undone)}
}

// cutLog takes what stands behind the last commit out of the log: the frames of one that found no
// space. All of them may be valid, where the last page was to end as what stood there before.
func (c *conn) cutLog() error {
	frames, rc := c.db.Committed()
	if rc != OK {
		return NewError(rc, "the log's index", nil)
	}
	s := c.reader.s
	f, err := os.OpenFile(s.path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(clearFrames(f, int64(frames), s.onSync), f.Close())
}

// clearFrames clears the headers of the frames of a log from one on. That one's first, durably: it
// ends the log. Then those of the others: where the next commit begins alike, they would be valid
// behind it again. SQLite: if the header of a new round could not be written, they are of the one
// before, which is in the database; a part of it must not be left alone.
func clearFrames(f *os.File, from int64, onSync driver.OnSync) error {
	var header [logHeader]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return notEOF(err)
	}
	frame := frameHeader + int64(endian.BigEndian.Uint32(header[8:]))
	first := logHeader + from*frame
	for at := first; ; at += frame {
		var h [frameHeader]byte
		if _, err := f.ReadAt(h[:], at); err != nil || !bytes.Equal(h[8:16], header[16:24]) {
			if err = notEOF(err); err == nil && at > first+frame {
				err = onSync.Time(f.Sync)
			}
			return err
		}
		_, err := f.WriteAt(make([]byte, frameHeader), at)
		if err == nil && at == first {
			err = onSync.Time(f.Sync)
		}
		if err != nil {
			return err
		}
	}
}

// notEOF returns err, nil if it is the end of the file. What cannot be read may be a commit.
func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// logState is what a handle knows of the log. By lock the handles tell whether there are others:
// each that has the store open for writing holds a shared lock of the log. SQLite: it has locks of
// its own on the other files, never on this one.
type logState struct {
	lock     *flock.Flock
	told     *os.File    // of the log, open as long as the handle is; nil on Windows
	inherits bool        // nobody closed it, and nobody else is there
	hole     bool        // it may have a hole, by a failure of this handle, or as another one has told
	doubt    atomic.Bool // it may, of which this handle was not told; a new connection asks, amid a write
}

// alone reports whether no other handle has the store open for writing, and keeps all out until
// among or leave. Where a lock would keep SQLite from writing, everybody is alone. There is no log
// where nobody has the database open.
func (l *logState) alone(path string) (bool, error) {
	if runtime.GOOS == "windows" {
		return true, nil
	}
	if l.lock == nil {
		l.lock = flock.New(path+"-wal", flock.SetFlag(os.O_RDONLY))
	}
	ok, err := l.lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return ok, err
}

// among lets others in. It is Busy while one of them keeps all out.
func (l *logState) among() error {
	if l.lock == nil {
		return nil
	}
	ok, err := l.lock.TryRLock()
	if err == nil && !ok {
		err = &driver.Error{Kind: driver.Busy, Err: errors.New("another process mends the log")}
	}
	if err == nil {
		l.told, err = os.OpenFile(l.lock.Path(), os.O_RDWR, 0)
	}
	return err
}

func (l *logState) leave() (err error) {
	if l.told != nil {
		err = l.told.Close()
		l.told = nil
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Unlock())
	}
	return err
}

// drop closes a connection that is of no use any more. If it is the only one, the log must stay:
// the handle has it open.
func (c *conn) drop() error {
	c.db.KeepLog(true)
	return c.close()
}

// doubts reports whether the log is to be written once more before c copies it, and copied from its
// beginning. A connection that was opened late was not told of a failed sync of the database.
func (s *Store) doubts(c *conn) bool { return s.log.doubt.Load() || c.fresh }

// missed reports whether a sync of the log may have failed before c was there, which has not
// written yet. Linux tells each file that was open then once; that of c was not. SQLite: who reads
// opens the log.
func (s *Store) missed(c *conn) bool {
	if !c.late {
		return false
	}
	c.late = false
	_, err := c.text("PRAGMA schema_version")
	return err != nil || s.onSync.Time(s.log.told.Sync) != nil
}

// suspect looks, before SQLite does, whether there is a log that nobody has closed: of the process
// that wrote it nobody knows whether its last sync failed.
func (s *Store) suspect() (err error) {
	info, err := os.Stat(s.path + "-wal")
	if s.readOnly || errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err == nil {
		s.log.hole = s.marked()
		s.log.doubt.Store(true)
		s.log.inherits, err = s.log.alone(s.path)
	}
	return err
}

// inherit mends a log that nobody closed, before anything is copied from it, with the first
// connection, unless err has ended that.
func (s *Store) inherit(c *conn, err error) error {
	if err != nil || !s.log.inherits {
		return err
	}
	return s.rewriteLog(c, 0)
}

// guard has a connection say when a checkpoint is due. What fails before the log is mended must not
// end in one: the connection may be the last. One that was opened late was told of no failure;
// closeLog decides for those that are open in the end.
func (s *Store) guard(db Conn) {
	if s.log.told != nil || s.log.doubt.Load() {
		db.KeepLog(true)
	}
	db.CheckpointAt(s.options.checkpointAt())
}

// connectFirst opens the first connection.
func (s *Store) connectFirst() (*conn, error) {
	if err := s.suspect(); err != nil {
		return nil, err
	}
	c, err := s.connect()
	if err != nil {
		return nil, errors.Join(err, s.log.leave())
	}
	return c, nil
}

// giveUp closes the first connection of a handle that does not come about. It may be the last one,
// at whose end SQLite copies the log, of whose syncs this handle knows nothing but that its own
// failed.
func (s *Store) giveUp(c *conn) error {
	if c.doubt { // as Wrap's own commit
		_ = s.mend(c)
	}
	c.db.KeepLog(s.unfinished() != "")
	return errors.Join(c.close(), s.log.leave())
}

// enter prepares the store with its first connection, and makes the handle one of its users.
func (s *Store) enter(c *conn) error {
	if err := s.prepare(c); err != nil {
		return err
	}
	return s.join(c)
}

// join makes the handle one of the users. Beside others it stays in doubt of the log: a sync of one
// of them may have failed before it was there to be told, and he may die before he mends that. One
// who was to mend a log that nobody had closed may have gone without.
func (s *Store) join(c *conn) error {
	if s.readOnly || s.journal != wal {
		return nil
	}
	alone, err := s.mendAlone(c)
	if err != nil {
		return err
	}
	s.log.doubt.Store(s.log.doubt.Load() || !alone)
	err = s.log.among()
	s.log.hole = s.log.hole || s.marked() // behind which this handle is told
	return err
}

// mendAlone reports whether no other handle has the store open, and mends a log in doubt then.
func (s *Store) mendAlone(c *conn) (alone bool, err error) {
	alone, err = s.log.alone(s.path)
	if err == nil && alone && s.log.doubt.Load() {
		c.db.KeepLog(true)
		err = s.rewriteLog(c, 0)
	}
	return alone, err
}

// leaveLog gives a database another journal, for which SQLite copies the log.
func (s *Store) leaveLog(c *conn, journal string) error {
	if s.log.doubt.Load() {
		if alone, err := s.mendAlone(c); err != nil {
			return err
		} else if !alone {
			return &driver.Error{Kind: driver.Busy, Err: errors.New("another process has the log")}
		}
	}
	return s.setJournal(c, journal)
}

// closeLog decides what becomes of the log when the last connection is closed: SQLite copies it
// into the database if no process has that open any more. One that is in doubt is written once more
// before; where that fails, or others are there, it stays for the next.
func (s *Store) closeLog(conns []*conn) {
	// The last one copies the log. Where there is one that was told of what failed before, that.
	last := len(conns) - 1
	if i := slices.IndexFunc(conns, func(c *conn) bool { return !c.fresh }); i >= 0 {
		conns[i], conns[last] = conns[last], conns[i]
	}
	if last >= 0 && (s.doubts(conns[last]) || s.log.hole) && s.log.leave() == nil {
		s.log.doubt.Store(true)
		if alone, err := s.log.alone(s.path); alone && err == nil {
			_ = s.rewriteLog(conns[last], 0) // a commit that met the failure has told of it
		}
	}
	for _, c := range conns {
		c.db.KeepLog(s.log.doubt.Load() || s.log.hole)
	}
}
