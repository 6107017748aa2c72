// Command bunt proves releases of BuntDB.
package main

import (
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/releases"
)

// A transaction that a kill has torn is loaded in part by every release; see docs/upstream.md. So
// it is not promised here.
func main() {
	releases.Main(releases.Engine{Name: "old-bunt", Module: "github.com/tidwall/buntdb", Open: open})
}

type db struct{ *buntdb.DB }

func open(path string, _ map[string]string) (releases.DB, error) {
	d, err := buntdb.Open(path)
	if err != nil {
		return nil, err
	}
	var c buntdb.Config
	if err := d.ReadConfig(&c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	c.SyncPolicy = buntdb.Always
	if err := d.SetConfig(c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return db{d}, nil
}

func (d db) Each(do func(k, v []byte) error) error {
	return d.View(func(tx *buntdb.Tx) error {
		var failed error
		err := tx.Ascend("", func(k, v string) bool {
			failed = do([]byte(k), []byte(v))
			return failed == nil
		})
		return errors.Join(err, failed)
	})
}

func (d db) Apply(ops []driver.Op) error {
	return d.Update(func(tx *buntdb.Tx) error {
		for _, o := range ops {
			var err error
			if !o.Delete {
				_, _, err = tx.Set(string(o.Key), string(o.Value), nil)
			} else if _, err = tx.Delete(string(o.Key)); errors.Is(err, buntdb.ErrNotFound) {
				err = nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
