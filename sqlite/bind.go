//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"math"
	"unsafe"
)

// A Type is the type of a value.
type Type int32

// The types of SQLite.
const (
	Integer Type = 1 + iota
	Float
	Text
	Blob
	Null
)

func (t Type) String() string {
	if t < Integer || t > Null {
		return "unknown"
	}
	return [...]string{"INTEGER", "REAL", "TEXT", "BLOB", "NULL"}[t-1]
}

// BindInt gives parameter i, from 1, an integer.
func (s *Stmt) BindInt(i int, v int64) {
	if a := s.arg(i); a != nil {
		a.kind, a.number = C.int32_t(Integer), C.int64_t(v)
	}
}

// BindFloat gives parameter i a float. SQLite keeps NaN as NULL.
func (s *Stmt) BindFloat(i int, v float64) {
	if a := s.arg(i); a != nil {
		a.kind, a.number = C.int32_t(Float), C.int64_t(math.Float64bits(v))
	}
}

// BindText gives parameter i a text, which should be UTF-8.
func (s *Stmt) BindText(i int, v string) {
	if a := s.arg(i); a != nil {
		a.kind, a.number, a.length = C.int32_t(Text), C.int64_t(len(s.data)), C.uint32_t(len(v))
		s.data = append(s.data, v...)
		s.checkSize(len(v))
	}
}

// BindBlob gives parameter i a blob; nil is an empty one.
func (s *Stmt) BindBlob(i int, v []byte) {
	if a := s.arg(i); a != nil {
		a.kind, a.number, a.length = C.int32_t(Blob), C.int64_t(len(s.data)), C.uint32_t(len(v))
		s.data = append(s.data, v...)
		s.checkSize(len(v))
	}
}

// BindNull gives parameter i NULL, which it is anyway.
func (s *Stmt) BindNull(i int) {
	if a := s.arg(i); a != nil {
		a.kind = C.int32_t(Null)
	}
}

// checkSize remembers a value that C could not count.
func (s *Stmt) checkSize(n int) {
	if n > math.MaxInt32 {
		s.err = s.c.invalid("bind", "", "a value of %d bytes", n)
	}
}

// arg returns the argument i, of a new run.
func (s *Stmt) arg(i int) *C.assay_value {
	if !s.bound {
		s.bound, s.restart = true, s.restart || s.active
		s.row, s.left, s.ended, s.data = nil, 0, false, s.data[:0]
	}
	if i < 1 || i > len(s.args) {
		s.err = s.c.invalid("bind", "parameters are numbered from 1", "parameter %d of %d", i, len(s.args))
		return nil
	}
	return &s.args[i-1]
}

// Params returns how many parameters there are: the highest number.
func (s *Stmt) Params() int { return len(s.args) }

// ParamName returns the name of parameter i with its :, @ or $, or "".
func (s *Stmt) ParamName(i int) string {
	if s.c.enter("parameter") != nil {
		return ""
	}
	defer s.c.leave()
	if s.run == nil {
		return ""
	}
	return C.GoString(C.sqlite3_bind_parameter_name(s.run.stmt, C.int(i)))
}

// Param returns the number of the parameter with that name, with or without its :, @ or $; 0 if
// there is none.
func (s *Stmt) Param(name string) int {
	for i := 1; i <= len(s.args); i++ {
		if n := s.ParamName(i); n != "" && (n == name || n[1:] == name) {
			return i
		}
	}
	return 0
}

// Type returns the type of column i, from 0, of the current row.
func (s *Stmt) Type(i int) Type {
	if i < 0 || i >= len(s.row) {
		return Null
	}
	return Type(s.row[i].kind)
}

// Int returns column i, from 0, of the current row; a float is cut, to the closest integer that
// there is, anything else is 0.
func (s *Stmt) Int(i int) int64 {
	switch s.Type(i) {
	case Integer:
		return int64(s.row[i].number)
	case Float:
		switch f := math.Float64frombits(uint64(s.row[i].number)); {
		case f >= math.MaxInt64: // which Go leaves to the processor
			return math.MaxInt64
		case f <= math.MinInt64:
			return math.MinInt64
		default:
			return int64(f)
		}
	}
	return 0
}

// Float returns column i of the current row as a float; what is no number is 0.
func (s *Stmt) Float(i int) float64 {
	switch s.Type(i) {
	case Integer:
		return float64(s.row[i].number)
	case Float:
		return math.Float64frombits(uint64(s.row[i].number))
	}
	return 0
}

// Bytes returns a text or blob of the current row, and nil for anything else. It is lent until the
// next call of Next, Run, Reset or Bind.
func (s *Stmt) Bytes(i int) []byte {
	if t := s.Type(i); t != Text && t != Blob {
		return nil
	}
	v := &s.row[i]
	start := (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.out)), v.number))
	return unsafe.Slice(start, int(v.length))
}

// Append appends a text or blob of the current row to the caller's buffer.
func (s *Stmt) Append(to []byte, i int) []byte { return append(to, s.Bytes(i)...) }

// Text returns a text or blob of the current row as a string, and "" for anything else.
func (s *Stmt) Text(i int) string { return string(s.Bytes(i)) }

// Columns returns the names of the columns, none for a statement that returns no rows. The caller
// must not change them.
func (s *Stmt) Columns() []string {
	if s.names != nil || s.columns == 0 || s.c.enter("columns") != nil {
		return s.names
	}
	defer s.c.leave()
	if s.run == nil {
		return nil
	}
	s.names = make([]string, s.columns)
	for i := range s.names {
		s.names[i] = C.GoString(C.sqlite3_column_name(s.run.stmt, C.int(i)))
	}
	return s.names
}

// Declared returns the type that column i of the result was declared with, or "" for an expression.
func (s *Stmt) Declared(i int) string {
	if s.c.enter("columns") != nil {
		return ""
	}
	defer s.c.leave()
	if s.run == nil {
		return ""
	}
	return C.GoString(C.sqlite3_column_decltype(s.run.stmt, C.int(i)))
}
