package encodings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv"
)

// Nested keeps users in bbolt itself, a bucket for each and a pair for each field: kv has no
// buckets within buckets. Synced is bbolt's default, two fdatasync calls for each commit; weaker
// classes are commits under its NoSync.
type Nested struct {
	path string
	db   *bolt.DB
}

var _ Users = (*Nested)(nil)

// OpenNested opens or creates the file at path. If another process has it locked, that is Busy at
// once.
func OpenNested(path string) (*Nested, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Nanosecond})
	if err != nil {
		e := &kv.Error{Op: "open", Engine: "bbolt", Path: path, Err: err}
		if errors.Is(err, berrors.ErrTimeout) {
			e.Kind = kv.Busy
		}
		return nil, e
	}
	return &Nested{path: path, db: db}, nil
}

// Settings tells the settings in force, as those of engines of kv.
func (s *Nested) Settings() []kv.Setting {
	return []kv.Setting{
		{Name: "FreelistType", Value: string(s.db.FreelistType)},
		{Name: "NoSync", Value: "per commit"},
		{Name: "PageSize", Value: fmt.Sprint(s.db.Info().PageSize)},
	}
}

// Promise is what commits of a class survive.
func (s *Nested) Promise(d kv.Durability) kv.Promise {
	return kv.Promise{Supported: true, Class: min(d, kv.Flushed), Intact: d == kv.Synced}
}

// Size returns the space that the file takes.
func (s *Nested) Size() (kv.Size, error) { return kv.SizeOf(s.path) }

// Compact writes the file anew, without free pages, and puts that in its place. No other call may
// run.
func (s *Nested) Compact(context.Context) error {
	fresh := s.path + ".compact"
	to, err := bolt.Open(fresh, 0o600, nil)
	if err != nil {
		return err
	}
	err = errors.Join(bolt.Compact(to, s.db, 1<<20), to.Sync(), to.Close(), s.db.Close())
	if err == nil {
		err = os.Rename(fresh, s.path)
	}
	if err != nil {
		return err
	}
	again, err := OpenNested(s.path)
	if err == nil {
		s.db = again.db
	}
	return err
}

// Close closes the file. Closing again does nothing.
func (s *Nested) Close() error { return s.db.Close() }

var nestedRoot = []byte("users")

// update runs fn in a write transaction. bbolt reads NoSync when it commits.
func (s *Nested) update(ctx context.Context, d kv.Durability, fn func(root *bolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		root, err := tx.CreateBucketIfNotExists(nestedRoot)
		if err != nil {
			return err
		}
		s.db.NoSync = d != kv.Synced
		return fn(root)
	})
}

// view runs fn in a read transaction, in which the root may be nil.
func (s *Nested) view(ctx context.Context, fn func(root *bolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.View(func(tx *bolt.Tx) error { return fn(tx.Bucket(nestedRoot)) })
}

// Put implements [Users].
func (s *Nested) Put(ctx context.Context, d kv.Durability, list []User) error {
	return s.update(ctx, d, func(root *bolt.Bucket) error {
		for i := range list {
			b, err := root.CreateBucketIfNotExists(key(nil, list[i].ID)[1:])
			if err != nil {
				return err
			}
			var values []byte // bbolt keeps them until the commit
			for f, p := range list[i].fields() {
				n := len(values)
				values = appendField(values, p)
				if err := b.Put([]byte(fieldNames[f]), values[n:len(values):len(values)]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Read implements [Users].
func (s *Nested) Read(ctx context.Context, id int64, into *User) error {
	return s.view(ctx, func(root *bolt.Bucket) error { return readBucket(root, key(nil, id)[1:], into) })
}

// readBucket sets into to the user in the bucket called name. None is NotFound.
func readBucket(root *bolt.Bucket, name []byte, into *User) error {
	if root == nil {
		return kv.NotFound
	}
	b := root.Bucket(name)
	if b == nil {
		return kv.NotFound
	}
	*into = User{}
	fields := into.fields()
	return b.ForEach(func(k, v []byte) error {
		i := fieldNamed(k, 0)
		if i < 0 {
			return corrupt("field %q", k)
		}
		return storeField(fields[i], v)
	})
}

// Walk implements [Users].
func (s *Nested) Walk(ctx context.Context, from int64, limit int, fn func(*User) error) error {
	return s.view(ctx, func(root *bolt.Bucket) error {
		if root == nil {
			return nil
		}
		var u User
		c := root.Cursor()
		for k, _ := c.Seek(key(nil, from)[1:]); k != nil && limit > 0; k, _ = c.Next() {
			if err := readBucket(root, k, &u); err != nil {
				return err
			}
			if err := fn(&u); err != nil {
				return err
			}
			limit--
		}
		return nil
	})
}

// Sum implements [Users].
func (s *Nested) Sum(ctx context.Context) (total float64, n int, err error) {
	err = s.view(ctx, func(root *bolt.Bucket) error {
		if root == nil {
			return nil
		}
		var balance float64
		return root.ForEachBucket(func(k []byte) error {
			if err := storeField(&balance, root.Bucket(k).Get([]byte(fieldNames[balanceField]))); err != nil {
				return err
			}
			total += balance
			n++
			return nil
		})
	})
	return total, n, err
}

// SetBalance reads the user, as all forms do, and writes the one pair.
func (s *Nested) SetBalance(ctx context.Context, d kv.Durability, id int64, balance float64) error {
	return s.update(ctx, d, func(root *bolt.Bucket) error {
		name := key(nil, id)[1:]
		var u User
		if err := readBucket(root, name, &u); err != nil {
			return err
		}
		return root.Bucket(name).Put([]byte(fieldNames[balanceField]), appendField(nil, &balance))
	})
}
