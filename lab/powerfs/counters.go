package powerfs

import (
	"maps"
	"path"
	"strings"
)

// Counters count what was asked of the disk, leaving out what a fault or the cut refused.
type Counters struct {
	Writes  int64 // calls and write-backs
	Bytes   int64 // written
	Syncs   int64 // of files and folders
	Creates int64 // files, folders, links
	Renames int64
	Removes int64
}

// Sub returns c - o: what was counted since o.
func (c Counters) Sub(o Counters) Counters {
	return Counters{c.Writes - o.Writes, c.Bytes - o.Bytes, c.Syncs - o.Syncs,
		c.Creates - o.Creates, c.Renames - o.Renames, c.Removes - o.Removes}
}

type counts struct {
	total  Counters
	byKind map[string]*Counters
}

// count lets add change the counters of all files and of n's kind.
func (d *Disk) count(n *inode, add func(*Counters)) {
	add(&d.counts.total)
	kind := kindOf(n)
	c := d.counts.byKind[kind]
	if c == nil {
		if d.counts.byKind == nil {
			d.counts.byKind = make(map[string]*Counters)
		}
		c = new(Counters)
		d.counts.byKind[kind] = c
	}
	add(c)
}

// kindOf returns what files of one purpose have in common: the extension, or the name without the
// number at its end, or "/" for a folder.
func kindOf(n *inode) string {
	if n.isDir() {
		return "/"
	}
	if ext := path.Ext(n.name); len(ext) > 1 && strings.Trim(ext[1:], "0123456789") != "" {
		return ext
	}
	if kind := strings.TrimRight(n.name, "0123456789.-_"); kind != "" {
		return kind
	}
	return n.name
}

// Counters returns the totals.
func (d *Disk) Counters() Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts.total
}

// CountersByKind returns the counters by kind of file: the extension with its dot, or the name
// without a number at its end if it has none; "/" are folders.
func (d *Disk) CountersByKind() map[string]Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	kinds := make(map[string]Counters, len(d.counts.byKind))
	for kind := range maps.Keys(d.counts.byKind) {
		kinds[kind] = *d.counts.byKind[kind]
	}
	return kinds
}
