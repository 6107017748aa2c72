package encodings

import (
	"context"
	"sync"

	"github.com/assaydb/assay/kv"
)

// codec makes one value of a user. It is used by several goroutines.
type codec interface {
	// encode appends u to dst.
	encode(dst []byte, u *User) ([]byte, error)

	// decode sets all fields of u. It keeps nothing of data.
	decode(data []byte, u *User) error

	// balance reads the one field, decoding as little as the format allows.
	balance(data []byte) (float64, error)
}

// patcher is a codec that can set the balance in place.
type patcher interface {
	setBalance(data []byte, v float64) error
}

// wholeUsers keeps each user in one pair.
type wholeUsers struct {
	db    *kv.DB
	codec codec
	pool  sync.Pool // of *buffers
}

// buffers is memory that is used again.
type buffers struct {
	key, value []byte
	batch      kv.Batch
}

func whole(newCodec func() codec) func(context.Context, *kv.DB) (Users, error) {
	return func(_ context.Context, db *kv.DB) (Users, error) {
		s := &wholeUsers{db: db, codec: newCodec()}
		s.pool.New = func() any { return new(buffers) }
		return s, nil
	}
}

func (s *wholeUsers) Put(ctx context.Context, d kv.Durability, list []User) (err error) {
	b := s.pool.Get().(*buffers)
	defer s.pool.Put(b)
	b.batch.Reset()
	for i := range list {
		b.key = key(b.key[:0], list[i].ID)
		if b.value, err = s.codec.encode(b.value[:0], &list[i]); err != nil {
			return err
		}
		b.batch.Put(b.key, b.value)
	}
	return s.db.Write(ctx, d, &b.batch)
}

func (s *wholeUsers) Read(ctx context.Context, id int64, into *User) error {
	return s.db.View(ctx, func(r *kv.Snapshot) error { return s.read(r, id, into) })
}

func (s *wholeUsers) read(r *kv.Snapshot, id int64, into *User) (err error) {
	b := s.pool.Get().(*buffers)
	defer s.pool.Put(b)
	b.key = key(b.key[:0], id)
	if b.value, err = r.Append(b.value[:0], b.key); err != nil {
		return err
	}
	return s.codec.decode(b.value, into)
}

func (s *wholeUsers) Walk(ctx context.Context, from int64, limit int, fn func(*User) error) error {
	return s.db.View(ctx, func(r *kv.Snapshot) error {
		var u User
		for _, v := range r.Scan(kv.Range{Start: key(nil, from), End: []byte{'r' + 1}}) {
			if err := s.codec.decode(v, &u); err != nil {
				return err
			}
			if err := fn(&u); err != nil {
				return err
			}
			if limit--; limit == 0 {
				break
			}
		}
		return nil
	})
}

func (s *wholeUsers) Sum(ctx context.Context) (total float64, n int, err error) {
	err = s.db.View(ctx, func(r *kv.Snapshot) error {
		for _, v := range r.Scan(kv.Prefix([]byte{'r'})) {
			balance, err := s.codec.balance(v)
			if err != nil {
				return err
			}
			total += balance
			n++
		}
		return nil
	})
	return total, n, err
}

func (s *wholeUsers) SetBalance(ctx context.Context, d kv.Durability, id int64, balance float64) error {
	return s.db.Update(ctx, d, func(tx *kv.Tx) (err error) {
		b := s.pool.Get().(*buffers)
		defer s.pool.Put(b)
		b.key = key(b.key[:0], id)
		if b.value, err = tx.Append(b.value[:0], b.key); err != nil {
			return err
		}
		if p, ok := s.codec.(patcher); ok {
			err = p.setBalance(b.value, balance)
		} else {
			var u User
			if err = s.codec.decode(b.value, &u); err == nil {
				u.Balance = balance
				b.value, err = s.codec.encode(b.value[:0], &u)
			}
		}
		if err != nil {
			return err
		}
		return tx.Put(b.key, b.value)
	})
}
