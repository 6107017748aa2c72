package powerfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Import reads a folder of a real disk: files, folders, symbolic and, where the system tells them,
// hard links.
func Import(dir string) (*Image, error) {
	nodes := make(map[string]*node)
	linked := make(map[any]*node)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if path == dir { // which may be a symbolic link itself
			if info, err = os.Stat(dir); err != nil {
				return err
			}
		}
		id := linkID(info)
		n := linked[id]
		if n == nil || id == nil {
			if n, err = importNode(path, info); err != nil {
				return err
			}
		}
		if id != nil {
			linked[id] = n
		}
		nodes[path] = n
		if path != dir {
			nodes[filepath.Dir(path)].entries[filepath.Base(path)] = n
		}
		return nil
	})
	if err == nil && nodes[dir].entries == nil {
		err = &fs.PathError{Op: "import", Path: dir, Err: errorString("not a folder")}
	}
	if err != nil {
		return nil, &driver.Error{Op: "import", Path: dir, Kind: driver.KindOf(err), Err: err}
	}
	return &Image{root: nodes[dir]}, nil
}

func importNode(path string, info fs.FileInfo) (*node, error) {
	n := &node{mode: uint32(info.Mode().Perm())}
	switch {
	case info.IsDir():
		n.mode |= ModeDir
		n.entries = make(map[string]*node)
		return n, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		n.mode, n.target = ModeSymlink|0o777, target
		return n, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "import", Path: path, Err: errorString("neither file, folder nor symbolic link")}
	}
	n.mode |= ModeFile
	n.pages = make(map[int64]*page)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n.size = info.Size()
	for off := int64(0); off < n.size; {
		data, hole, err := nextData(file, off, n.size)
		if err != nil {
			return nil, err
		}
		off = max(hole, off+1)
		if err := n.importPages(file, data/pageSize, (hole+pageSize-1)/pageSize); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// importPages reads the pages [from, to), and leaves out those that are zeroes.
func (n *node) importPages(file *os.File, from, to int64) error {
	for index := from; index < to; index++ {
		p := &page{data: new([pageSize]byte)}
		got, err := file.ReadAt(p.data[:], index*pageSize)
		if err != nil && err != io.EOF {
			return err
		}
		clear(p.data[max(0, min(int64(got), n.size-index*pageSize)):])
		if !isZero(p.data[:]) {
			n.pages[index] = p
		}
	}
	return nil
}

// String returns what is in the image, for messages: "a/b, a/c".
func (img *Image) String() string {
	var names []string
	_ = img.Walk(func(f File) error {
		if f.Mode.IsRegular() {
			names = append(names, f.Path)
		}
		return nil
	})
	return strings.Join(names, ", ")
}
