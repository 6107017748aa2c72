// Command badger1 proves releases 1 of Badger.
package main

import (
	"strconv"

	"github.com/dgraph-io/badger"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/releases"
)

func main() {
	releases.Main(releases.Engine{Name: "old-badger", Module: "github.com/dgraph-io/badger", KillAtomic: true,
		PowerAtomic: true, Open: open,
		Options: []driver.Option{
			{Name: "MemTableSize", Values: "bytes", Default: "67108864",
				Usage: "size of a table, in memory and on disk"},
			{Name: "ValueThreshold", Values: "bytes", Default: "32",
				Usage: "larger values stand in the value log alone"},
		}})
}

type db struct{ *badger.DB }

func open(path string, params map[string]string) (releases.DB, error) {
	if err := driver.MakeDirs(path); err != nil {
		return nil, err
	}
	o := defaults(path)
	o.SyncWrites = true
	for name, at := range map[string]func(n int){
		"MemTableSize":   func(n int) { set(&o.MaxTableSize, n) },
		"ValueThreshold": func(n int) { set(&o.ValueThreshold, n) },
	} {
		if text, given := params[name]; given {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			at(n)
		}
	}
	d, err := badger.Open(o)
	if err != nil {
		return nil, err
	}
	return db{d}, nil
}

// set is for a field whose type differs between releases.
func set[N int | int64](at *N, n int) { *at = N(n) }

func (d db) Each(do func(k, v []byte) error) error {
	return d.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			v, err := it.Item().ValueCopy(nil)
			if err == nil {
				err = do(it.Item().Key(), v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (d db) Apply(ops []driver.Op) error {
	return d.Update(func(tx *badger.Txn) (err error) {
		for _, o := range ops {
			if o.Delete {
				err = tx.Delete(o.Key)
			} else {
				err = tx.Set(o.Key, o.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
