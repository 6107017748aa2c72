package buntkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// log is the file of a store with frames, which the driver writes: BuntDB has the pairs in memory.
// It is written by who is in the gate as a writer.
type log struct {
	mu    sync.Mutex // held while file is synced or replaced
	file  *os.File
	dirty atomic.Bool // something was written since the last sync

	size, synced atomic.Int64 // of the file; what of it is known to be on the disk
	last         frame
	others       bool   // a part of the file has no frames, or there is no frame
	buf          []byte // a transaction, in which a frame's room comes first
	base         int64  // size after the last compaction

	stop context.CancelFunc // of what runs in the background
	done sync.WaitGroup
}

// openFramed reads the file, and cuts off what a crash has left, unless it may only read. That can
// be done again and again.
func (s *store) openFramed(file *os.File, readOnly bool) (err error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	if len(b) == 0 && readOnly { // it may be a store that never held anything, or one that lost all of it
		return &driver.Error{Kind: driver.NoStore, Err: errors.New("the file is empty"),
			Hint: "open it once without mode=ro"}
	}
	p, err := examine(b)
	if err != nil {
		return err
	}
	if err := s.load(b[:p.end]); err != nil || readOnly {
		return err
	}
	l := &log{file: file, last: p.last, others: p.others || p.end == 0}
	l.size.Store(p.end)
	l.synced.Store(min(p.last.synced, p.end))
	s.log = l
	torn := int64(len(b)) - p.end
	if torn == 0 && (p.others || p.last.kind == closed) {
		return nil
	}
	if torn > 0 {
		s.logger.Warn("bunt: cut off what a crash has left", "path", s.path, "bytes", torn)
		if err := file.Truncate(p.end); err != nil {
			return err
		}
	}
	// What was not synced is written once more: where a sync of it failed, the kernel takes it for
	// written, so that a further sync alone would not bring it to the disk.
	_, err = file.WriteAt(b[l.synced.Load():p.end], l.synced.Load())
	l.dirty.Store(true)
	return errors.Join(err, s.sync())
}

// load opens the database with the commands in b, a last one that is not whole left out. BuntDB's
// reader of files indexes into commands that it has not measured.
func (s *store) load(b []byte) (err error) {
	defer driver.Recovered(&err, corrupt)
	if s.gate.db, err = buntdb.Open(":memory:"); err != nil {
		return err
	}
	if err := s.gate.db.Load(bytes.NewReader(b)); err != nil && err != io.ErrUnexpectedEOF {
		return classify(err)
	}
	return s.gate.db.SetConfig(s.options.config())
}

// beginFramed sees to it that transactions follow a frame, and returns the memory for one; nil for
// the plain form.
func (s *store) beginFramed(ctx context.Context) ([]byte, error) {
	if s.log == nil {
		return nil, nil
	}
	if s.log.others {
		if err := s.compact(ctx); err != nil {
			return nil, err
		}
	}
	return append(s.log.buf[:0], make([]byte, frameSize)...), nil
}

// commitFramed writes t to the file, and then to the memory.
func (t *txn) commitFramed() (err error) {
	s, l := t.store, t.store.log
	if int64(len(t.buf)) > frameSize {
		err = l.write(framed, t.buf)
	}
	if err == nil {
		err = t.tx.Commit()
	} else {
		err = errors.Join(err, t.tx.Rollback())
	}
	if cap(t.buf) <= mostKept {
		l.buf = t.buf
	}
	t.gate.endWrite(nil)
	if err != nil || t.durability != driver.Synced && s.options.SyncPolicy != buntdb.Always {
		return s.fail(err)
	}
	return s.sync()
}

// mostKept bounds the memory that is kept for the next transaction.
const mostKept = 1 << 20

// write writes a frame of that kind and b behind it, in which the frame's room comes first. After
// an error, all of it may have been written, unless there was no space: that it is taken back must
// be on the disk before it counts as not done.
func (l *log) write(kind byte, b []byte) error {
	at := l.size.Load()
	f := frame{kind: kind, at: at, size: int64(len(b)) - frameSize, synced: l.synced.Load()}
	f = f.seal(b, l.last.sum, sumOf(b[frameSize:]))
	if _, err := l.file.WriteAt(b, at); err != nil {
		undone := l.file.Truncate(at)
		if undone == nil && !errors.Is(err, syscall.ENOSPC) {
			undone = l.file.Sync()
		}
		if undone != nil {
			return errors.Join(err, undone)
		}
		return driver.NotDone(err)
	}
	l.last = f
	l.size.Store(at + int64(len(b)))
	l.dirty.Store(true)
	return nil
}

// sync makes durable what was committed. What a failed sync was to keep may be lost whatever later
// ones say, so nothing is committed any more.
func (s *store) sync() error {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := s.failed.Err(); err != nil { // a sync in the background, which was to keep this commit too
		return &driver.Error{Kind: driver.InDoubt, Err: err}
	}
	if !l.dirty.Swap(false) {
		return nil
	}
	size := l.size.Load()
	if err := s.onSync.Time(l.file.Sync); err != nil {
		return s.fail(err)
	}
	l.synced.Store(size)
	return nil
}

// closeFramed syncs the file and says so in it.
func (s *store) closeFramed() (err error) {
	l := s.log
	l.stop()
	l.done.Wait()
	if s.failed.Err() == nil {
		if err = s.sync(); err == nil && !l.others && l.last.kind == framed {
			err = l.write(closed, make([]byte, frameSize))
		}
	}
	return errors.Join(err, l.file.Close())
}

// appendSet appends the command that BuntDB writes for a pair, appendDelete that for a deletion.
func appendSet(b, key, value []byte) []byte {
	return appendBulk(appendBulk(append(b, "*3\r\n$3\r\nset\r\n"...), key), value)
}

func appendDelete(b, key []byte) []byte { return appendBulk(append(b, "*2\r\n$3\r\ndel\r\n"...), key) }

func appendBulk(b, s []byte) []byte {
	b = append(strconv.AppendInt(append(b, '$'), int64(len(s)), 10), "\r\n"...)
	return append(append(b, s...), "\r\n"...)
}

// Check reads the whole file of a store with frames into memory, whose sums it can check. A writer
// waits meanwhile.
func (s *store) Check(ctx context.Context) error {
	if _, err := s.gate.read(ctx); err != nil {
		return err
	}
	return errors.Join(s.check(), s.gate.endRead())
}

func (s *store) check() error {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	p, err := examine(b)
	switch {
	case err != nil || s.log == nil:
		return err // what was cut off was passed over when the file was read
	case p.end != int64(len(b)) || p.others != s.log.others && p.end > 0:
		return p.damaged(b)
	case p.end != s.log.size.Load():
		return corrupt(fmt.Sprintf("the file has %d bytes, and not the %d that were written", p.end, s.log.size.Load()))
	}
	return nil
}

// refuseUnclosed is for the plain form.
func refuseUnclosed(tx *buntdb.Tx) error {
	v, err := tx.Get(frameKey)
	if f, ok := decode([]byte(v)); err == nil && ok && f.kind != closed {
		return &driver.Error{Kind: driver.Invalid, Err: errors.New("a store with frames was not closed"),
			Hint: "open it once without Frames=false"}
	}
	return nil
}

// fail keeps err as the answer to later calls, unless it has left nothing behind, and returns it.
func (s *store) fail(err error) error {
	if driver.IsInDoubt(err) {
		s.failed.Stop(err)
	}
	return err
}

// config is what BuntDB itself is told. With OnExpired it does not delete on its own what has
// expired.
func (o *options) config() buntdb.Config {
	c := o.Config
	if c.OnExpired == nil {
		c.OnExpired = func([]string) {}
	}
	return c
}

// framedPromises are those of a store with frames.
func (o *options) framedPromises() (p [3]driver.Promise) {
	for d := range p {
		p[d] = driver.Promise{Supported: true, Class: driver.Flushed, Intact: true, KillAtomic: true, PowerAtomic: true}
		if d == int(driver.Synced) || o.SyncPolicy == buntdb.Always {
			p[d].Class = driver.Synced
		}
	}
	return p
}
