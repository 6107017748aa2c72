package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Compact rewrites the database without free pages. In WAL mode the rewritten pages pass through
// the log, which is then copied back and emptied as far as open snapshots allow. In DELETE mode it
// runs under EXTRA where commits run under FULL: SQLite removes the journal, and then cuts the
// file. The pages that are cut off are not in the journal. A cut amid a block of the file system
// clears the rest of the block, as data, which may reach the disk before the removal does; then the
// journal is rolled back over a file that lacks pages. EXTRA syncs the folder between the two.
func (s *Store) Compact(ctx context.Context) error {
	level := s.levelFor(s.caps.Strongest())
	if s.journal != wal && level == "FULL" {
		level = "EXTRA"
	}
	c, err := s.writerAt(level)
	if err != nil {
		return err
	}
	err = c.interruptible(ctx, c.compact)
	c.doubt = driver.IsInDoubt(err)
	return errors.Join(err, s.endWriting(c))
}

// Check runs SQLite's integrity_check.
func (s *Store) Check(ctx context.Context) error {
	var found []string
	err := s.reading(ctx, func(c *conn) (err error) { found, err = c.texts("PRAGMA integrity_check(10)"); return err })
	if err != nil || len(found) == 1 && found[0] == "ok" {
		return err
	}
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("integrity_check: %s", strings.Join(found, "; ")),
		Hint: hints[driver.Corrupt]}
}

// Backup writes a compact copy of the last committed state to path. It keeps the marks of a store;
// its journal mode is DELETE until it is opened.
func (s *Store) Backup(ctx context.Context, path string) error {
	// SQLite: VACUUM INTO takes an empty file, and would create one for everyone that the umask
	// admits.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return s.reading(ctx, func(c *conn) error { return c.exec("VACUUM INTO " + literal(path)) })
}

// reading runs fn on a connection of its own; the end of ctx interrupts it.
func (s *Store) reading(ctx context.Context, fn func(*conn) error) error {
	c, err := s.lend(readers)
	if err != nil {
		return err
	}
	err = c.interruptible(ctx, func() error { return fn(c) })
	return errors.Join(err, s.takeBack(c, readers))
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
