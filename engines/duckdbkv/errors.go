package duckdbkv

import (
	"errors"
	"os"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/assaydb/assay/kv/driver"
)

const hintCorrupt = "restore a backup"

// signs are what DuckDB's messages say, in small letters, where the cause has a kind.
var signs = []struct {
	text string
	kind driver.Kind
	hint string
}{
	{"no space left", driver.Full, "free some space, or use another folder"},
	{"could not set lock", driver.Busy, "another process has the database open"},
	{"permission denied", driver.Permission, "use a file and folder that you may read and write"},
	{"interrupt", driver.Canceled, ""},
	{"has been invalidated", driver.Stopped, "close the store, and open it again"}, // by a sync that failed
	{"checksum", driver.Corrupt, hintCorrupt},
	{"corrupt", driver.Corrupt, hintCorrupt},
	{"serialization", driver.Corrupt, hintCorrupt},
}

// classify turns an error of DuckDB into one of package driver.
func classify(err error) error {
	var e *duckdb.Error
	if errors.As(err, new(*driver.Error)) || !errors.As(err, &e) {
		return err
	}
	for _, s := range signs {
		if strings.Contains(strings.ToLower(e.Msg), s.text) {
			return &driver.Error{Kind: s.kind, Err: err, Hint: s.hint}
		}
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
	return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "is it a file of another program? otherwise " +
		hintCorrupt}
}
