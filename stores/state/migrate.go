package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// sqliteMagic is how every SQLite file begins.
const sqliteMagic = "SQLite format 3\x00"

func isSQLite(path string) bool { return bytes.HasPrefix(headOf(path), []byte(sqliteMagic)) }

// An SQLite file has the number of its application at this offset. That of our engines is "assy".
const (
	applicationAt = 68
	ourSQLite     = "assy"
)

// isOlderFile reports whether the file at path is an SQLite file of another program.
func isOlderFile(path string) bool {
	head := headOf(path)
	return bytes.HasPrefix(head, []byte(sqliteMagic)) && string(head[applicationAt:]) != ourSQLite
}

// headOf returns how a file begins, with zeros behind its end; nil if there is none.
func headOf(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	head := make([]byte, applicationAt+len(ourSQLite))
	if _, err := io.ReadFull(file, head); err != nil && err != io.ErrUnexpectedEOF {
		return nil
	}
	return head
}

// isOlder reports whether the file, which could not be opened because of err, is an SQLite file of
// an older program. Where the engine writes SQLite files itself, it tells one that is not its own
// (Invalid) from one that is damaged.
func (f *file) isOlder(err error) bool {
	if !hopeless(err) {
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
func (f *file) keptPath() string { return keptPath(f.path) }

func keptPath(source string) string { return source + ".sqlite" }

// interrupted reports whether a migration was cut short between its two renames. Only that to a
// folder has two.
func (f *file) interrupted() bool {
	if !f.engine.Caps.Folder {
		return false
	}
	_, err := os.Stat(f.path)
	return errors.Is(err, fs.ErrNotExist) && isSQLite(f.keptPath())
}

// hopeless reports whether another attempt would end the same.
func hopeless(err error) bool {
	switch kv.KindOf(err) {
	case kv.Busy, kv.Canceled, kv.Permission, kv.Full:
		return false
	}
	return true
}

// keep gives the older file its second name. What had that before, from another migration, gets a
// third.
func (f *file) keep() error {
	kept := f.keptPath()
	if there, err := os.Stat(kept); err == nil {
		old, err := os.Stat(f.path)
		if err != nil || os.SameFile(there, old) {
			return err
		}
	}
	if err := makeRoom(kept, f.now()); err != nil {
		return err
	}
	return f.giveName(kept)
}

// makeRoom gives what is called path another name, which ends with a time.
func makeRoom(path string, now time.Time) error {
	err := os.Rename(path, path+"-"+now.UTC().Format(stamp))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
