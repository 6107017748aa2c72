package duckdbkv

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/assaydb/assay/kv/driver"
)

// claims are the paths that this process has open. DuckDB's own lock, of the kind that belongs to a
// process, does not keep the same process out.
var claims sync.Map

// claim returns the one name of the file at path, which nobody else of this process has.
func claim(path string) (string, error) {
	path, err := prepare(path)
	if err != nil {
		return "", err
	}
	if _, taken := claims.LoadOrStore(path, true); taken {
		return "", &driver.Error{Op: "open", Kind: driver.Busy, Err: errors.New("this process has it open"),
			Hint: "close the other handle first"}
	}
	return path, nil
}

// prepare makes the missing parent folders and returns the one name of the file.
func prepare(path string) (string, error) {
	dir := filepath.Dir(path)
	if err := driver.MakeDirs(dir); err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved, nil
	}
	dir, err := filepath.EvalSymlinks(dir)
	return filepath.Join(dir, filepath.Base(path)), err
}

func disclaim(path string) { claims.Delete(path) }
