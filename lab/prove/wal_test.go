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

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

// wal is an engine of the kind that is everywhere: a log in segments that are used again, a table that the log is folded
// into, a log of large values, and commits that share a sync. With Bug= it has one fault, which shows only when it is
// crashed.
type wal struct{ driver.Driver }

const (
	walSegment = 48 << 10 // size from which on another segment is begun
	walFold    = 3        // segments that are folded into a table
	walChunk   = 8 << 10  // a transaction is written in records of that size
	walLarge   = 16 << 10 // values of this size are kept apart
	walGrowth  = 16 << 10 // by which a segment grows before it is written
)

var walPromise = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}

func (wal) Info() driver.Info {
	return driver.Info{Name: "wal", Summary: "log and table", Options: []driver.Option{{Name: "Bug", Values: "NAME", Usage: "a fault"}},
		Caps: walCaps()}
}

func walCaps() driver.Caps {
	flushed := walPromise
	flushed.Class = driver.Flushed
	return driver.Caps{PureGo: true, Persistent: true, Folder: true, Modes: []driver.Mode{driver.Exclusive}, ConcurrentApply: true,
		Promises: [3]driver.Promise{driver.Synced: walPromise, driver.Flushed: flushed, driver.Buffered: flushed}, Compacts: true}
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

	group   sync.Mutex
	waiting []*walCommit
	leading bool
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

// encode returns records of the ops: length, checksum with the segment's number, whether it is the last, bytes.
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
	return s.Store.Apply(ctx, ops, driver.Buffered)
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
		if err := s.Store.Apply(ctx, ops, driver.Buffered); err != nil {
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
	// Where a sync has failed, the pages that everybody reads may not be on the disk: they are written once more.
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

// rotate begins another segment, in the file of one that is not needed any more if there is one.
func (s *walStore) rotate() error {
	if s.file != nil {
		if !s.bug("the last record of a segment is not synced") {
			if err := errors.Join(s.values.Sync(), s.syncLog()); err != nil {
				return err
			}
		}
		s.file.Close()
	}
	s.number++
	name := s.name("wal", s.number)
	if len(s.spare) > 0 {
		old := s.spare[0]
		s.spare = s.spare[1:]
		if err := os.Rename(s.name("wal", old), name); err != nil && !s.bug("an error of a rename is dropped") {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		if s.bug("an error of a creation is dropped") {
			s.file, s.number = nil, s.number-1
			return nil
		}
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.file, s.at, s.size = f, 0, info.Size()
	s.folding = append(s.folding, s.number)
	if s.bug("the folder is not synced when a segment is used again") {
		return nil
	}
	return s.syncDir()
}

func (s *walStore) syncLog() error {
	if s.file == nil {
		return nil
	}
	if s.bug("a sync is skipped unless the segment has grown") && s.synced == s.size && s.size > 0 {
		return nil
	}
	s.synced = s.size
	for {
		err := unix.Fdatasync(int(s.file.Fd()))
		if err == unix.EINTR {
			continue
		}
		if s.bug("an error of a sync is dropped") {
			return nil
		}
		return err
	}
}

func (s *walStore) append(body []byte) error {
	out := frame(s.number, body)
	if s.at > walSegment {
		if err := s.rotate(); err != nil {
			return err
		}
		out = frame(s.number, body)
	}
	if s.file == nil {
		return nil // only with a dropped error
	}
	if end := s.at + int64(len(out)); end > s.size {
		s.size = (end/walGrowth + 1) * walGrowth
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
	}
	n, err := s.file.WriteAt(out, s.at)
	if err != nil && !(s.bug("a short write is not noticed") && n > 0) {
		return err
	}
	s.at += int64(len(out))
	return nil
}

// Apply joins the commits that are waiting. The first of them leads.
func (s *walStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	c := &walCommit{ops: ops, d: d, done: make(chan error, 1), lead: make(chan struct{}, 1)}
	s.group.Lock()
	s.waiting = append(s.waiting, c)
	if s.leading {
		s.group.Unlock()
		select {
		case err := <-c.done:
			return err
		case <-c.lead:
			s.group.Lock()
		}
	}
	s.leading = true
	all := s.waiting
	s.waiting = nil
	s.group.Unlock()
	err := s.commit(ctx, all)
	s.group.Lock()
	if s.bug("who comes during a sync is taken for synced") && err == nil && len(s.waiting) > 0 {
		late := s.waiting
		s.waiting = nil
		if err := s.commitUnsynced(ctx, late); err == nil {
			for _, o := range late {
				o.done <- nil
			}
		}
	}
	s.leading = len(s.waiting) > 0
	if s.leading {
		s.waiting[0].lead <- struct{}{}
	}
	s.group.Unlock()
	for _, o := range all {
		if o == c {
			continue
		}
		if s.bug("followers do not hear of an error") {
			o.done <- nil
		} else {
			o.done <- err
		}
	}
	return err
}

func (s *walStore) commitUnsynced(ctx context.Context, all []*walCommit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range all {
		body, err := s.encode(c.ops, true)
		if err == nil {
			err = s.append(body)
		}
		if err == nil {
			err = s.Store.Apply(ctx, c.ops, driver.Buffered)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *walStore) commit(ctx context.Context, all []*walCommit) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return driver.NotDone(s.failed)
	}
	defer func() { s.failed = err }()
	largest, before, sync := 0, s.end, false
	for _, c := range all {
		body, err := s.encode(c.ops, true)
		if err != nil {
			return err
		}
		largest = max(largest, len(body))
		sync = sync || c.d == driver.Synced
		number := s.number
		if err := s.append(body); err != nil {
			return err
		}
		if s.number != number && !s.bug("weaker commits leave a segment unsynced") {
			sync = true
		}
	}
	s.commits++
	if sync {
		if s.end > s.kept && !s.bug("large values are not synced") && (s.end > before || !s.bug("large values of weaker commits stay unsynced")) {
			if err := s.values.Sync(); err != nil && !s.bug("an error of the value log's sync is dropped") {
				return err
			}
			s.kept = s.end
		}
		skip := s.bug("large transactions are not synced") && largest > 20<<10 || s.bug("every fifth sync is skipped") && s.commits%5 == 0
		if !skip {
			if err := s.syncLog(); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		if err := s.Store.Apply(ctx, c.ops, driver.Buffered); err != nil {
			return err
		}
	}
	if len(s.folding) > walFold {
		return s.fold(ctx)
	}
	return nil
}

func (s *walStore) Compact(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	s.failed = s.fold(ctx)
	return s.failed
}

// fold writes a table of all pairs, after which the segments until now are free.
func (s *walStore) fold(ctx context.Context) error {
	old := s.folding
	last := s.number
	r, err := s.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	cur, err := r.Cursor(driver.Range{})
	if err != nil {
		return err
	}
	defer cur.Close()
	var ops []driver.Op
	for {
		k, v, err := cur.Next()
		if err != nil {
			return err
		}
		if k == nil {
			break
		}
		ops = append(ops, driver.Op{Key: bytes.Clone(k), Value: bytes.Clone(v)})
	}
	body, err := s.encode(ops, false)
	if err != nil {
		return err
	}
	data := append(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)), body...)
	if s.bug("segments are freed before the table is named") {
		if err := s.free(old[:len(old)-1], last-1); err != nil {
			return err
		}
	}
	if err := s.writeTable(last, data); err != nil {
		return err
	}
	s.folding = nil
	values, err := os.OpenFile(s.name("values", last), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	s.values.Close()
	s.values, s.end, s.kept = values, 0, 0
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	if err := s.free(old, last); err != nil {
		return err
	}
	return s.rotate()
}

func (s *walStore) writeTable(n uint32, data []byte) error {
	name := s.name("table", n)
	tmp := name + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	if s.bug("a table is named before it is synced") {
		if err := os.Rename(tmp, name); err != nil {
			return err
		}
		tmp = name
	}
	if _, err = f.Write(data); err != nil && !s.bug("an error of a table is dropped") {
		return errors.Join(err, f.Close())
	}
	if !s.bug("tables are not synced") && !(s.bug("large tables are not synced") && len(data) > 100<<10) {
		if err := f.Sync(); err != nil && !s.bug("an error of a table is dropped") {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if tmp != name {
		if err := os.Rename(tmp, name); err != nil && !s.bug("an error of a rename is dropped") {
			return err
		}
	}
	return s.syncDir()
}

// free lets segments be used again, and removes the tables and values before.
func (s *walStore) free(old []uint32, last uint32) error {
	for _, n := range old {
		if len(s.spare) < 2 {
			s.spare = append(s.spare, n)
		} else if err := os.Remove(s.name("wal", n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, kind := range []string{"table", "values"} {
		numbers, err := s.numbers(kind)
		if err != nil {
			return err
		}
		for _, n := range numbers {
			if n < last {
				if err := os.Remove(s.name(kind, n)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *walStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	if err != nil {
		return nil, err
	}
	return &walTxn{Txn: t, s: s, ctx: ctx, d: d}, nil
}

// walTxn keeps its writes beside those in memory.
type walTxn struct {
	driver.Txn
	s   *walStore
	ctx context.Context
	d   driver.Durability
	ops []driver.Op
}

func (t *walTxn) Put(key, value []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(key), Value: append([]byte{}, value...)})
	return t.Txn.Put(key, value)
}

func (t *walTxn) Delete(key []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(key), Delete: true})
	return t.Txn.Delete(key)
}

func (t *walTxn) Commit() error {
	return t.s.Apply(t.ctx, t.ops, t.d)
}
