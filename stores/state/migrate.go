package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv"
)

// sqliteMagic is how every SQLite file begins.
const sqliteMagic = "SQLite format 3\x00"

func isSQLite(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, len(sqliteMagic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == sqliteMagic
}

// isOlder reports whether the file, which could not be opened because of err, is an SQLite file of an older program.
// Where the engine writes SQLite files itself, it tells one that is not its own (Invalid) from one that is damaged.
func (f *file) isOlder(err error) bool {
	switch kv.KindOf(err) {
	case kv.Busy, kv.Canceled, kv.Permission, kv.Full:
		return false
	}
	if kv.KindOf(err) != kv.Invalid {
		for _, m := range f.engine.Modules {
			if strings.Contains(m, "sqlite") {
				return false
			}
		}
	}
	return isSQLite(f.path)
}

// keptPath is what the older file is called after the migration.
func (f *file) keptPath() string { return f.path + ".sqlite" }

// interrupted reports whether a migration was cut short between its two renames. Only that to a folder has two.
func (f *file) interrupted() bool {
	if !f.engine.Caps.Folder {
		return false
	}
	_, err := os.Stat(f.path)
	return errors.Is(err, fs.ErrNotExist) && isSQLite(f.keptPath())
}

// migrate replaces the SQLite file by a new file with its entries, and keeps it under another name. Until the new one
// is whole and synced nothing happens to the old one: a process that is killed leaves what the next begins with.
func (f *file) migrate(ctx context.Context) error {
	legacy := f.store.options.Legacy
	if legacy == nil {
		err := &kv.Error{Op: "open", Engine: f.engine.Name, Path: f.path, Kind: kv.Invalid, Err: errors.New("it is an SQLite file of an older program"),
			Hint: "set Options.Legacy to what reads it, for example sqlitelegacy.Tables"}
		if f.kind == Cache {
			return f.replace(ctx, err)
		}
		return err
	}
	err := f.build(ctx, func(db *kv.DB) error {
		put, flush := f.filler(ctx, db)
		if err := legacy(ctx, f.path, put); err != nil {
			return err
		}
		if info, err := os.Stat(f.path + "-wal"); err == nil && info.Size() > 0 {
			return &kv.Error{Op: "migrate", Path: f.path, Kind: kv.Invalid, Err: errors.New("its write-ahead log is not empty"),
				Hint: "Options.Legacy must checkpoint the file, and no older program may have it open"}
		}
		return flush()
	}, f.keep)
	if err != nil {
		if f.kind == Cache && f.hopeless(err) {
			return f.replace(ctx, err)
		}
		return &kv.Error{Op: "migrate", Engine: f.engine.Name, Path: f.path, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
	}
	for _, ending := range []string{"-wal", "-shm"} { // empty
		if err := removed(f.path + ending); err != nil {
			return err
		}
	}
	f.store.report(Incident{What: "migrated", Path: f.path, Kept: f.keptPath()})
	return nil
}

// hopeless reports whether another attempt would end the same.
func (f *file) hopeless(err error) bool {
	switch kv.KindOf(err) {
	case kv.Busy, kv.Canceled, kv.Permission, kv.Full:
		return false
	}
	return true
}

// keep gives the older file its second name. What had that before, from another migration, gets a third.
func (f *file) keep() error {
	kept := f.keptPath()
	if there, err := os.Stat(kept); err == nil {
		old, err := os.Stat(f.path)
		if err != nil || os.SameFile(there, old) {
			return err
		}
		if err := os.Rename(kept, kept+"-"+f.now().UTC().Format(stamp)); err != nil {
			return err
		}
	}
	return f.giveName(kept)
}

// copyFile copies from to to, which is whole or absent.
func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	partial := filepath.Join(filepath.Dir(to), freshPrefix+filepath.Base(to))
	target, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Sync(), target.Close()); err != nil {
		return fmt.Errorf("copy: %w", errors.Join(err, os.Remove(partial)))
	}
	return os.Rename(partial, to)
}
