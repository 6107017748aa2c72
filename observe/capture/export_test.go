package capture

import (
	"errors"
	"os"

	"github.com/assaydb/assay/kv/driver"
)

// Recorded returns inner, recorded to a file that is removed at once, as inner's process may be
// killed; where a system keeps open files, when inner is closed.
func Recorded(inner driver.Store) (driver.Store, error) {
	f, err := os.CreateTemp("", "assay-recorded-*")
	if err != nil {
		return nil, err
	}
	name := f.Name()
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		return nil, err
	}
	l, err := newLog(name, Info{Version: version}, 0)
	if err != nil {
		return nil, err
	}
	removed := os.Remove(name)
	return record(inner, l, func() error {
		err := l.finish()
		if removed != nil {
			err = errors.Join(err, os.Remove(name))
		}
		return errors.Join(err, inner.Close())
	}), nil
}
