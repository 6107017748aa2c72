package capture

import "github.com/assaydb/assay/kv/driver"

// reader records what is read of one state. Its number is 0 if the recording was over when it
// began.
type reader struct {
	driver.Reader
	log     *log
	id      uint64
	cursors uint64
	scratch []byte
}

var _ driver.Lener = (*reader)(nil)

// open begins a record of this reader.
func (r *reader) open(kind byte) bool {
	if r.id == 0 || !r.log.open(kind) {
		return false
	}
	r.log.number(r.id)
	return true
}

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	v, err := r.Reader.Get(dst, key)
	if err == nil || err == error(driver.NotFound) {
		found, value := err == nil, v[len(dst):]
		token := r.log.token(value)
		if r.open(kindRead) {
			r.log.key(key)
			r.log.result(len(value), token, found)
			r.log.close()
		}
	}
	return v, err
}

func (r *reader) Len(key []byte) (n int, err error) {
	if l, ok := r.Reader.(driver.Lener); ok {
		n, err = l.Len(key)
	} else {
		r.scratch, err = r.Reader.Get(r.scratch[:0], key)
		n = len(r.scratch)
	}
	if err == nil || err == error(driver.NotFound) {
		if r.open(kindLen) {
			r.log.key(key)
			if err == nil {
				r.log.number(uint64(n) + 1)
			} else {
				r.log.byte(0)
			}
			r.log.close()
		}
	}
	return n, err
}

func (r *reader) Close() error {
	if r.open(kindEndOf) {
		r.log.close()
	}
	return r.Reader.Close()
}

// txn records a transaction.
type txn struct {
	reader
	t driver.Txn
	s *store
}

var _ driver.RangeDeleter = (*txn)(nil)

func (t *txn) Put(key, value []byte) error {
	return t.write(driver.Op{Key: key, Value: value})
}

func (t *txn) Delete(key []byte) error { return t.write(driver.Op{Key: key, Delete: true}) }

func (t *txn) write(op driver.Op) error {
	if err := op.Run(t.t); err != nil {
		return err
	}
	if t.open(kindOp) {
		t.log.block = t.log.appendOp(t.log.block, &op)
		t.log.close()
	}
	return nil
}

// DeleteRange is one record, whether or not the engine deletes at once.
func (t *txn) DeleteRange(start, end []byte) (err error) {
	if d, ok := t.t.(driver.RangeDeleter); ok {
		err = d.DeleteRange(start, end)
	} else {
		err = deleteEach(t.t, start, end)
	}
	if err == nil && t.open(kindRange) {
		t.log.bounds(0, start, end)
		t.log.close()
	}
	return err
}

// deleteEach deletes the keys of a range one by one, so many at a time as fit into little memory.
func deleteEach(t driver.Txn, start, end []byte) error {
	for {
		keys, err := someKeys(t, driver.Range{Start: start, End: end, KeysOnly: true})
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			if err := t.Delete(k); err != nil {
				return err
			}
		}
		start = append(keys[len(keys)-1], 0)
		if end != nil && string(start) >= string(end) {
			return nil
		}
	}
}

func someKeys(t driver.Txn, r driver.Range) (keys [][]byte, err error) {
	c, err := t.Cursor(r)
	if err != nil {
		return nil, err
	}
	for len(keys) < 1024 {
		k, _, err := c.Next()
		if k == nil || err != nil {
			return keys, errorOf(err, c.Close())
		}
		keys = append(keys, append([]byte(nil), k...))
	}
	return keys, c.Close()
}

func errorOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (t *txn) Commit() error {
	m := t.log.mark()
	err := t.t.Commit()
	if err != nil {
		t.s.failed(err)
		return err
	}
	if t.id != 0 && t.log.open(kindCommit) {
		t.log.head(m)
		t.log.number(t.id)
		t.log.close()
	}
	return nil
}
