package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Compact rewrites the database without free pages. In WAL mode the rewritten pages pass through the log, which is
// then copied back and emptied as far as open snapshots allow.
func (s *Store) Compact(ctx context.Context) error {
	w := waiter{ctx: ctx, limit: s.options.busy}
	c, err := s.forWriting(&w, s.strongest())
	if err != nil {
		return err
	}
	err = c.db.Interruptible(ctx, func() error {
		if _, err := c.textsWaiting(&w, "VACUUM"); err != nil || s.journal != journalWAL {
			return err
		}
		_, err := c.textsWaiting(&w, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
	return errors.Join(err, s.releaseWriter(c))
}

// strongest returns the strongest class that the store delivers.
func (s *Store) strongest() driver.Durability {
	for _, d := range driver.Durabilities {
		if s.caps.Promise(d).Supported {
			return d
		}
	}
	return driver.Buffered
}

// Check runs SQLite's integrity_check.
func (s *Store) Check(ctx context.Context) error {
	var found []string
	err := s.reading(ctx, func(c *conn, w *waiter) (err error) {
		found, err = c.textsWaiting(w, "PRAGMA integrity_check(10)")
		return err
	})
	if err != nil || len(found) == 1 && found[0] == "ok" {
		return err
	}
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("integrity_check: %s", strings.Join(found, "; ")),
		Hint: hints[driver.Corrupt]}
}

// Backup writes a compact copy of the last committed state to path. It keeps the marks of a store; its journal mode is
// DELETE until it is opened.
func (s *Store) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// SQLite: VACUUM INTO takes an empty file, and would create one for everyone that the umask admits.
	if _, err := createFile(path, false); err != nil {
		return err
	}
	return s.reading(ctx, func(c *conn, w *waiter) error {
		_, err := c.textsWaiting(w, "VACUUM INTO '"+strings.ReplaceAll(path, "'", "''")+"'")
		return err
	})
}

// reading runs fn on a connection of its own; the end of ctx interrupts it.
func (s *Store) reading(ctx context.Context, fn func(*conn, *waiter) error) error {
	w := waiter{ctx: ctx, limit: s.options.busy}
	c, err := s.forReading(&w)
	if err != nil {
		return err
	}
	err = c.db.Interruptible(ctx, func() error { return fn(c, &w) })
	return errors.Join(err, s.release(c))
}

// Files lists the database and its companions that exist now.
func (s *Store) Files() ([]string, error) {
	path, err := filepath.EvalSymlinks(s.path) // SQLite: companions stand beside the file, not beside a link to it
	if err != nil {
		return nil, err
	}
	files := []string{path}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		_, err := os.Stat(path + suffix)
		switch {
		case err == nil:
			files = append(files, path+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return files, nil
}

// Settings tells SQLite's version and the pragmas in force.
func (s *Store) Settings() []driver.Setting {
	var list []driver.Setting
	add := func(name, value string) { list = append(list, driver.Setting{Name: name, Value: value}) }
	// What cannot be read is left out: a setting that is not certain is not reported.
	_ = s.reading(context.Background(), func(c *conn, w *waiter) error {
		read := func(name, sql string, names ...string) {
			rows, err := c.textsWaiting(w, sql)
			if err != nil || len(rows) == 0 {
				return
			}
			value := rows[0]
			if len(value) == 1 && int(value[0]-'0') < len(names) {
				value = names[value[0]-'0']
			}
			add(name, value)
		}
		read("sqlite_version", "SELECT sqlite_version()")
		read("journal_mode", "PRAGMA journal_mode")
		read("page_size", "PRAGMA page_size")
		read("cache_size", "PRAGMA cache_size")
		read("mmap_size", "PRAGMA mmap_size")
		read("wal_autocheckpoint", "PRAGMA wal_autocheckpoint")
		read("auto_vacuum", "PRAGMA auto_vacuum", "NONE", "FULL", "INCREMENTAL")
		read("temp_store", "PRAGMA temp_store", "DEFAULT", "FILE", "MEMORY")
		read("locking_mode", "PRAGMA locking_mode")
		if runtime.GOOS == "darwin" {
			read("fullfsync", "PRAGMA fullfsync")
			read("checkpoint_fullfsync", "PRAGMA checkpoint_fullfsync")
		}
		return nil
	})
	add("busy_timeout", fmt.Sprint(s.options.busy.Milliseconds()))
	for _, d := range driver.Durabilities {
		if s.caps.Promise(d).Supported {
			add("synchronous("+d.String()+")", levelFor(s.journal, s.options.synchronous, d).String())
		}
	}
	return list
}
