package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// forWriting lends a connection whose commits are of class d.
func (s *Store) forWriting(d driver.Durability) (*conn, error) {
	c, err := s.writerAt(s.levelFor(d))
	if err != nil {
		return nil, err
	}
	if c.covers = d == driver.Synced; c.covers {
		c.written = c.db.Written()
	}
	return c, nil
}

// cover makes durable what stands before a synced commit that has written nothing. SQLite: where a
// row gets the value that it has, or one is deleted that is not there, no page changes, and nothing
// is synced. But that may be what a commit of a weaker class has left.
func (c *conn) cover() error {
	s := c.reader.s
	if !c.covers || c.db.Written() != c.written {
		return nil
	}
	var err error
	switch {
	case s.journal != wal: // which ends a commit by its removal
		err = s.onSync.Dir(filepath.Dir(s.path))
	case s.log.doubt.Load() || s.syncLog() != nil: // which may be told of what failed before
		err = s.rewriteLog(c, patience)
	}
	if err == nil {
		return nil
	}
	c.doubt = true
	return &driver.Error{Kind: driver.InDoubt, Err: err}
}

// syncLog syncs the log, if there is one.
func (s *Store) syncLog() error {
	if s.log.told != nil {
		return s.onSync.Time(s.log.told.Sync)
	}
	f, err := os.OpenFile(s.path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.onSync.Time(f.Sync), f.Close())
}
