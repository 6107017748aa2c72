package sqlite

import (
	"errors"
	"os"

	"github.com/assaydb/assay/kv/driver"
)

const ReadOnlyRollback = ReadOnly | 3<<8

var errJournal = errors.New("there is a journal beside which nobody holds a lock")

// named are the errors that the driver itself looks at.
var named = map[int32]error{NotADB: errNotADB, ReadOnlyRollback: errJournal}

// abandoned returns err, which is NotWritable if a process has died amid a commit. SQLite: to one
// who may not write, a journal beside which nobody holds a lock is an error, and it looks for the
// lock first: a commit may have begun behind that look. A commit holds its lock for as long as its
// journal has a name, so that one who looks anew while the same journal is there tells the two
// apart.
func (s *Store) abandoned(err error) error {
	if err == nil || !s.readOnly || !errors.Is(err, errJournal) {
		return err
	}
	name := s.path + "-journal"
	journal, failed := os.Open(name) // while it is open no other file is taken for the same
	if failed != nil {
		return err
	}
	defer journal.Close()
	db, failed := s.lib.Connect(s.path, openReadOnly|openNoMutex, s.onSync)
	if failed != nil {
		return err
	}
	c := &conn{db: db}
	_, again := c.text("PRAGMA schema_version")
	before, failed := journal.Stat()
	after, gone := os.Stat(name)
	failed = errors.Join(failed, gone, c.close())
	if failed != nil || !errors.Is(again, errJournal) || !os.SameFile(before, after) {
		return err
	}
	return &driver.Error{Kind: driver.NotWritable, Err: again,
		Hint: "a process died amid a commit: open it once without mode=ro"}
}
