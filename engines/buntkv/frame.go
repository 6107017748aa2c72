package buntkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// Frames are ours: BuntDB writes the pairs of a transaction in any order, with nothing around them,
// so that it takes what a kill has left of one for the whole, and refuses what a power loss has
// left.
//
// A frame is one more pair of the transaction, under the empty key, which no program can have. It
// says where the transaction ends in the file, and the checksum of the rest of it and of the frame
// before. Where the frame stands among the pairs does not matter: both numbers are sums over them.
// So it costs a pair, and no write of its own.
//
// A file may have parts without frames: what another program has appended, and what a compaction
// has written. Behind such a part a frame of the kind opened stands alone, and all behind it is
// framed up to one of the kind closed.
type frame struct {
	kind   byte
	end    int64  // of the transaction
	synced int64  // up to here the file had been synced before the transaction was written
	sum    uint32 // of the frame before, all other pairs of the transaction, and what stands above
}

const (
	framed = 't' // a transaction
	opened = 'o' // alone: from here on everything is framed; sum is that of what was not
	closed = 'z' // alone: the file was closed, and all of it synced; what follows is another program's
)

const (
	frameKey  = "" // kv refuses it as a key
	frameHead = "*3\r\n$3\r\nset\r\n$0\r\n\r\n$21\r\n"
	valueSize = 1 + 8 + 8 + 4
	frameSize = int64(len(frameHead) + valueSize + len("\r\n"))
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newFrame returns the frame of a transaction of pairs with that sum, behind one with the sum
// before.
func newFrame(kind byte, end, synced int64, before uint32, pairs uint64) frame {
	f := frame{kind: kind, end: end, synced: synced}
	b := binary.BigEndian.AppendUint32(f.encode(make([]byte, 0, valueSize+4+8)), before)
	f.sum = sumOf(binary.BigEndian.AppendUint64(b, pairs))
	return f
}

// openedBehind returns the frame that follows one of the kind closed, which ends at end.
func openedBehind(end int64) frame { return newFrame(opened, end+frameSize, end-frameSize, 0, 0) }

// encode appends f to b, as it is stored.
func (f frame) encode(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, f.kind), uint64(f.end))
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(f.synced)), f.sum)
}

// command returns f as it stands in the file.
func (f frame) command() []byte { return append(f.encode([]byte(frameHead)), "\r\n"...) }

// decode returns the frame whose stored form is v.
func decode(v []byte) (f frame, ok bool) {
	if len(v) != valueSize || v[0] != framed && v[0] != opened && v[0] != closed {
		return f, false
	}
	n := binary.BigEndian
	return frame{v[0], int64(n.Uint64(v[1:])), int64(n.Uint64(v[9:])), n.Uint32(v[17:])}, true
}

// part is what one pair adds to a transaction.
type part struct {
	size int64
	sum  uint64
}

func setPart(key, value string) part {
	sum := crc32.Update(sumOf(lent(key)), castagnoli, lent(value))
	return part{setSize(key, value), 1<<32 + uint64(sum)}
}

func setSize(key, value string) int64 {
	return int64(len("*3\r\n$3\r\nset\r\n")) + bulk(key) + bulk(value)
}

func delPart(key string) part {
	return part{int64(len("*2\r\n$3\r\ndel\r\n")) + bulk(key), 2<<32 + uint64(sumOf(lent(key)))}
}

// bulk is the size of s in the file: $LENGTH, s, and the ends of two lines.
func bulk(s string) int64 {
	digits := 1
	for n := len(s); n >= 10; n /= 10 {
		digits++
	}
	return int64(1 + digits + 2 + len(s) + 2)
}

// tally sums up what a transaction will write: the last write to each key.
type tally struct {
	part
	first string          // the key that was written first
	keys  map[string]part // of all, once there is another
}

func (t *tally) add(key string, p part) {
	if t.size == 0 {
		t.first = key
	}
	if t.keys == nil && key == t.first {
		t.part = p
		return
	}
	if t.keys == nil {
		t.keys = make(map[string]part, 16)
		t.keys[t.first] = t.part
	}
	before := t.keys[key]
	t.keys[key] = p
	t.size += p.size - before.size
	t.sum += p.sum - before.sum
}

// frames is where an open store stands in its file. kv lets one writer at a time in; only the two
// numbers are looked at by others.
type frames struct {
	store        *store
	size, synced atomic.Int64 // of the file; what of it is known to be on the disk
	writing      sync.Mutex   // held while the file and size differ
	point
}

// moveTo goes on behind p.
func (f *frames) moveTo(p point) {
	f.point = p
	f.size.Store(p.end)
	f.synced.Store(p.synced)
}

// loadFramed cuts off what a crash has left, which can be done again and again, and opens the
// database.
func (s *store) loadFramed() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	p, ok := s.endsClosed(info.Size())
	if !ok {
		if p, err = s.mend(); err != nil {
			return err
		}
	}
	if err := s.load(); err != nil {
		return err
	}
	s.frames = &frames{store: s}
	s.frames.moveTo(p)
	if err := s.frames.verify(); err != nil { // it holds what BuntDB passes over
		return errors.Join(corrupt(err), s.gate.db.Close())
	}
	return nil
}

// endsClosed reports whether the file was closed and nothing added since. What is wrong with it
// then is damage, which BuntDB finds as far as it finds any; Check finds all.
func (s *store) endsClosed(size int64) (p point, ok bool) {
	b := make([]byte, frameSize)
	_, err := s.file.ReadAt(b, max(0, size-frameSize))
	g, ok := decode(b[len(frameHead):][:valueSize])
	ok = ok && err == nil && string(b) == string(g.command()) && g.kind == closed && g.end == size
	return point{end: size, sum: g.sum, from: size, synced: g.synced}, ok
}

func (s *store) mend() (point, error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return point{}, err
	}
	p, err := survey(b)
	if err != nil {
		return p, err
	}
	torn, err := p.isTorn(b)
	if err != nil || !torn && (!p.framed || p.synced >= p.end) {
		return p, err
	}
	if torn {
		s.log.Warn("bunt: cut off what a crash has left", "path", s.path, "bytes", int64(len(b))-p.end)
		if err := s.file.Truncate(p.end); err != nil {
			return p, err
		}
	}
	// What was not synced is written once more: where a sync of it failed, the kernel takes it for
	// written, so that a further sync alone would not bring it to the disk.
	unsynced := b[min(p.synced, p.end):p.end]
	_, err = s.file.WriteAt(unsynced, p.end-int64(len(unsynced)))
	p.synced = p.end
	return p, errors.Join(err, s.file.Sync())
}

// begin sees to it that what the next transaction writes stands behind a frame.
func (f *frames) begin() error {
	if f.point.framed {
		return nil
	}
	size := f.size.Load()
	known := f.from == size && size > 0
	g := openedBehind(size)
	if !known {
		f.store.dirty.Store(size > 0)
		b := make([]byte, size-f.from)
		_, err := f.store.file.ReadAt(b, f.from)
		if err := errors.Join(err, f.store.sync()); err != nil {
			return err
		}
		g = newFrame(opened, size+frameSize, f.synced.Load(), sumOf(b), 0)
	}
	tx, err := f.store.gate.db.Begin(readWrite)
	if err != nil {
		return err
	}
	if err := f.append(tx, g); err != nil || known {
		return err
	}
	return f.store.sync() // what a power loss leaves of it must be told from another program's pairs
}

// commit adds the frame to t and commits it.
func (f *frames) commit(t *txn) error {
	if t.tally.size == 0 {
		return t.tx.Rollback()
	}
	end := f.size.Load() + t.tally.size + frameSize
	return f.append(t.tx, newFrame(framed, end, f.synced.Load(), f.sum, t.tally.sum))
}

// append ends tx with the frame g.
func (f *frames) append(tx *buntdb.Tx, g frame) error {
	if _, _, err := tx.Set(frameKey, string(g.encode(make([]byte, 0, valueSize))), nil); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := tx.Commit(); err != nil {
		if f.verify() == nil {
			return driver.NotDone(err) // BuntDB has taken it back
		}
		return err
	}
	f.point.framed, f.sum = true, g.sum
	f.size.Store(g.end)
	f.store.dirty.Store(true)
	return nil
}

// verify finds what something else has written to the file.
func (f *frames) verify() error {
	size, err := f.store.file.Seek(0, io.SeekEnd)
	if err == nil && size != f.size.Load() {
		err = fmt.Errorf("bunt: the file has %d bytes, and not the %d that were written", size, f.size.Load())
	}
	return err
}

// close writes the last frame, when BuntDB is closed, which has synced the file.
func (f *frames) close() error {
	if !f.point.framed {
		return nil
	}
	size := f.size.Load()
	_, err := f.store.file.WriteAt(newFrame(closed, size+frameSize, size, f.sum, 0).command(), size)
	return err
}

// checked is a store with frames, whose sums it can check.
type checked struct{ *store }

// Check reads the whole file into memory. A writer waits meanwhile.
func (c checked) Check(ctx context.Context) error {
	if _, err := c.gate.read(ctx); err != nil {
		return err
	}
	return errors.Join(c.check(), c.gate.endRead())
}

func (c checked) check() error {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return err
	}
	if c.frames != nil {
		if err := c.frames.verify(); err != nil {
			return corrupt(err)
		}
	}
	p, err := survey(b)
	if err != nil || p.end == int64(len(b)) {
		return err
	}
	if torn, err := p.isTorn(b); c.frames == nil && torn || err != nil {
		return err // it was passed over when the file was read
	}
	return p.damaged(b)
}
