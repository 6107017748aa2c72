package powerfs

import "slices"

// A history is what was done to a disk, as a list. Every question about the disk is answered by
// doing the list over again, leaving out what is not to be: slow, and made like nothing in the
// disk. Files and folders are numbers, the root is 1. Each call has a number of its own, from 1.
type history struct {
	acts  []act
	now   int // number of the last call
	kinds []uint32
}

type act struct {
	at     int
	kind   actKind
	file   int // what is written, cut, cleared or synced
	off, n int // resized: n is the size
	data   []byte
	sets   []set
	folder bool // a folder is moved
	clears bool // of a write: zeroes in a part of a page, which let no file grow
}

type actKind uint8

const (
	writing actKind = iota
	resizing
	clearing
	entering // sets entries
	syncing
	failing // a sync that failed
)

// set lets an entry be a file, or nothing if that is 0.
type set struct {
	entry
	to int
}

type entry struct {
	dir  int
	name string
}

const (
	top  = 1        // the root
	room = 6 * 4096 // no file is longer
	all  = room     // of an act: all of it
)

// keep says how many bytes of a write are done, and of anything else whether it is done.
type keep func(act) int

func everything(act) int { return all }

func (h *history) add(a act) {
	a.at = h.now
	h.acts = append(h.acts, a)
}

// make returns the number of something new.
func (h *history) make(mode uint32) int {
	h.kinds = append(h.kinds, mode)
	return len(h.kinds)
}

func (h *history) mode(n int) uint32 { return h.kinds[n-1] }

// entries returns what names there are.
func (h *history) entries(k keep) map[entry]int {
	tree := make(map[entry]int)
	for _, a := range h.acts {
		if a.kind != entering || k(a) == 0 {
			continue
		}
		for _, s := range a.sets {
			delete(tree, s.entry)
			if s.to != 0 {
				tree[s.entry] = s.to
			}
		}
	}
	return tree
}

// size returns how long the file is.
func (h *history) size(file int, k keep) int {
	size := 0
	for _, a := range h.acts {
		if a.file != file {
			continue
		}
		switch done := min(k(a), len(a.data)); {
		case a.kind == writing && done > 0 && !a.clears:
			size = max(size, a.off+done)
		case a.kind == resizing && k(a) > 0:
			size = a.n
		}
	}
	return size
}

// bytes returns what the file holds, with zeroes behind its end.
func (h *history) bytes(file int, k keep) []byte {
	b := make([]byte, room)
	for _, a := range h.acts {
		if a.file != file || k(a) == 0 {
			continue
		}
		switch a.kind {
		case writing:
			copy(b[a.off:], a.data[:min(k(a), len(a.data))])
		case resizing:
			clear(b[a.n:])
		case clearing:
			clear(b[a.off:min(a.off+a.n, room)])
		}
	}
	return b
}

// content returns what of the file can be read.
func (h *history) content(file int, k keep) []byte { return h.bytes(file, k)[:h.size(file, k)] }

// lastSync returns the number of the last sync of file that did not fail.
func (h *history) lastSync(file int) int {
	last := 0
	for _, a := range h.acts {
		if a.kind == syncing && a.file == file {
			last = a.at
		}
	}
	return last
}

// committed returns the number of the sync until which one journal is durable: the last one of
// something with metadata that none before had committed.
func (h *history) committed() int {
	last := 0
	for _, s := range h.acts {
		if s.kind != syncing {
			continue
		}
		for i, a := range h.acts {
			before := &history{acts: h.acts[:i]}
			if last < a.at && a.at < s.at && before.isMetadata(a, s.file) {
				last = s.at
				break
			}
		}
	}
	return last
}

// isMetadata reports whether an act that follows this history changes metadata of n: the names or
// entries, the size, or the blocks.
func (h *history) isMetadata(a act, n int) bool {
	switch {
	case a.kind == entering:
		tree := h.entries(everything)
		return slices.ContainsFunc(a.sets, func(s set) bool { return s.dir == n || s.to == n || tree[s.entry] == n })
	case a.file != n || !a.onFile():
		return false
	case a.kind != writing:
		return true
	}
	synced := until(h.lastSync(n))
	blocks, end := h.blocks(n, synced), a.off+a.n
	for page := a.off / pageSize; page*pageSize < end; page++ {
		if !blocks[page] {
			return true
		}
	}
	return end > h.size(n, everything) || end > h.size(n, synced)
}

// blocks returns the pages of a file that are no holes.
func (h *history) blocks(file int, k keep) map[int]bool {
	blocks := make(map[int]bool)
	for i, a := range h.acts {
		if a.file != file || !a.onFile() || k(a) == 0 {
			continue
		}
		from, end := a.off, a.off+a.n
		switch size := (&history{acts: h.acts[:i]}).size(file, k); a.kind {
		case writing:
			for page := from / pageSize; page*pageSize < end; page++ {
				blocks[page] = true
			}
			continue
		case resizing:
			from, end = a.n, room
		case clearing:
			if end >= size {
				end = room
			}
		}
		for page := range blocks {
			if from <= page*pageSize && (page+1)*pageSize <= end {
				delete(blocks, page)
			}
		}
	}
	return blocks
}

// resize cuts a file or lets it grow. The rest of a page that is cut is cleared as data.
func (h *history) resize(file, size int) {
	if rest := size % pageSize; rest > 0 {
		h.clearPart(file, size, size-rest+pageSize)
	}
	h.add(act{kind: resizing, file: file, n: size})
}

// clear clears what it has of parts of pages as data, then makes a hole of the whole ones.
func (h *history) clear(file, off, n int) {
	var whole []int
	for page := off / pageSize; page*pageSize < off+n; page++ {
		from, end := max(off, page*pageSize), min(off+n, (page+1)*pageSize)
		if end-from < pageSize {
			h.clearPart(file, from, end)
		} else {
			whole = append(whole, from)
		}
	}
	for _, from := range whole {
		h.add(act{kind: clearing, file: file, off: from, n: pageSize})
	}
}

func (h *history) clearPart(file, from, end int) {
	if end = min(end, h.size(file, everything)); from < end && h.blocks(file, everything)[from/pageSize] {
		h.add(act{kind: writing, file: file, off: from, n: end - from, data: make([]byte, end-from), clears: true})
	}
}

func (a act) onFile() bool    { return a.kind <= clearing }
func (a act) journaled() bool { return a.kind == resizing || a.kind == clearing }

// strict returns the numbers of the acts on entries that are durable where each needs a sync of its
// folder: those on the folder's entries, and what they stand upon.
func (h *history) strict() map[int]bool {
	durable := make(map[int]bool)
	for _, s := range h.acts {
		if s.kind != syncing || h.mode(s.file) != ModeDir {
			continue
		}
		for _, a := range h.acts {
			if a.at < s.at && a.kind == entering && a.in(s.file) {
				durable[a.at] = true
			}
		}
		h.close(durable)
	}
	return durable
}

func (a act) in(dir int) bool {
	for _, s := range a.sets {
		if s.dir == dir {
			return true
		}
	}
	return false
}

// logged returns the numbers of the acts on entries that are durable where the sync of a file
// carries its own names: those, the names of the folders above it that nothing else had made
// durable, what they stand upon, and what the syncs of folders make durable.
func (h *history) logged() map[int]bool {
	durable := make(map[int]bool)
	for i, s := range h.acts {
		if s.kind != syncing {
			continue
		}
		before := &history{acts: h.acts[:i], kinds: h.kinds}
		for at := range before.strict() {
			durable[at] = true
		}
		tree := before.entries(everything)
		if s.file != top && len(foldersIn(tree, s.file)) == 0 {
			continue // it has no name any more
		}
		carried := map[int]bool{s.file: true}
		for next := foldersIn(tree, s.file); len(next) > 0; next = next[1:] {
			if made := before.makerOf(next[0]); made > 0 && !durable[made] {
				carried[next[0]] = true
			}
			next = append(next, foldersIn(tree, next[0])...)
		}
		for k, a := range before.acts {
			if a.kind == entering && a.names(carried, (&history{acts: h.acts[:k]}).entries(everything)) {
				durable[a.at] = true
			}
		}
		before.close(durable)
	}
	for at := range h.strict() {
		durable[at] = true
	}
	return durable
}

// foldersIn returns the folders in which n has a name.
func foldersIn(tree map[entry]int, n int) (list []int) {
	for e, to := range tree {
		if to == n {
			list = append(list, e.dir)
		}
	}
	return list
}

// makerOf returns the number of the act that made a folder, 0 for the root.
func (h *history) makerOf(dir int) int {
	for _, a := range h.acts {
		if a.kind == entering && a.sets[0].to == dir && len(a.sets) == 1 {
			return a.at
		}
	}
	return 0
}

// names reports whether the act gives one of the files a name, or takes one away that it has in the
// tree.
func (a act) names(of map[int]bool, tree map[entry]int) bool {
	for _, s := range a.sets {
		if of[s.to] || s.to == 0 && of[tree[s.entry]] {
			return true
		}
	}
	return false
}

// close adds what the acts stand upon: every earlier one that sets an entry that they set, and for
// a moved folder every earlier move of a folder.
func (h *history) close(chosen map[int]bool) {
	for grown := true; grown; {
		grown = false
		for i, a := range h.acts {
			for _, earlier := range h.acts[:i] {
				if chosen[a.at] && !chosen[earlier.at] && a.standsOn(earlier) {
					chosen[earlier.at], grown = true, true
				}
			}
		}
	}
}

func (a act) standsOn(earlier act) bool {
	if a.kind != entering || earlier.kind != entering {
		return false
	}
	for _, s := range a.sets {
		for _, e := range earlier.sets {
			if s.entry == e.entry {
				return true
			}
		}
	}
	return a.folder && earlier.folder
}
