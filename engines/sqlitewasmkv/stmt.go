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

// Prepare compiles sql.
func (c *conn) Prepare(sql string, flags uint32) (_ sqlite.Stmt, rc int32) {
	defer c.outOfMemory(&rc)
	s, _, err := c.db.PrepareFlags(sql, sqlite3.PrepareFlag(flags))
	if err != nil {
		return nil, c.result(err)
	}
	return &stmt{c: c, s: s}, sqlite.OK
}

// Bind sets the arguments ?1 and ?2 to copies of a and b; a nil b is no argument.
func (s *stmt) Bind(a, b []byte) (rc int32) {
	defer s.c.outOfMemory(&rc)
	err := s.s.BindBlob(1, a)
	if b != nil && err == nil {
		err = s.s.BindBlob(2, b)
	}
	return s.c.result(err)
}

// Step runs the statement up to its next row or its end; the columns are in SQLite's memory.
func (s *stmt) Step(columns int) (a, b []byte, rc int32) {
	defer s.c.outOfMemory(&rc)
	if !s.s.Step() {
		err := s.s.Err()
		if code(err) == sqlite.GenericError {
			err = s.s.Reset() // the code of the hook, which a step does not tell
		}
		if err != nil {
			return nil, nil, s.c.result(err)
		}
		return nil, nil, sqlite.Done
	}
	if columns > 0 {
		a = s.s.ColumnRawBlob(0)
	}
	if columns > 1 {
		b = s.s.ColumnRawBlob(1)
	}
	return a, b, sqlite.Row
}

// Reset ends a run. What it returns is the error of the last step again.
func (s *stmt) Reset() {
	defer s.c.outOfMemory(new(int32))
	_ = s.s.Reset()
}

// Finalize releases the statement.
func (s *stmt) Finalize() { _ = s.s.Close() }
