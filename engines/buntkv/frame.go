package buntkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// Frames are ours: BuntDB writes the pairs of a transaction in any order, with nothing around them,
// so that it takes what a kill has left of one for the whole, and refuses what a power loss has left.
//
// A frame is one more pair of the transaction, under the empty key, which no program can have. It
// says where the transaction ends in the file, and the checksum of the rest of it and of the frame
// before. Where the frame stands among the pairs does not matter: both numbers are sums over them.
// So it costs a pair, and no write of its own.
//
// A file may have parts without frames: what another program has appended, and what a compaction has
// written. Behind such a part a frame of the kind opened stands alone, and all behind it is framed up
// to one of the kind closed.
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

// newFrame returns the frame of a transaction of pairs with that sum, behind one with the sum before.
func newFrame(kind byte, end, synced int64, before uint32, pairs uint64) frame {
	f := frame{kind: kind, end: end, synced: synced}
	var b [valueSize + 12]byte
	f.encode(b[:valueSize])
	binary.BigEndian.PutUint32(b[valueSize:], before)
	binary.BigEndian.PutUint64(b[valueSize+4:], pairs)
	f.sum = crc32.Checksum(b[:], castagnoli)
	return f
}

func (f frame) encode(b []byte) {
	b[0] = f.kind
	binary.BigEndian.PutUint64(b[1:], uint64(f.end))
	binary.BigEndian.PutUint64(b[9:], uint64(f.synced))
	binary.BigEndian.PutUint32(b[17:], f.sum)
}

// value returns f as it is stored.
func (f frame) value() string {
	var b [valueSize]byte
	f.encode(b[:])
	return string(b[:])
}

// command returns f as it stands in the file.
func (f frame) command() []byte { return []byte(frameHead + f.value() + "\r\n") }

// decode returns the frame whose stored form is v.
func decode(v []byte) (f frame, ok bool) {
	if len(v) != valueSize || !strings.ContainsRune(string([]byte{framed, opened, closed}), rune(v[0])) {
		return f, false
	}
	f = frame{v[0], int64(binary.BigEndian.Uint64(v[1:])), int64(binary.BigEndian.Uint64(v[9:])), binary.BigEndian.Uint32(v[17:])}
	return f, true
}

// part is what one pair adds to a transaction.
type part struct {
	size int64
	sum  uint64
}

// tally sums up what a transaction will write: the last write to each key.
type tally struct {
	part
	first string          // the key that was written first
	keys  map[string]part // of all, once there is another
}

func setPart(key, value string) part {
	sum := crc32.Update(crc32.Checksum(lent(key), castagnoli), castagnoli, lent(value))
	return part{setSize(key, value), 1<<32 + uint64(sum)}
}

func setSize(key, value string) int64 {
	return int64(len("*3\r\n$3\r\nset\r\n")) + bulk(key) + bulk(value)
}

func delPart(key string) part {
	return part{int64(len("*2\r\n$3\r\ndel\r\n")) + bulk(key), 2<<32 + uint64(crc32.Checksum(lent(key), castagnoli))}
}

// bulk is the size of s in the file: $LENGTH, s, and the ends of two lines.
func bulk(s string) int64 {
	digits := 1
	for n := len(s); n >= 10; n /= 10 {
		digits++
	}
	return int64(1 + digits + 2 + len(s) + 2)
}

func (t *tally) set(key, value string) { t.replace(key, setPart(key, value)) }

func (t *tally) del(key string) { t.replace(key, delPart(key)) }

func (t *tally) replace(key string, p part) {
	if t.size == 0 {
		t.first = key
	}
	if len(t.keys) == 0 && key == t.first {
		t.part = p
		return
	}
	if len(t.keys) == 0 {
		t.keys[t.first] = t.part
	}
	before := t.keys[key]
	t.keys[key] = p
	t.size += p.size - before.size
	t.sum += p.sum - before.sum
}

func (t *tally) reset() {
	const worthKeeping = 1 << 10
	if len(t.keys) > worthKeeping {
		t.keys = map[string]part{}
	}
	clear(t.keys)
	t.part, t.first = part{}, ""
}

// frames is where an open store stands in its file. kv lets one writer at a time in; only the two
// numbers are looked at by others.
type frames struct {
	store        *store
	size, synced atomic.Int64 // of the file; what of it is known to be on the disk
	point
}

// point is a place in a file up to which it is whole.
type point struct {
	end    int64
	framed bool   // a frame stands before it that is not closed
	sum    uint32 // of the last frame
	from   int64  // where what has no frames begins, behind the last frame that is closed
	synced int64  // as the last frame says
}

// loadFramed mends the file and opens the database on it.
func (s *store) loadFramed() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	p, err := mend(s.file, info.Size(), true, s.log)
	if err != nil {
		return err
	}
	s.frames = &frames{store: s}
	s.frames.moveTo(p)
	return s.open()
}

// leftOpen reports whether the last frame in the file is one that was not closed.
func (s *store) leftOpen() (left bool) {
	_ = s.gate.db.View(func(tx *buntdb.Tx) error {
		v, err := tx.Get(frameKey)
		g, ok := decode([]byte(v))
		left = err == nil && ok && g.kind != closed
		return nil
	})
	return left
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
		if size > 0 {
			f.store.dirty.Store(true)
		}
		before, err := sumOf(f.store.file, f.from, size)
		if err := errors.Join(err, f.store.sync()); err != nil {
			return err
		}
		g = newFrame(opened, size+frameSize, f.synced.Load(), before, 0)
	}
	tx, err := f.store.gate.db.Begin(readWrite)
	if err != nil {
		return classify(err)
	}
	if err := f.append(tx, g); err != nil || known {
		return err
	}
	return f.store.sync() // what a power loss leaves of it must be told from another program's pairs
}

// openedBehind returns the frame that follows one of the kind closed, which ends at end.
func openedBehind(end int64) frame { return newFrame(opened, end+frameSize, end-frameSize, 0, 0) }

// commit adds the frame to t and commits it.
func (f *frames) commit(t *txn) error {
	if t.tally.size == 0 {
		return classify(t.tx.Rollback())
	}
	end := f.size.Load() + t.tally.size + frameSize
	return f.append(t.tx, newFrame(framed, end, f.synced.Load(), f.sum, t.tally.sum))
}

// append ends tx with the frame g. The file must then end where g says.
func (f *frames) append(tx *buntdb.Tx, g frame) error {
	if _, _, err := tx.Set(frameKey, g.value(), nil); err != nil {
		return errors.Join(classify(err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		if size, serr := f.store.file.Seek(0, io.SeekEnd); serr == nil && size == f.size.Load() {
			return driver.NotDone(classify(err)) // BuntDB has taken it back
		}
		return classify(err)
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
		err = fmt.Errorf("bunt: the file has %d bytes, of which %d were written here", size, f.size.Load())
	}
	return err
}

// moveTo goes on behind p, in another file.
func (f *frames) moveTo(p point) {
	f.point = p
	f.size.Store(p.end)
	f.synced.Store(p.synced)
}

// close writes the last frame, when BuntDB is closed, which has synced the file.
func (f *frames) close(file *os.File) error {
	if !f.point.framed {
		return nil
	}
	size := f.size.Load()
	_, err := file.WriteAt(newFrame(closed, size+frameSize, size, f.sum, 0).command(), size)
	return err
}

// checked is a store with frames, whose sums it can check.
type checked struct{ *store }

// Check reads the whole file. A writer waits meanwhile.
func (c checked) Check(ctx context.Context) error {
	if _, err := c.gate.read(ctx); err != nil {
		return err
	}
	return errors.Join(c.check(within{ctx, c.file}), c.gate.endRead())
}

func (c checked) check(f within) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if c.frames != nil {
		if err := c.frames.verify(); err != nil {
			return corrupt(err)
		}
	}
	p, why, err := survey(f, size)
	if err != nil || p.end == size {
		return err
	}
	if c.frames == nil { // it is only read: what mend would cut off was passed over
		if cut, err := mayCut(f, p, size, why); cut || err != nil {
			return err
		}
	}
	return corrupt(fmt.Sprintf("at byte %d of %d: %v", p.end, size, why))
}
