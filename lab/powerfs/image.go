package powerfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Image is a tree of files that never changes. It shares pages with the disk it was made from, and
// with the disks that are made from it.
type Image struct {
	root *node
	err  error // the spill file could not be read
	once sync.Once
	sum  [sha256.Size]byte
}

// node is a file, a folder or a symbolic link. Two names of one file have one node.
type node struct {
	mode    uint32
	target  string
	entries map[string]*node
	pages   map[int64]*page
	size    int64
}

// File is a file, folder or symbolic link of an image.
type File struct {
	Path   string // below the root, with slashes; "." is the root
	Mode   fs.FileMode
	Size   int64
	Target string // of a symbolic link
	node   *node
}

// Walk calls fn with everything in the image, folders before what is in them, in the order of the
// names.
func (img *Image) Walk(fn func(File) error) error {
	if img.err != nil {
		return img.err
	}
	return img.root.walk(".", fn)
}

func (n *node) walk(where string, fn func(File) error) error {
	if err := fn(n.file(where)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		below := name
		if where != "." {
			below = where + "/" + name
		}
		if err := n.entries[name].walk(below, fn); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) file(where string) File {
	f := File{Path: where, Mode: fs.FileMode(n.mode & 0o777), Size: n.size, Target: n.target, node: n}
	switch n.mode & ModeType {
	case ModeDir:
		f.Mode |= fs.ModeDir
	case ModeSymlink:
		f.Mode |= fs.ModeSymlink
	}
	return f
}

// File returns what is at the path below the root.
func (img *Image) File(path string) (File, bool) {
	var found File
	ok := false
	_ = img.Walk(func(f File) error {
		if f.Path == path {
			found, ok = f, true
			return fs.SkipAll
		}
		return nil
	})
	return found, ok
}

// ReadAt reads the file's bytes; holes are zero.
func (f File) ReadAt(p []byte, off int64) (int, error) {
	c := content{pages: f.node.pages, size: f.node.size}
	n, err := c.read(p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Bytes returns all bytes of the file.
func (f File) Bytes() ([]byte, error) {
	b := make([]byte, f.Size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// Pages returns the offsets, sorted, of the blocks of 4096 bytes that are not holes.
func (f File) Pages() []int64 {
	pages := f.node.filled()
	for i := range pages {
		pages[i] *= pageSize
	}
	return pages
}

// Same reports whether f and g are two names of one file.
func (f File) Same(g File) bool { return f.node == g.node }

// Sum returns the SHA-256 of the tree: names, types, permissions, links and bytes. A hole and
// zeroes are alike.
func (img *Image) Sum() [32]byte {
	img.once.Do(func() {
		h := sha256.New()
		seen := make(map[*node]uint64)
		img.root.hash(h, seen)
		h.Sum(img.sum[:0])
	})
	return img.sum
}

func (n *node) hash(h hash.Hash, seen map[*node]uint64) {
	if number, ok := seen[n]; ok {
		put(h, 1, number)
		return
	}
	seen[n] = uint64(len(seen))
	put(h, 0, uint64(n.mode), uint64(n.size), uint64(len(n.target)), uint64(len(n.entries)))
	io.WriteString(h, n.target)
	for _, index := range n.filled() {
		p := n.pages[index]
		if sum, ok := p.digest(); ok {
			put(h, 2, uint64(index))
			h.Write(sum[:])
		}
	}
	put(h, 3)
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		put(h, uint64(len(name)))
		io.WriteString(h, name)
		n.entries[name].hash(h, seen)
	}
}

func put(h hash.Hash, numbers ...uint64) {
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	h.Write(b)
}

// filled returns the indexes of the node's pages, sorted.
func (n *node) filled() []int64 { return slices.Sorted(maps.Keys(n.pages)) }

// sumOnce holds the digest of a page that no longer changes.
type sumOnce struct {
	p atomic.Pointer[[sha256.Size]byte]
}

// digest returns the page's SHA-256; ok is false if it is all zeroes. Only pages of images are
// asked: they never change.
func (p *page) digest() (sum [sha256.Size]byte, ok bool) {
	if known := p.sum.p.Load(); known != nil {
		return *known, *known != [sha256.Size]byte{}
	}
	var buf [pageSize]byte
	b, err := p.bytes(&buf)
	if err != nil {
		return sum, false
	}
	if !isZero(b[:]) {
		sum = sha256.Sum256(b[:])
	}
	p.sum.p.Store(&sum)
	return sum, sum != [sha256.Size]byte{}
}

func isZero(b []byte) bool { return bytes.Equal(b, noBytes[:len(b)]) }

// load fills an empty disk with the image.
func (d *Disk) load(img *Image) {
	inodes := map[*node]*inode{img.root: d.root}
	d.root.mode = img.root.mode
	var fill func(dir *inode, n *node)
	fill = func(dir *inode, n *node) {
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			child := n.entries[name]
			made := inodes[child]
			if made == nil {
				made = d.newInode(child.mode, d.root.owner)
				inodes[child] = made
				made.target = child.target
				made.live = content{pages: maps.Clone(child.pages), size: child.size}
				made.durable = content{pages: maps.Clone(child.pages), size: child.size}
				d.used += int64(len(child.pages))
			}
			dir.entries[name], dir.settled[name] = made, made
			made.links++
			made.pins++
			made.parent, made.name = dir, name
			if made.isDir() {
				fill(made, child)
			}
		}
	}
	fill(d.root, img.root)
}
