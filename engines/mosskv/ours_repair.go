package mosskv

import (
	"encoding/json"
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
// of them. They are set aside. Older ones were compacted: its process may have died of a sync of
// the newest that failed, so that this is written once more before they are removed. moss removes
// them when it opens, and in a goroutine that may come later, when they are gone, and Open fails.
func tidy(folder string, o *moss.StoreOptions, log *slog.Logger) error {
	names, err := filepath.Glob(filepath.Join(folder, moss.StorePrefix+"*"+moss.StoreSuffix))
	if err != nil || len(names) == 0 {
		return err
	}
	slices.Sort(names)
	for i, name := range slices.Backward(names) {
		whole, err := hasFooter(name, o)
		if err != nil {
			return err
		}
		if whole {
			if err := removeOlder(names[:i], name); err != nil {
				return err
			}
			break
		}
		log.Warn("moss: a file without a commit is set aside", "file", name)
		if err := os.Rename(name, name+".torn"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return driver.SyncDir(folder)
}

// removeOlder removes files that were compacted into newest.
func removeOlder(names []string, newest string) error {
	if len(names) == 0 {
		return nil
	}
	if err := renew(newest); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// renew writes a file's content over itself, and syncs it. What a failed sync has lost is in memory
// alone, and no later sync writes it.
func renew(name string) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(io.NewOffsetWriter(f, 0), f); err != nil {
		return err
	}
	return f.Sync()
}

// hasFooter tells whether the file has a whole footer. It cuts off the pages of a footer that was
// being written when the process or the machine died, on which moss ends with EOF, or with an error
// of its JSON where a sector within is missing, instead of going on to the one before.
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
		if !errors.Is(err, io.EOF) && !errors.As(err, new(*json.SyntaxError)) {
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
