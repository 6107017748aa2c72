package sqlitewasmkv

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// stmt is a prepared statement.
type stmt struct {
	c *conn
	s *sqlite3.Stmt
}

var _ sqlite.Stmt = (*stmt)(nil)

// Prepare compiles sql.
func (c *conn) Prepare(sql string, persistent bool) (sqlite.Stmt, int32) {
	var flags sqlite3.PrepareFlag
	if persistent {
		flags = sqlite3.PREPARE_PERSISTENT
	}
	s, _, err := c.db.PrepareFlags(sql, flags)
	if err != nil {
		return nil, c.result(err)
	}
	return &stmt{c: c, s: s}, sqlite.OK
}

// Bind sets the arguments ?1 and ?2 to copies of a and b; a nil b is no argument.
func (s *stmt) Bind(a, b []byte) int32 {
	err := s.s.BindBlob(1, a)
	if b != nil && err == nil {
		err = s.s.BindBlob(2, b)
	}
	return s.c.result(err)
}

// Step runs the statement up to its next row or its end.
func (s *stmt) Step() int32 {
	if s.s.Step() {
		return sqlite.Row
	}
	if err := s.s.Err(); err != nil {
		return s.c.result(err)
	}
	return sqlite.Done
}

// Column returns column i of the row, in SQLite's memory. An empty blob is nil.
func (s *stmt) Column(i int) ([]byte, int32) { return s.s.ColumnRawBlob(i), sqlite.OK }

// Reset ends a run. What it returns is the error of the last step again.
func (s *stmt) Reset() { _ = s.s.Reset() }

// Finalize releases the statement.
func (s *stmt) Finalize() { _ = s.s.Close() }
