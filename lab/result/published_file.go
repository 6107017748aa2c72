package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PublishedFile is the name of the file that WritePublished writes.
const PublishedFile = "published.json"

// WritePublished writes p to dir, which is made if need be. The file is replaced as a whole.
func WritePublished(dir string, p *Published) error {
	path := filepath.Join(dir, PublishedFile)
	document, err := MarshalPublished(p)
	if err != nil {
		return &Error{Op: "write result", Path: path, Err: err}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &Error{Op: "write result", Path: dir, Err: cause(err),
			Hint: "choose a folder that can be written: --out DIR"}
	}
	if err := replace(path, document); err != nil {
		return &Error{Op: "write result", Path: path, Err: cause(err)}
	}
	return nil
}

// MarshalPublished returns p as the document that WritePublished writes.
func MarshalPublished(p *Published) ([]byte, error) {
	if p.Schema != PublishedSchema {
		return nil, fmt.Errorf("schema %q, want %q", p.Schema, PublishedSchema)
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// ReadPublished returns the run in path, a folder that WritePublished wrote to or a document. The
// error is an [*Error].
func ReadPublished(path string) (*Published, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, PublishedFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		e := &Error{Op: "read result", Path: path, Err: cause(err)}
		if errors.Is(err, fs.ErrNotExist) {
			e.Hint = "name a folder that assay run --like-published --out wrote, or its " + PublishedFile
		}
		return nil, e
	}
	p := new(Published)
	err = decode(data, PublishedSchema, PublishedFile, p)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Path = path
		return nil, err
	}
	return p, nil
}
