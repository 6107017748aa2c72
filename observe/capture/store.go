package capture

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// store records what kv asks of an engine's store. Everything that kv does without where a driver
// has none of it is done here in the same way, so that there are few forms of it.
type store struct {
	driver.Store
	log     *log
	applier driver.Applier // the engine's store, if it is one
	end     func() error
}

// record returns a store that does what inner does, and records it. Its Close calls end instead of
// inner's.
func record(inner driver.Store, l *log, end func() error) driver.Store {
	s := &store{Store: inner, log: l, end: end}
	s.applier, _ = inner.(driver.Applier)
	if b, ok := inner.(driver.Backuper); ok {
		return struct {
			*store
			driver.Backuper
		}{s, b}
	}
	return s
}

var (
	_ driver.Getter     = (*store)(nil)
	_ driver.Applier    = (*store)(nil)
	_ driver.Compacter  = (*store)(nil)
	_ driver.Checker    = (*store)(nil)
	_ driver.Configured = (*store)(nil)
	_ driver.Figured    = (*store)(nil)
)

func (s *store) Caps() driver.Caps {
	caps := s.Store.Caps()
	caps.ConcurrentApply = caps.ConcurrentApply && s.applier != nil
	return caps
}

func (s *store) Close() error { return s.end() }

func (s *store) Get(ctx context.Context, dst, key []byte) (v []byte, err error) {
	m := s.log.mark()
	if g, ok := s.Store.(driver.Getter); ok {
		v, err = g.Get(ctx, dst, key)
	} else {
		v, err = getOnce(ctx, s.Store, dst, key)
	}
	if err == nil || err == error(driver.NotFound) {
		found, value := err == nil, v[len(dst):]
		token := s.log.token(value)
		if s.log.open(kindGet) {
			s.log.head(m)
			s.log.key(key)
			s.log.result(len(value), token, found)
			s.log.close()
		}
	}
	return v, err
}

// getOnce is Get of a store that has none.
func getOnce(ctx context.Context, s driver.Store, dst, key []byte) ([]byte, error) {
	r, err := s.Snapshot(ctx)
	if err != nil {
		return dst, err
	}
	v, err := r.Get(dst, key)
	if cerr := r.Close(); cerr != nil {
		return dst, cerr
	}
	return v, err
}

func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	m := s.log.mark()
	var err error
	if s.applier != nil {
		err = s.applier.Apply(ctx, ops, d)
	} else {
		err = driver.InSteps(ctx, s.Store, ops, d)
	}
	if err != nil {
		s.failed(err)
		return err
	}
	l := s.log
	if len(ops) == 1 && l.writeOne(m, d, &ops[0]) {
		return nil
	}
	if l.open(kindWrite) {
		b := appendNumber(append(l.appendHead(l.block, m.at, l.records()-m.seq), byte(d)), uint64(len(ops)))
		for i := range ops {
			b = l.appendOp(b, &ops[i])
		}
		l.block = b
		l.close()
	}
	return nil
}

// writeOne records a batch of one put, the operation that takes an engine least. It is what
// appendHead and appendOp would put, without asking for room before each field: behind a block that
// is not full there is room for a short key and a token.
func (l *log) writeOne(m mark, d driver.Durability, op *driver.Op) bool {
	if op.Delete || len(op.Key) > mostShort || len(op.Value) < 8 {
		return false
	}
	token := uint64(0)
	if !l.kept {
		token = l.token(op.Value) // before the turn, in which nothing else is worked out
	}
	l.take()
	b, since := l.block, l.records()-m.seq
	if b == nil || m.at != l.last || since >= 0x80 {
		l.give()
		return false
	}
	p := (*[mostShort + 32]byte)(b[len(b) : len(b)+mostShort+32])
	p[0], p[1], p[2], p[3], p[4], p[5], p[6] = kindWrite, 0, byte(since), byte(d), 1, 0, byte(len(op.Key))
	n := 7 + copy(p[7:], op.Key)
	n += binary.PutUvarint(p[n:n+binary.MaxVarintLen64], uint64(len(op.Value)))
	if l.kept {
		l.block = append(b[:len(b)+n], op.Value...)
	} else {
		binary.LittleEndian.PutUint64(p[n:], token)
		l.block = b[:len(b)+n+8]
	}
	l.close()
	return true
}

// mostShort is how long a short key is at most.
const mostShort = 64

// failed ends the recording if err, of a commit, leaves open whether it was done.
func (s *store) failed(err error) {
	if driver.IsInDoubt(err) && driver.KindOf(err) != driver.Busy {
		s.log.end(errors.Join(errors.New("a commit is in doubt"), err))
	}
}

// appendOp puts a write.
func (l *log) appendOp(b []byte, op *driver.Op) []byte {
	if op.Delete {
		return appendKey(append(b, 1), op.Key)
	}
	return l.appendValue(appendKey(append(b, 0), op.Key), op.Value)
}

func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	m := s.log.mark()
	r, err := s.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: r, log: s.log, id: s.log.begin(kindSnapshot, m, 0)}, nil
}

func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	m := s.log.mark()
	t, err := s.Store.Begin(ctx, d)
	if err != nil {
		return nil, err
	}
	return &txn{reader: reader{Reader: t, log: s.log, id: s.log.begin(kindBegin, m, d)}, t: t, s: s}, nil
}

// begin records that a reader or transaction has begun, and returns its number; 0 if the recording
// is over.
func (l *log) begin(kind byte, m mark, d driver.Durability) (id uint64) {
	if !l.open(kind) {
		return 0
	}
	l.id++
	id = l.id
	l.head(m)
	l.number(id)
	if kind == kindBegin {
		l.byte(byte(d))
	}
	l.close()
	return id
}

func (s *store) Compact(ctx context.Context) error {
	c, ok := s.Store.(driver.Compacter)
	if !ok {
		return nil
	}
	m := s.log.mark()
	err := c.Compact(ctx)
	if err == nil && s.log.open(kindCompact) {
		s.log.head(m)
		s.log.close()
	}
	return err
}

func (s *store) Check(ctx context.Context) error {
	if c, ok := s.Store.(driver.Checker); ok {
		return c.Check(ctx)
	}
	return driver.EachPair(ctx, s.Store, func(_, _ []byte) error { return nil })
}

func (s *store) Settings() []driver.Setting {
	if c, ok := s.Store.(driver.Configured); ok {
		return c.Settings()
	}
	return nil
}

func (s *store) Figures() []driver.Figure {
	if f, ok := s.Store.(driver.Figured); ok {
		return f.Figures()
	}
	return nil
}
