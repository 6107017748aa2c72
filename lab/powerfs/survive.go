package powerfs

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Image returns what a power cut at this moment leaves under the rule. The same crash, rule and
// seed give the same image. Nothing and Everything leave no choice: the seed does not matter.
func (c *Crash) Image(r Rule, seed uint64) *Image {
	s := &survival{d: c.d, rule: r, seed: seed, nodes: make(map[*inode]*node)}
	s.rng = rand.New(rand.NewPCG(seed, 0))
	if r.Survivors != Everything {
		s.choose()
	}
	img := &Image{root: s.node(c.d.root)}
	img.err = s.err
	return img
}

// survival is the making of one image. It only reads the disk, so that several can be made at once.
type survival struct {
	d       *Disk
	rule    Rule
	seed    uint64
	rng     *rand.Rand
	pick    *selection                   // what is chosen in place of random numbers
	until   uint64                       // Prefix: changes until this one survive
	torn    *event                       // Prefix: of this write, tear bytes survive too
	tear    int64                        //
	journal uint64                       // but for Strict: metadata until this one survives
	entries map[*inode]map[string]*inode // folders that surviving operations have changed
	nodes   map[*inode]*node
	err     error
}

// choose makes the choices that concern several files: the moment of a prefix, and the entry
// operations that survive.
func (s *survival) choose() {
	if s.rule.Survivors == Prefix {
		s.choosePrefix()
	}
	s.entries = make(map[*inode]map[string]*inode)
	if s.rule.Entries == Strict {
		s.chooseStrict()
		return
	}
	s.journal = max(s.committed(), s.until)
	switch {
	case s.subset() && s.pick != nil:
		s.journal = s.pick.journal
	case s.subset():
		s.journal = s.choosePoint(s.pendingMetadata())
	}
	take := func(o *op) bool { return o.seq <= s.journal || s.isLogged(o) }
	if s.rule.Entries == Ordered { // what an operation depends on came before it
		for _, o := range s.d.journal {
			if take(o) {
				s.do(o)
			}
		}
		return
	}
	s.doAll(take)
}

// doAll applies the operations that are wanted, and those that they depend on.
func (s *survival) doAll(wanted func(*op) bool) {
	for i, chosen := range closure(s.d.journal, wanted) {
		if chosen {
			s.do(s.d.journal[i])
		}
	}
}

// committed returns until where the journal is durable.
func (s *survival) committed() uint64 {
	if s.rule.Entries == PerFile {
		return 0
	}
	return s.d.committed
}

func (s *survival) isLogged(o *op) bool { return s.rule.Entries == PerFile && o.logged }

func (s *survival) subset() bool { return s.rule.Survivors == Pages || s.rule.Survivors == Sectors }

func (s *survival) chooseStrict() {
	take := func(o *op) bool { return o.seq <= s.until }
	if s.subset() {
		take = func(*op) bool { return s.rng.IntN(2) == 0 }
	}
	s.doAll(take)
}

// do applies an operation to the entries of the image.
func (s *survival) do(o *op) {
	for _, c := range o.changes {
		entries := s.entries[c.dir]
		if entries == nil {
			entries = make(map[string]*inode, len(c.dir.settled)+1)
			for name, n := range c.dir.settled {
				entries[name] = n
			}
			s.entries[c.dir] = entries
		}
		if c.to == nil {
			delete(entries, c.name)
		} else {
			entries[c.name] = c.to
		}
	}
}

// pendingMetadata returns the operations that the journal has not committed, truncations included,
// by number.
func (s *survival) pendingMetadata() []uint64 {
	var pending []uint64
	for _, o := range s.d.journal {
		if o.seq > s.committed() && !s.isLogged(o) {
			pending = append(pending, o.seq)
		}
	}
	for _, e := range s.d.order {
		if !e.dead && e.journaled() && e.seq > s.committed() {
			pending = append(pending, e.seq)
		}
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

// choosePoint returns the last of a random prefix of the pending operations.
func (s *survival) choosePoint(pending []uint64) uint64 {
	if i := s.rng.IntN(len(pending) + 1); i > 0 {
		return pending[i-1]
	}
	return s.committed()
}

// choosePrefix picks the moment until which everything survives, and how much of the write after it
// does.
func (s *survival) choosePrefix() {
	pending, writes := s.pendingAll()
	if s.pick != nil {
		s.until, s.torn, s.tear = s.pick.until, writes[s.pick.torn], s.pick.tear
		return
	}
	i := s.rng.IntN(len(pending) + 1)
	if i > 0 {
		s.until = pending[i-1]
	}
	if i == len(pending) || i == 0 && s.d.hasFolded() {
		return
	}
	if s.torn = writes[pending[i]]; s.torn != nil {
		s.tear = boundary(s.rng, s.torn, sectorSize)
	}
}

// pendingAll returns the changes that are not durable, by number, and those of them that are
// writes.
func (s *survival) pendingAll() (pending []uint64, writes map[uint64]*event) {
	writes = make(map[uint64]*event)
	for _, e := range s.d.order {
		if e.dead {
			continue
		}
		pending = append(pending, e.seq)
		if e.kind == wrote && !e.clears {
			writes[e.seq] = e
		}
	}
	for _, o := range s.d.journal {
		if s.rule.Entries == Strict || o.seq > s.committed() && !s.isLogged(o) {
			pending = append(pending, o.seq)
		}
	}
	slices.Sort(pending)
	return slices.Compact(pending), writes
}

func (d *Disk) hasFolded() bool {
	for _, n := range d.inodes {
		if n.folded > 0 {
			return true
		}
	}
	return false
}

// node returns the image's node for an inode, the same for all its names.
func (s *survival) node(n *inode) *node {
	if made := s.nodes[n]; made != nil {
		return made
	}
	made := &node{mode: n.mode, target: n.target}
	s.nodes[n] = made
	switch n.mode & ModeType {
	case ModeDir:
		made.entries = make(map[string]*node)
		for name, child := range s.entriesOf(n) {
			made.entries[name] = s.node(child)
		}
	case ModeFile:
		made.size, made.pages = s.contentOf(n)
	}
	return made
}

func (s *survival) entriesOf(dir *inode) map[string]*inode {
	if s.rule.Survivors == Everything {
		return dir.entries
	}
	if entries, ok := s.entries[dir]; ok {
		return entries
	}
	return dir.settled
}

func (s *survival) contentOf(n *inode) (size int64, pages map[int64]*page) {
	switch {
	case s.rule.Survivors == Everything:
		return n.live.size, n.live.pages
	case len(n.events) == 0 && n.folded == 0:
		return n.durable.size, n.durable.pages
	}
	f := s.choice(n)
	size = f.size()
	pages = make(map[int64]*page, len(n.durable.pages))
	for index, p := range n.durable.pages {
		pages[index] = p
	}
	dirty := make([]int64, 0, len(n.dirty))
	for index := range n.dirty {
		dirty = append(dirty, index)
	}
	slices.Sort(dirty) // the choices depend on the order
	for _, index := range dirty {
		p, err := f.page(index)
		if err != nil && s.err == nil {
			s.err = err
		}
		if p == nil {
			delete(pages, index)
		} else {
			pages[index] = p
		}
	}
	if err := clip(pages, size); err != nil && s.err == nil {
		s.err = err
	}
	return size, pages
}

// clip removes what lies behind the size.
func clip(pages map[int64]*page, size int64) error {
	for index, p := range pages {
		keep := size - index*pageSize
		if keep >= pageSize {
			continue
		}
		delete(pages, index)
		if keep <= 0 {
			continue
		}
		var buf [pageSize]byte
		b, err := p.bytes(&buf)
		if err != nil {
			return err
		}
		if isZero(b[keep:]) {
			pages[index] = p
			continue
		}
		cut := &page{data: new([pageSize]byte)}
		copy(cut.data[:keep], b[:])
		pages[index] = cut
	}
	return nil
}

const whole64 = math.MaxInt64 // all bytes of a write
