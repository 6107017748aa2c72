package duckdbkv

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// create makes an empty store at path, unless something is there by then. DuckDB makes it in a file
// beside it, which is then linked to the name: a process that dies amid that would leave a file
// that DuckDB takes for one of another program. Where links are not supported, it leaves creation
// to DuckDB.
func create(ctx context.Context, path string, config url.Values) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fresh := filepath.Join(dir, "db")
	s, err := open(ctx, fresh, config)
	if err == nil {
		err = s.db.Close() // which takes what is in the log into the file
	}
	if err == nil {
		err = os.Link(fresh, path)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
