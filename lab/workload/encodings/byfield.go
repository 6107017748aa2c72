package encodings

import (
	"bytes"
	"context"

	"github.com/assaydb/assay/kv"
)

// fieldUsers keeps each field of a user in a pair of its own.
type fieldUsers struct {
	db    *kv.DB
	names [len(fieldNames)][]byte // what the keys end with
}

// byField has keys end with what name returns for a field.
func byField(name func(i int) []byte) func(context.Context, *kv.DB) (Users, error) {
	return func(_ context.Context, db *kv.DB) (Users, error) {
		s := &fieldUsers{db: db}
		for i := range s.names {
			s.names[i] = name(i)
		}
		return s, nil
	}
}

func (s *fieldUsers) Put(ctx context.Context, d kv.Durability, list []User) error {
	var batch kv.Batch
	var k, v []byte
	for i := range list {
		for f, p := range list[i].fields() {
			k = append(key(k[:0], list[i].ID), s.names[f]...)
			v = appendField(v[:0], p)
			batch.Put(k, v)
		}
	}
	return s.db.Write(ctx, d, &batch)
}

// field returns the number of the field that a key ends with, or -1.
func (s *fieldUsers) field(k []byte) int {
	for i := range s.names {
		if bytes.Equal(s.names[i], k[keyLength:]) {
			return i
		}
	}
	return -1
}

// scan calls fn with the users of a range until it returns false.
func (s *fieldUsers) scan(r *kv.Snapshot, keys kv.Range, fn func(*User) (bool, error)) error {
	var u User
	fields := u.fields()
	var last []byte
	for k, v := range r.Scan(keys) {
		if len(k) < keyLength {
			return corrupt("key %q", k)
		}
		if last != nil && !bytes.Equal(last, k[:keyLength]) {
			if more, err := fn(&u); err != nil || !more {
				return err
			}
			u = User{}
		}
		last = append(last[:0], k[:keyLength]...)
		i := s.field(k)
		if i < 0 {
			return corrupt("key %q", k)
		}
		if err := storeField(fields[i], v); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil || last == nil {
		return err
	}
	_, err := fn(&u)
	return err
}

func (s *fieldUsers) Read(ctx context.Context, id int64, into *User) error {
	return s.db.View(ctx, func(r *kv.Snapshot) error {
		found := false
		err := s.scan(r, kv.Prefix(key(nil, id)), func(u *User) (bool, error) {
			*into, found = *u, true
			return true, nil
		})
		if err == nil && !found {
			return kv.NotFound
		}
		return err
	})
}

func (s *fieldUsers) Walk(ctx context.Context, from int64, limit int, fn func(*User) error) error {
	return s.db.View(ctx, func(r *kv.Snapshot) error {
		return s.scan(r, kv.Range{Start: key(nil, from), End: []byte{'r' + 1}}, func(u *User) (bool, error) {
			limit--
			return limit != 0, fn(u)
		})
	})
}

// Sum steps over the pairs of other fields: a cursor that went to each would cost more.
func (s *fieldUsers) Sum(ctx context.Context) (total float64, n int, err error) {
	err = s.db.View(ctx, func(r *kv.Snapshot) error {
		var balance float64
		for k, v := range r.Scan(kv.Prefix([]byte{'r'})) {
			if len(k) < keyLength || !bytes.Equal(k[keyLength:], s.names[balanceField]) {
				continue
			}
			if err := storeField(&balance, v); err != nil {
				return err
			}
			total += balance
			n++
		}
		return nil
	})
	return total, n, err
}

// SetBalance reads the user, as all forms do, and writes the one pair.
func (s *fieldUsers) SetBalance(ctx context.Context, d kv.Durability, id int64, balance float64) error {
	return s.db.Update(ctx, d, func(tx *kv.Tx) error {
		k := key(nil, id)
		found := false
		for range tx.Scan(kv.Prefix(k)) {
			found = true
		}
		if !found {
			return kv.NotFound
		}
		return tx.Put(append(k, s.names[balanceField]...), appendField(nil, &balance))
	})
}
