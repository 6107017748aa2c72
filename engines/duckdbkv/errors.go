package duckdbkv

import (
	"errors"
	"os"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/assaydb/assay/kv/driver"
)

const hintCorrupt = "restore a backup"

// classify turns an error of DuckDB into one of package driver.
func classify(err error) error {
	var known *driver.Error
	var e *duckdb.Error
	if err == nil || errors.As(err, &known) || !errors.As(err, &e) {
		return err
	}
	text := strings.ToLower(e.Msg)
	switch {
	case strings.Contains(text, "no space left"):
		return &driver.Error{Kind: driver.Full, Err: err, Hint: "free some space, or use another folder"}
	case strings.Contains(text, "could not set lock"):
		return &driver.Error{Kind: driver.Busy, Err: err, Hint: "another process has the database open"}
	case strings.Contains(text, "permission denied"):
		return &driver.Error{Kind: driver.Permission, Err: err, Hint: "use a file and folder that you may read and write"}
	case e.Type == duckdb.ErrorTypeInterrupt:
		return &driver.Error{Kind: driver.Canceled, Err: err}
	case e.Type == duckdb.ErrorTypeSerialization, strings.Contains(text, "checksum"), strings.Contains(text, "corrupt"):
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: hintCorrupt}
	}
	return err
}

// classifyOpen is classify for Open, where what is none of the known causes is one of the file's
// contents.
func classifyOpen(err error) error {
	err = classify(err)
	if driver.KindOf(err) != driver.Other || errors.Is(err, os.ErrInvalid) {
		return err
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "is it a file of another program? otherwise " + hintCorrupt}
}
