package prove

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"syscall"

	"github.com/assaydb/assay/kv/driver"
)

// rotate begins another segment, in the file of one that is not needed any more if there is one.
func (s *walStore) rotate() error {
	if s.file != nil {
		if !s.bug("the last record of a segment is not synced") &&
			!(s.weak && s.bug("weaker commits leave a segment unsynced")) {
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
	if s.bug("a sync is skipped unless the segment has grown") {
		if s.synced == s.size && s.size > 0 {
			return nil
		}
		s.synced = s.size
	}
	for {
		err := syncData(s.file)
		if errors.Is(err, syscall.EINTR) {
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
	if s.syncing && s.bug("a sync that goes on is trusted") && s.at <= walSegment {
		if err := s.join(c); err != nil {
			s.group.Unlock()
			return err
		}
		s.group.Unlock()
		return <-c.done
	}
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

// join writes a commit while the log is synced for others, with whom it is acknowledged.
func (s *walStore) join(c *walCommit) error {
	body, err := s.encode(c.ops, false)
	if err == nil {
		err = s.append(body)
	}
	s.joined = append(s.joined, c)
	return err
}

// setSyncing says whether the log is being synced.
func (s *walStore) setSyncing(syncing bool) {
	s.group.Lock()
	defer s.group.Unlock()
	s.syncing = syncing
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
			err = driver.Apply(ctx, s.Store, c.ops, driver.Buffered)
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
	defer func() {
		s.failed = err
		for _, c := range s.joined {
			c.done <- err
		}
		s.joined = nil
	}()
	largest, before, sync := 0, s.end, false
	for _, c := range all {
		body, err := s.encode(c.ops, true)
		if err != nil {
			return err
		}
		largest = max(largest, len(body))
		sync = sync || c.d == driver.Synced
		s.weak = c.d != driver.Synced
		if err := s.append(body); err != nil {
			return err
		}
	}
	s.commits++
	if sync {
		if s.end > s.kept && !s.bug("large values are not synced") &&
			(s.end > before || !s.bug("large values of weaker commits stay unsynced")) {
			if err := s.values.Sync(); err != nil && !s.bug("an error of the value log's sync is dropped") {
				return err
			}
			s.kept = s.end
		}
		skip := s.bug("large transactions are not synced") && largest > 20<<10 ||
			s.bug("every fifth sync is skipped") && s.commits%5 == 0
		if !skip {
			s.setSyncing(true)
			err := s.syncLog()
			s.setSyncing(false)
			if err != nil {
				return err
			}
		}
	}
	for _, c := range slices.Concat(all, s.joined) {
		if err := driver.Apply(ctx, s.Store, c.ops, driver.Buffered); err != nil {
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
