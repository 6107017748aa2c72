//go:build !race && !kvdebug

// Package allocs holds kv to allocating nothing where the engine allocates nothing.
package allocs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/dgraph-io/badger/v4"
	"github.com/syndtr/goleveldb/leveldb/util"
	"github.com/tidwall/buntdb"
	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/engines/badgerkv"
	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
)

const (
	pairs = 1000
	row   = 20 // pairs that a scan reads
)

// side does each operation n times, on the same store through kv or through the engine's own API.
type side struct {
	get   func(n int) error // within one View
	alone func(n int) error
	scan  func(n int) error // within one View
	put   func(n int) error

	broken func(n int) error // scan, by a loop that is left
}

// data are the keys and what is read.
type data struct {
	keys  [][]byte
	names []string // the keys as strings
	value []byte
	buf   []byte
	sum   int
}

func newData() *data {
	d := &data{value: make([]byte, 100)}
	for i := range pairs {
		d.names = append(d.names, fmt.Sprintf("key%013d", i))
		d.keys = append(d.keys, []byte(d.names[i]))
	}
	return d
}

func (d *data) touch(k, v []byte) { d.sum += int(k[0]) + len(v) }

var ctx = context.Background()

// through is kv.
func (d *data) through(db *kv.DB, class kv.Durability) side {
	return side{
		get: func(n int) error {
			return db.View(ctx, func(s *kv.Snapshot) (err error) {
				for i := range n {
					if d.buf, err = s.Append(d.buf[:0], d.keys[i%pairs]); err != nil {
						return err
					}
				}
				return nil
			})
		},
		alone: func(n int) (err error) {
			for i := range n {
				if d.buf, err = db.Append(ctx, d.buf[:0], d.keys[i%pairs]); err != nil {
					return err
				}
			}
			return nil
		},
		scan: func(n int) error {
			return db.View(ctx, func(s *kv.Snapshot) error {
				for i := range n {
					first := i % (pairs - row)
					for k, v := range s.Scan(kv.Range{Start: d.keys[first], End: d.keys[first+row]}) {
						d.touch(k, v)
					}
				}
				return nil
			})
		},
		broken: func(n int) error {
			return db.View(ctx, func(s *kv.Snapshot) error {
				for i := range n {
					left := row
					for k, v := range s.Scan(kv.Range{Start: d.keys[i%(pairs-row)]}) {
						d.touch(k, v)
						if left--; left == 0 {
							break
						}
					}
				}
				return nil
			})
		},
		put: func(n int) error {
			for i := range n {
				if err := db.Put(ctx, class, d.keys[i%pairs], d.value); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// each calls fn n times.
func each(fn func(i int) error) func(n int) error {
	return func(n int) error {
		for i := range n {
			if err := fn(i); err != nil {
				return err
			}
		}
		return nil
	}
}

// raws are the engines alone, as their documentation shows them.
var raws = map[string]func(d *data, db *kv.DB) side{
	"bbolt": func(d *data, db *kv.DB) side {
		h, _ := bboltkv.Handle(db)
		name := []byte("kv")
		get := func(n int) error {
			return h.View(func(tx *bolt.Tx) error {
				b := tx.Bucket(name)
				for i := range n {
					d.buf = append(d.buf[:0], b.Get(d.keys[i%pairs])...)
				}
				return nil
			})
		}
		return side{get: get, alone: each(func(int) error { return get(1) }),
			scan: func(n int) error {
				return h.View(func(tx *bolt.Tx) error {
					b := tx.Bucket(name)
					for i := range n {
						c, left := b.Cursor(), row
						for k, v := c.Seek(d.keys[i%(pairs-row)]); k != nil && left > 0; k, v = c.Next() {
							d.touch(k, v)
							left--
						}
					}
					return nil
				})
			},
			put: each(func(i int) error {
				return h.Update(func(tx *bolt.Tx) error { return tx.Bucket(name).Put(d.keys[i%pairs], d.value) })
			})}
	},
	"bunt": func(d *data, db *kv.DB) side {
		h, _ := buntkv.Handle(db)
		get := func(n int) error {
			return h.View(func(tx *buntdb.Tx) error {
				for i := range n {
					v, err := tx.Get(d.names[i%pairs])
					if err != nil {
						return err
					}
					d.buf = append(d.buf[:0], v...)
				}
				return nil
			})
		}
		return side{get: get, alone: each(func(int) error { return get(1) }),
			scan: func(n int) error {
				return h.View(func(tx *buntdb.Tx) error {
					for i := range n {
						left := row
						err := tx.AscendGreaterOrEqual("", d.names[i%(pairs-row)], func(k, v string) bool {
							d.sum += len(k) + len(v)
							left--
							return left > 0
						})
						if err != nil {
							return err
						}
					}
					return nil
				})
			}}
	},
	"pebble": func(d *data, db *kv.DB) side {
		h, _ := pebblekv.Handle(db)
		get := func(r pebble.Reader, i int) error {
			v, closer, err := r.Get(d.keys[i%pairs])
			if err != nil {
				return err
			}
			d.buf = append(d.buf[:0], v...)
			return closer.Close()
		}
		return side{
			get: func(n int) error {
				s := h.NewSnapshot()
				defer s.Close()
				return each(func(i int) error { return get(s, i) })(n)
			},
			alone: each(func(i int) error { return get(h, i) }),
			scan: func(n int) error {
				s := h.NewSnapshot()
				defer s.Close()
				for i := range n {
					it, err := s.NewIter(&pebble.IterOptions{LowerBound: d.keys[i%(pairs-row)]})
					if err != nil {
						return err
					}
					left := row
					for ok := it.First(); ok && left > 0; ok = it.Next() {
						d.touch(it.Key(), it.Value())
						left--
					}
					if err := it.Close(); err != nil {
						return err
					}
				}
				return nil
			},
			put: each(func(i int) error { return h.Set(d.keys[i%pairs], d.value, pebble.NoSync) }),
		}
	},
	"leveldb": func(d *data, db *kv.DB) side {
		h, _ := levelkv.Handle(db)
		return side{
			get: func(n int) error {
				s, err := h.GetSnapshot()
				if err != nil {
					return err
				}
				defer s.Release()
				return each(func(i int) error {
					v, err := s.Get(d.keys[i%pairs], nil)
					d.buf = append(d.buf[:0], v...)
					return err
				})(n)
			},
			alone: each(func(i int) error {
				v, err := h.Get(d.keys[i%pairs], nil)
				d.buf = append(d.buf[:0], v...)
				return err
			}),
			scan: func(n int) error {
				s, err := h.GetSnapshot()
				if err != nil {
					return err
				}
				defer s.Release()
				return each(func(i int) error {
					it := s.NewIterator(&util.Range{Start: d.keys[i%(pairs-row)]}, nil)
					defer it.Release()
					for left := row; left > 0 && it.Next(); left-- {
						d.touch(it.Key(), it.Value())
					}
					return it.Error()
				})(n)
			},
			put: each(func(i int) error { return h.Put(d.keys[i%pairs], d.value, nil) }),
		}
	},
	"badger": func(d *data, db *kv.DB) side {
		h, _ := badgerkv.Handle(db)
		get := func(n int) error {
			return h.View(func(tx *badger.Txn) error {
				for i := range n {
					item, err := tx.Get(d.keys[i%pairs])
					if err != nil {
						return err
					}
					if d.buf, err = item.ValueCopy(d.buf[:0]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return side{get: get, alone: each(func(int) error { return get(1) })}
	},
}

// TestAllocations holds kv to allocating nothing for an operation where the engine allocates
// nothing, but for a scan that is broken off. All counts are told.
func TestAllocations(t *testing.T) {
	for engine, raw := range raws {
		t.Run(engine, func(t *testing.T) {
			db, err := kv.Open(ctx, engine+":"+filepath.ToSlash(filepath.Join(t.TempDir(), "db")), kv.WithWeakest(kv.Buffered))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			d, class := newData(), db.Caps().Cheapest()
			var b kv.Batch
			for _, k := range d.keys {
				b.Put(k, d.value)
			}
			if err := db.Write(ctx, class, &b); err != nil {
				t.Fatal(err)
			}
			ours, theirs := d.through(db, class), raw(d, db)
			var said strings.Builder
			for _, op := range []struct {
				name         string
				ours, theirs func(n int) error
				told         bool // and no more
			}{
				{"get", ours.get, theirs.get, false},
				{"get alone", ours.alone, theirs.alone, false},
				{"scan of 20", ours.scan, theirs.scan, false},
				{"scan of 20, broken off", ours.broken, theirs.scan, true},
				{"put", ours.put, theirs.put, false},
			} {
				if op.theirs == nil {
					continue
				}
				kv, engine := allocations(t, op.ours), allocations(t, op.theirs)
				fmt.Fprintf(&said, "%s: kv %.2f, the engine %.2f\n", op.name, kv, engine)
				if engine < least && kv >= least && !op.told {
					t.Errorf("%s: kv allocates %.2f times, the engine does not", op.name, kv)
				}
			}
			t.Log("\n" + said.String())
		})
	}
}

// least is below what an operation allocates that allocates: what else the process does is less.
const least = 0.1

// allocations returns how often op allocates, by the least of several counts.
func allocations(t *testing.T, op func(n int) error) float64 {
	t.Helper()
	const times = 1000
	fewest := 0.0
	for i := range 5 {
		n := testing.AllocsPerRun(1, func() {
			if err := op(times); err != nil {
				t.Fatal(err)
			}
		})
		if n = float64(int(n)/(times/100)) / 100; i == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}
