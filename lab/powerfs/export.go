package powerfs

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// Export writes the image below dir, which is made if it is missing. Holes stay holes, permissions
// and hard links are kept. Files are not synced.
func (img *Image) Export(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exportError(dir, err)
	}
	written := make(map[*node]string)
	var folders []File
	err := img.Walk(func(f File) error {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		first, again := written[f.node]
		written[f.node] = path
		switch {
		case f.Mode.IsDir():
			folders = append(folders, f)
			if f.Path == "." {
				return nil
			}
			return os.Mkdir(path, 0o700)
		case again:
			return os.Link(first, path)
		case f.Mode&fs.ModeSymlink != 0:
			return os.Symlink(f.Target, path)
		}
		return exportFile(f, path)
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- { // a folder without permission to write is closed last
		if folders[i].Path != "." {
			err = os.Chmod(filepath.Join(dir, filepath.FromSlash(folders[i].Path)), folders[i].Mode.Perm())
		}
	}
	if err != nil {
		return exportError(dir, err)
	}
	return nil
}

func exportError(dir string, err error) error {
	return &driver.Error{Op: "export image", Path: dir, Kind: driver.KindOf(err), Err: err,
		Hint: "the folder must be empty and have room for the files"}
}

// stretch is how many pages are written at once.
const stretch = 256

func exportFile(f File, path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	if err := file.Truncate(f.Size); err != nil {
		return err
	}
	var buf [pageSize]byte
	for _, r := range runs(f.node.filled()) {
		for first := r.first; first < r.first+r.pages; first += stretch {
			b := make([]byte, 0, min(stretch, r.pages)*pageSize)
			for index := first; index < min(first+stretch, r.first+r.pages); index++ {
				data, err := f.node.pages[index].bytes(&buf)
				if err != nil {
					return err
				}
				b = append(b, data[:]...)
			}
			if n := f.Size - first*pageSize; n < int64(len(b)) {
				b = b[:max(n, 0)]
			}
			if _, err := file.WriteAt(b, first*pageSize); err != nil {
				return err
			}
		}
	}
	return file.Chmod(f.Mode.Perm())
}
