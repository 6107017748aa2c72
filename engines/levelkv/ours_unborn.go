package levelkv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

// openLocked opens the folder whose lock is held. A folder that holds data and lost CURRENT, or the
// manifest that it names, is refused.
func openLocked(f *files, path string, o *opt.Options) (db *leveldb.DB, err error) {
	defer driver.Recovered(&err, func(p any) error {
		return &driver.Error{Op: "open", Kind: driver.Corrupt, Err: fmt.Errorf("goleveldb panics: %v", p)}
	})
	data, err := f.List(storage.TypeJournal | storage.TypeTable)
	if err == nil && len(data) == 0 && !o.ReadOnly {
		err = removeUnborn(path)
	}
	if err != nil {
		return nil, err
	}
	begin := *o
	begin.ErrorIfMissing = o.ErrorIfMissing || len(data) > 0
	begin.DisableLargeBatchTransaction = true // v1.0.0: one that fails keeps the lock of the writers, and Close hangs
	return leveldb.Open(f, &begin)
}

// removeUnborn removes what a process that died while it created a store left: a manifest that
// CURRENT does not name yet. goleveldb would refuse the folder for ever. There is no data: the
// first journal is created after CURRENT.
func removeUnborn(path string) error {
	if _, err := os.Stat(filepath.Join(path, "CURRENT")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := os.ReadDir(path)
	for _, n := range names {
		if unborn.MatchString(n.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(path, n.Name())))
		}
	}
	return err
}

// unborn are the names of a manifest, and of the next CURRENT, which is renamed when it is written.
var unborn = regexp.MustCompile(`^(MANIFEST-|CURRENT\.)[0-9]+$`)
