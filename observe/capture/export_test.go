package capture

import (
	"errors"
	"os"

	"github.com/assaydb/assay/kv/driver"
)

// Recorded returns inner, recorded to a file that is removed when it is closed.
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
	return record(inner, l, func() error {
		return errors.Join(l.finish(), os.Remove(name), inner.Close())
	}), nil
}
