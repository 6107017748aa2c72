package mosskv

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// tidy leaves the newest file with a whole footer, which is the store. Newer ones were created by a
// process that died before it had committed anything in them: moss would refuse the folder because
// of them. They are set aside. Older ones were compacted. moss removes them when it opens, and in a
// goroutine that may come later, when they are gone, and Open fails.
func tidy(folder string, o *moss.StoreOptions, log *slog.Logger) error {
	names, err := filepath.Glob(filepath.Join(folder, moss.StorePrefix+"*"+moss.StoreSuffix))
	if err != nil || len(names) == 0 {
		return err
	}
	slices.Sort(names)
	found := false
	for _, name := range slices.Backward(names) {
		switch {
		case found:
			err = os.Remove(name)
		default:
			if found, err = hasFooter(name, o); err == nil && !found {
				log.Warn("moss: a file without a commit is set aside", "file", name)
				err = os.Rename(name, name+".torn")
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return driver.SyncDir(folder)
}

// hasFooter tells whether the file has a whole footer. It cuts off the pages of a footer that was
// being written when the process or the machine died, on which moss ends with EOF instead of going
// on to the one before.
func hasFooter(name string, o *moss.StoreOptions) (bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	page := int64(moss.StorePageSize)
	for size := info.Size(); size >= page; {
		footer, err := moss.ReadFooter(o, f)
		if err == nil {
			return true, footer.Close() // which closes f
		}
		if !errors.Is(err, io.EOF) {
			if errors.Is(err, moss.ErrNoValidFooter) {
				err = nil
			}
			return false, errors.Join(err, f.Close())
		}
		size = (size - 1) / page * page
		if err := f.Truncate(size); err != nil {
			return false, errors.Join(err, f.Close())
		}
	}
	return false, f.Close()
}
