package powerfs

import "strings"

// chronicle writes down in a history what it is told to do, by path.
type chronicle struct{ history }

// newChronicle begins with what begin does.
func newChronicle() *chronicle {
	c := &chronicle{}
	c.make(ModeDir)
	begin(c)
	return c
}

// split returns a history in which a rename into another folder is two acts.
func (h *history) split() *history {
	s := &history{now: 2*h.now + 1, kinds: h.kinds}
	for _, a := range h.acts {
		a.at *= 2
		if a.kind == entering && len(a.sets) == 2 && a.sets[0].dir != a.sets[1].dir {
			gone := a
			gone.sets, a.sets = a.sets[:1], a.sets[1:]
			s.acts = append(s.acts, a)
			gone.at++
			a = gone
		}
		s.acts = append(s.acts, a)
	}
	return s
}

func (c *chronicle) at(path string) entry {
	dir, tree := top, c.entries(everything)
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			return entry{dir, name}
		}
		dir, path = tree[entry{dir, name}], rest
	}
}

func (c *chronicle) number(path string) int {
	if path == "" {
		return top
	}
	return c.entries(everything)[c.at(path)]
}

func (c *chronicle) did(a act) {
	c.now++
	c.add(a)
}

func (c *chronicle) enter(path string, n int) {
	c.did(act{kind: entering, sets: []set{{c.at(path), n}}})
}
func (c *chronicle) create(path string)   { c.enter(path, c.make(ModeFile)) }
func (c *chronicle) mkdir(path string)    { c.enter(path, c.make(ModeDir)) }
func (c *chronicle) link(from, to string) { c.enter(to, c.number(from)) }
func (c *chronicle) unlink(path string)   { c.enter(path, 0) }
func (c *chronicle) rmdir(path string)    { c.enter(path, 0) }
func (c *chronicle) sync(path string)     { c.did(act{kind: syncing, file: c.number(path)}) }

func (c *chronicle) write(path string, off int64, data string) {
	c.did(act{kind: writing, file: c.number(path), off: int(off), n: len(data), data: []byte(data)})
}

func (c *chronicle) truncate(path string, size int64) {
	c.now++
	c.resize(c.number(path), int(size))
}

func (c *chronicle) allocate(path string, off, n int64) {
	if file := c.number(path); int(off+n) > c.size(file, everything) {
		c.did(act{kind: resizing, file: file, n: int(off + n)})
	}
}

func (c *chronicle) punch(path string, off, n int64) {
	c.now++
	c.clear(c.number(path), int(off), int(n))
}

func (c *chronicle) rename(from, to string) {
	n := c.number(from)
	c.did(act{kind: entering, sets: []set{{c.at(from), 0}, {c.at(to), n}}, folder: c.mode(n) == ModeDir})
}
