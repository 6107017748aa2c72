package powerfs

import "math/rand/v2"

// choice is what of one file's events survives.
type choice struct {
	s      *survival
	n      *inode
	rng    *rand.Rand
	events []*event // those that can survive: a truncation that does not survive takes all later events with it
	sure   []int64  // how many bytes of each certainly survive: whole64, 0, or those before the tear
	grown  int      // subsets: the writes before this one have let the file grow
	partly int64    // of the last of them, until here
}

// choice decides what is the same for all pages of n. Its random numbers are the file's own, so
// that one file does not depend on the order in which others are looked at.
func (s *survival) choice(n *inode) *choice {
	f := &choice{s: s, n: n, rng: rand.New(rand.NewPCG(s.seed, uint64(n.id)))}
	for _, e := range n.events {
		sure := int64(0)
		switch {
		case e.seq <= s.until, e.journaled() && f.journaled(e):
			sure = whole64
		case e == s.torn:
			sure = s.tear
		case e.journaled():
			f.grow()
			return f
		}
		f.events, f.sure = append(f.events, e), append(f.sure, sure)
	}
	f.grow()
	return f
}

// journaled reports whether a truncation that no prefix keeps survives.
func (f *choice) journaled(e *event) bool {
	if f.s.rule.Entries != Strict {
		return e.seq <= f.s.journal
	}
	return f.s.subset() && f.rng.IntN(2) == 0
}

// grow picks how many of the writes have let the file grow: the size is written out later than the
// pages, as on a file system that allocates late, and with the pages of a write that were written
// together. A page behind the size that was chosen is not seen, and one before it that did not
// survive is a hole.
func (f *choice) grow() {
	if !f.s.subset() {
		return
	}
	if f.s.pick != nil {
		if f.s.pick.grows(f.n) {
			f.grown = len(f.events)
		}
		f.partly = whole64
		return
	}
	f.grown, f.partly = version(f.rng, len(f.events)), whole64
	if f.grown == 0 {
		return
	}
	if e := f.events[f.grown-1]; e.kind == wrote && f.rng.IntN(2) == 0 {
		f.partly = boundary(f.rng, e, pageSize)
	}
}

// boundary picks how many bytes of a write lie before a boundary of units within it; with no
// boundary it is 0, which is as likely as each of them.
func boundary(rng *rand.Rand, e *event, unit int64) int64 {
	first := e.off/unit + 1 // behind the start
	inside := (e.off+e.n-1)/unit - first + 1
	if k := rng.Int64N(inside + 1); k > 0 {
		return (first+k-1)*unit - e.off
	}
	return 0
}

// version picks how many of n changes to something survive: none and all are the likely ones.
func version(rng *rand.Rand, n int) int {
	switch k := rng.IntN(5); {
	case k < 2 || n == 0:
		return 0
	case k < 4:
		return n
	}
	return rng.IntN(n + 1)
}

// startsFolded reports whether the events that were folded survive where no later event decides.
func (f *choice) startsFolded() bool {
	switch {
	case f.n.folded == 0:
		return false
	case f.s.subset():
		return f.rng.IntN(2) == 0
	}
	return f.n.folded <= f.s.until
}

func (f *choice) size() int64 {
	size := f.n.durable.size
	if f.startsFolded() {
		size = f.n.baseSize
	}
	for i, e := range f.events {
		limit := f.sure[i]
		switch {
		case i == f.grown-1:
			limit = max(limit, f.partly)
		case i < f.grown:
			limit = whole64
		}
		if limit > 0 {
			size = e.resizes(size, limit)
		}
	}
	return size
}

// page returns the page at index as it survives, nil for a hole.
func (f *choice) page(index int64) (*page, error) {
	var touching []int
	for i, e := range f.events {
		if e.touches(index) {
			touching = append(touching, i)
		}
	}
	kept := 0 // of touching, those that survive in this page
	switch {
	case f.s.subset() && f.s.pick != nil:
		kept = f.s.pick.version(f.n, index, f.events, touching)
	case f.s.subset():
		kept = version(f.rng, len(touching))
	}
	if kept == 0 && f.n.folded == 0 && !f.anySure(touching) {
		return f.n.durable.pages[index], nil
	}
	b, err := f.build(index, touching, kept)
	if err != nil {
		return nil, err
	}
	if f.s.rule.Survivors == Sectors && kept > 0 {
		if err := f.tear(b, index, touching, kept); err != nil {
			return nil, err
		}
	}
	if isZero(b[:]) {
		return nil, nil
	}
	return &page{data: b}, nil
}

func (f *choice) anySure(events []int) bool {
	for _, i := range events {
		if f.sure[i] > 0 {
			return true
		}
	}
	return false
}

// tear lets some sectors of b be as an earlier version of the page: the write-back that was under
// way.
func (f *choice) tear(b *[pageSize]byte, index int64, touching []int, kept int) error {
	version, mask := 0, uint32(0)
	switch k := f.s.pick; {
	case k == nil:
		version, mask = f.rng.IntN(kept), f.rng.Uint32()
	case k.file == f.n.id && k.part == tornPage && k.index == index:
		mask = k.mask
	default:
		return nil
	}
	older, err := f.build(index, touching, version)
	if err != nil {
		return err
	}
	for sector := range pageSize / sectorSize {
		if mask>>sector&1 == 0 {
			at := sector * sectorSize
			copy(b[at:at+sectorSize], older[at:])
		}
	}
	return nil
}

// build returns the page after its first kept events and all that certainly survive.
func (f *choice) build(index int64, touching []int, kept int) (*[pageSize]byte, error) {
	changed := kept > 0 || f.anySure(touching)
	start := f.n.durable.pages[index]
	if p, ok := f.n.base[index]; ok && (changed || f.startsFolded()) {
		start = p
	}
	var buf [pageSize]byte
	from, err := start.bytes(&buf)
	if err != nil {
		return nil, err
	}
	b := new([pageSize]byte)
	*b = *from
	for k, i := range touching {
		limit := f.sure[i]
		if k < kept {
			limit = whole64
		}
		if limit > 0 {
			f.events[i].applyPage(b, index, limit)
		}
	}
	return b, nil
}
