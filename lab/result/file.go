package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of the files that Write writes.
const (
	DocumentFile = "result.json"
	SamplesFile  = "samples.txt"
)

// An Error says what is wrong with a result on disk, and what to do about it.
type Error struct {
	Op   string // "read result", "write result"
	Path string
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Op + ": " + e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Kinds of errors, for errors.Is. A result that is not there is fs.ErrNotExist.
var (
	ErrNotResult = errors.New("not a result")
	ErrNewer     = errors.New("of a newer version")
)

// Write writes run to dir, which is made if need be: the document, and its samples in the Go
// benchmark format. Each file is replaced as a whole, so that a reader, or a crash, sees the old
// one or the new one.
func Write(dir string, run *Run) error {
	document, err := Marshal(run)
	if err != nil {
		return &Error{Op: "write result", Path: filepath.Join(dir, DocumentFile), Err: err}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &Error{Op: "write result", Path: dir, Err: cause(err),
			Hint: "choose a folder that can be written: --out DIR"}
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{SamplesFile, Samples(run)}, {DocumentFile, document}} { // the document last: where it is, all is
		if err := replace(filepath.Join(dir, f.name), f.data); err != nil {
			return &Error{Op: "write result", Path: filepath.Join(dir, f.name), Err: cause(err)}
		}
	}
	return nil
}

// Marshal returns run as the document that Write writes.
func Marshal(run *Run) ([]byte, error) {
	if run.Schema != Schema {
		return nil, fmt.Errorf("schema %q, want %q", run.Schema, Schema)
	}
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// Read returns the run in path, a folder that Write wrote to or a document. The error is an
// [*Error].
func Read(path string) (*Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, DocumentFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		e := &Error{Op: "read result", Path: path, Err: cause(err)}
		if errors.Is(err, fs.ErrNotExist) {
			e.Hint = "name a folder that assay run --out wrote, or its " + DocumentFile
		}
		return nil, e
	}
	run, err := Parse(data)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Path = path
	}
	return run, err
}

// Parse returns the run in a document. The error is an [*Error].
func Parse(data []byte) (*Run, error) {
	run := new(Run)
	if err := decode(data, Schema, DocumentFile, run); err != nil {
		return nil, err
	}
	return run, nil
}

// decode reads a document of the given schema, NAME/VERSION, into v. The error is an [*Error] that
// names file.
func decode(data []byte, schema, file string, v any) error {
	bad := func(err error, hint string) error { return &Error{Op: "read result", Path: file, Err: err, Hint: hint} }
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return bad(fmt.Errorf("%w: %w", ErrNotResult, err), "")
	}
	if head.Schema != schema {
		name, own, _ := strings.Cut(schema, "/")
		known, _ := strconv.Atoi(own)
		if other, version, ok := strings.Cut(head.Schema, "/"); ok && other == name {
			if n, err := strconv.ParseUint(version, 10, 64); err == nil && n > uint64(known) {
				return bad(fmt.Errorf("%w: schema %q, this program reads %q", ErrNewer, head.Schema, schema),
					"use the version of assay that wrote it, or a newer one")
			}
		}
		return bad(fmt.Errorf("%w: schema %q, want %q", ErrNotResult, head.Schema, schema), "")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return bad(fmt.Errorf("%w: %w", ErrNotResult, err), "")
	}
	return nil
}

// replace puts data in place of the file at path, if there is one: a new file is written beside it,
// synced and renamed.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// cause returns err without the path that os puts in front: the caller names it.
func cause(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
