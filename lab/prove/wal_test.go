package prove

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

// wal is an engine of the kind that is everywhere: a log in segments that are used again, a table
// that the log is folded into, a log of large values, and commits that share a sync. With Bug= it
// has one fault, which shows only when it is crashed.
type wal struct{ driver.Driver }

const (
	walSegment = 48 << 10 // size from which on another segment is begun
	walFold    = 3        // segments that are folded into a table
	walChunk   = 8 << 10  // a transaction is written in records of that size
	walLarge   = 16 << 10 // values of this size are kept apart
	walGrowth  = 16 << 10 // by which a segment grows before it is written
)

var walPromise = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true,
	PowerAtomic: true}

func (wal) Info() driver.Info {
	return driver.Info{Name: "wal", Summary: "log and table",
		Options: []driver.Option{{Name: "Bug", Values: "NAME", Usage: "a fault"}},
		Caps:    walCaps()}
}

func walCaps() driver.Caps {
	flushed := walPromise
	flushed.Class = driver.Flushed
	return driver.Caps{PureGo: true, Persistent: true, Folder: true, Modes: []driver.Mode{driver.Exclusive},
		ConcurrentApply: true,
		Promises: [3]driver.Promise{driver.Synced: walPromise, driver.Flushed: flushed,
			driver.Buffered: flushed}, Compacts: true}
}

// walStore is an open store.
type walStore struct {
	driver.Store // in memory
	dir, flaw    string

	mu      sync.Mutex
	file    *os.File
	number  uint32
	at      int64 // end of the last record
	size    int64 // of the segment
	synced  int64 // until here
	values  *os.File
	end     int64 // of the values
	kept    int64 // of the values, what is synced
	folding []uint32
	spare   []uint32 // segments to be used again
	failed  error
	weak    bool // the commit under way is not Synced

	group   sync.Mutex
	waiting []*walCommit
	leading bool
	syncing bool         // the leader waits for a sync of the log, and touches nothing
	joined  []*walCommit // that trust it
	commits int
}

type walCommit struct {
	ops  []driver.Op
	d    driver.Durability
	done chan error
	lead chan struct{}
}

func (s *walStore) bug(name string) bool { return s.flaw == name }

func (s *walStore) Caps() driver.Caps { return walCaps() }

func (s *walStore) name(kind string, n uint32) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s-%06d", kind, n))
}

func (wal) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	m, err := mem.Open(ctx, driver.Config{})
	if err != nil {
		return nil, err
	}
	s := &walStore{Store: m, dir: c.Path, flaw: c.Params["Bug"]}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	if err := s.recover(ctx); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

func (s *walStore) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (s *walStore) closeFiles() error {
	if s.file != nil {
		s.file.Close()
	}
	if s.values != nil {
		s.values.Close()
	}
	return nil
}

func (s *walStore) Close() error { return s.closeFiles() }

// numbers returns the files of a kind.
func (s *walStore) numbers(kind string) (found []uint32, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		var n uint32
		if _, err := fmt.Sscanf(e.Name(), kind+"-%06d", &n); err == nil && !strings.HasSuffix(e.Name(), ".tmp") {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found, err
}

// encode returns records of the ops: length, checksum with the segment's number, whether it is the
// last, bytes.
func (s *walStore) encode(ops []driver.Op, apart bool) ([]byte, error) {
	var body []byte
	for _, o := range ops {
		kind, value := byte(0), o.Value
		switch {
		case o.Delete:
			kind = 1
		case apart && len(value) >= walLarge:
			kind = 2
			at, err := s.putApart(value)
			if err != nil {
				return nil, err
			}
			value = binary.LittleEndian.AppendUint64(nil, uint64(at))
			value = binary.LittleEndian.AppendUint32(value, uint32(len(o.Value)))
			value = binary.LittleEndian.AppendUint32(value, crc32.ChecksumIEEE(o.Value))
		}
		body = append(body, kind)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(o.Key)))
		body = binary.LittleEndian.AppendUint32(body, uint32(len(value)))
		body = append(append(body, o.Key...), value...)
	}
	return body, nil
}

func frame(number uint32, body []byte) (out []byte) {
	for {
		n, last := min(len(body), walChunk), byte(0)
		if n == len(body) {
			last = 1
		}
		head := binary.LittleEndian.AppendUint32(nil, uint32(n))
		sum := crc32.ChecksumIEEE(append(binary.LittleEndian.AppendUint32([]byte{last}, number), body[:n]...))
		head = append(binary.LittleEndian.AppendUint32(head, sum), last)
		out = append(append(out, head...), body[:n]...)
		if body = body[n:]; last == 1 {
			return out
		}
	}
}

func decode(body []byte) (ops []driver.Op, ok bool) {
	for len(body) > 0 {
		if len(body) < 9 {
			return ops, false
		}
		k, v := int(binary.LittleEndian.Uint32(body[1:])), int(binary.LittleEndian.Uint32(body[5:]))
		if k < 0 || v < 0 || len(body) < 9+k+v {
			return ops, false
		}
		o := driver.Op{Key: body[9 : 9+k], Value: body[9+k : 9+k+v], Delete: body[0] == 1}
		if body[0] == 2 {
			o.Key = append([]byte{0xff}, o.Key...) // to be looked up
		}
		ops, body = append(ops, o), body[9+k+v:]
	}
	return ops, true
}

func (s *walStore) putApart(value []byte) (int64, error) {
	at := s.end
	n, err := s.values.WriteAt(value, at)
	if err != nil && !(s.bug("short value write is not noticed") && n > 0) {
		return 0, err
	}
	s.end += int64(len(value))
	return at, nil
}

func (s *walStore) resolve(ops []driver.Op) error {
	for i, o := range ops {
		if len(o.Key) == 0 || o.Key[0] != 0xff {
			continue
		}
		value := make([]byte, binary.LittleEndian.Uint32(o.Value[8:]))
		n, err := s.values.ReadAt(value, int64(binary.LittleEndian.Uint64(o.Value)))
		if err != nil && !s.bug("values are not checked") {
			return fmt.Errorf("value log: %w", err)
		}
		if n < len(value) || crc32.ChecksumIEEE(value) != binary.LittleEndian.Uint32(o.Value[12:]) {
			if !s.bug("values are not checked") {
				return errors.New("value log: wrong checksum")
			}
		}
		ops[i] = driver.Op{Key: o.Key[1:], Value: value}
	}
	return nil
}

// recover loads the newest table and the segments behind it.
func (s *walStore) recover(ctx context.Context) error {
	tables, err := s.numbers("table")
	if err != nil {
		return err
	}
	from := uint32(0)
	if left, _ := filepath.Glob(filepath.Join(s.dir, "*.tmp")); left != nil {
		for _, name := range left {
			if s.bug("an unfinished table is taken") {
				if err := os.Rename(name, strings.TrimSuffix(name, ".tmp")); err != nil {
					return err
				}
				tables, _ = s.numbers("table")
				continue
			}
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	if len(tables) > 0 {
		from = tables[len(tables)-1]
		data, err := os.ReadFile(s.name("table", from))
		if err != nil {
			return err
		}
		if err := s.loadTable(ctx, data); err != nil {
			return err
		}
	}
	if s.values, err = os.OpenFile(s.name("values", from), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if s.end, err = s.values.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	segments, err := s.numbers("wal")
	if err != nil {
		return err
	}
	segments = slices.DeleteFunc(segments, func(n uint32) bool {
		if n <= from {
			s.spare = append(s.spare, n)
		}
		return n <= from
	})
	if s.bug("recovery removes what it has read before it is folded") && len(segments) > 1 {
		return s.recoverByFolding(ctx, segments)
	}
	for i, n := range segments {
		if err := s.replay(ctx, n, i == len(segments)-1); err != nil {
			return err
		}
		s.folding = append(s.folding, n)
	}
	if len(segments) == 0 {
		s.number = from
		return s.rotate()
	}
	return nil
}

// recoverByFolding is a faulty recovery.
func (s *walStore) recoverByFolding(ctx context.Context, segments []uint32) error {
	for i, n := range segments {
		if err := s.replay(ctx, n, i == len(segments)-1); err != nil {
			return err
		}
	}
	s.number = segments[len(segments)-1]
	for _, n := range segments[:len(segments)-1] {
		if err := os.Remove(s.name("wal", n)); err != nil {
			return err
		}
	}
	s.folding = segments[len(segments)-1:]
	return s.fold(ctx)
}

func (s *walStore) loadTable(ctx context.Context, data []byte) error {
	if len(data) < 4 || crc32.ChecksumIEEE(data[4:]) != binary.LittleEndian.Uint32(data) {
		if !s.bug("an unfinished table is taken") {
			return errors.New("table: wrong checksum")
		}
		if len(data) < 4 {
			return nil
		}
	}
	ops, _ := decode(data[4:])
	return driver.Apply(ctx, s.Store, ops, driver.Buffered)
}

func (s *walStore) replay(ctx context.Context, n uint32, last bool) error {
	data, err := os.ReadFile(s.name("wal", n))
	if err != nil {
		return err
	}
	whole, at := 0, 0
	var body []byte
	for len(data)-at >= 9 {
		length := int(binary.LittleEndian.Uint32(data[at:]))
		if length < 0 || len(data)-at-9 < length || length > walChunk {
			break
		}
		end, final := data[at+8], at+9+length
		part := data[at+9 : final]
		sum := crc32.ChecksumIEEE(append(binary.LittleEndian.AppendUint32([]byte{end}, n), part...))
		if sum != binary.LittleEndian.Uint32(data[at+4:]) && !(s.bug("records are not checked") && length > 0) {
			break
		}
		body = append(body, part...)
		if end != 1 && !s.bug("parts of transactions count") {
			at = final
			continue
		}
		ops, ok := decode(body)
		if !ok && !s.bug("parts of transactions count") && !s.bug("records are not checked") {
			return errors.New("log: a record makes no sense")
		}
		if err := s.resolve(ops); err != nil {
			if last {
				break // it was not synced
			}
			return err
		}
		if err := driver.Apply(ctx, s.Store, ops, driver.Buffered); err != nil {
			return err
		}
		body, at, whole = nil, final, final
	}
	if !last {
		return nil
	}
	f, err := os.OpenFile(s.name("wal", n), os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	s.file, s.number, s.at, s.size = f, n, int64(whole), int64(len(data))
	if s.bug("what is torn stays before new records") {
		s.at = int64(len(bytes.TrimRight(data, "\x00")))
		return nil
	}
	if s.bug("what recovery reads is not synced") {
		return nil
	}
	// Where a sync has failed, the pages that everybody reads may not be on the disk: they are
	// written once more.
	if _, err := f.WriteAt(data[:whole], 0); err != nil {
		return err
	}
	values, err := os.ReadFile(s.values.Name())
	if err != nil {
		return err
	}
	if _, err := s.values.WriteAt(values, 0); err != nil {
		return err
	}
	if err := s.values.Sync(); err != nil {
		return err
	}
	// What lies behind the last record must not be taken for one later.
	zeros := make([]byte, int64(len(data))-s.at)
	if _, err := f.WriteAt(zeros, s.at); err != nil {
		return err
	}
	return f.Sync()
}
