package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// complete puts the fence around the disk, fills in Pebble's defaults and lets Pebble judge the
// whole. What Pebble reports goes to l.
func (o *settings) complete(l *slog.Logger) (f *fence, err error) {
	defer driver.Recovered(&err, panicked(driver.Invalid))
	f, format := o.guard(l), o.FormatMajorVersion
	o.EnsureDefaults()
	o.compression = o.Levels[0].Compression()
	o.lower, o.upper = o.CompactionConcurrencyRange()
	if err = o.Validate(); err == nil && o.DisableWAL {
		err = errors.New("DisableWAL: kv's promises are those of the log")
	}
	if err != nil {
		err = &driver.Error{Op: "open", Kind: driver.Invalid, Err: err}
	}
	o.FormatMajorVersion = format // EnsureDefaults turned "not said" into the oldest
	return f, err
}

// open opens the folder, within f. A store that exists keeps its format unless a newer one was
// asked for. Pebble would leave a lock where it finds no store to read.
func (o *settings) open(path string, f *fence) (db *pebble.DB, err error) {
	defer driver.Recovered(&err, panicked(driver.Corrupt))
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, &driver.Error{Kind: driver.KindOf(err), Err: err}
	}
	f.folder = path // Pebble's lock knows by its name only what this process has open
	found, err := pebble.Peek(path, o.FS)
	switch {
	case err != nil:
		return nil, err
	case !found.Exists && o.ReadOnly:
		return nil, &driver.Error{Kind: driver.NoStore, Err: pebble.ErrDBDoesNotExist}
	case !found.Exists && o.FormatMajorVersion == pebble.FormatDefault:
		o.FormatMajorVersion = pebble.FormatNewest
	}
	db, err = pebble.Open(path, &o.Options)
	if failed := f.Cause(); err == nil && failed != nil { // which Pebble does not know
		err = errors.Join(failed, db.Close())
	}
	return db, err
}

// panicked returns what makes an error of a panic of Pebble's.
func panicked(kind driver.Kind) func(p any) error {
	return func(p any) error {
		return &driver.Error{Op: "open", Kind: kind, Err: fmt.Errorf("pebble panics: %v", p)}
	}
}
