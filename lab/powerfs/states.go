package powerfs

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// State is one state that a rule allows after a cut: Nothing and Everything leave one, of the
// others it says which changes survive, or the seed of a random choice.
type State struct {
	Rule
	seed uint64
	pick *selection
	kill int64 // of the write under way, so many bytes are done, and all before it
}

// selection is a choice that was not made at random.
type selection struct {
	name    string
	all     bool // what is not named survives, or does not
	file    ID   // the one that is treated otherwise; 0 is none
	index   int64
	event   uint64 // of the file; 0 is none
	part    part
	mask    uint32 // of a torn page, its new sectors
	journal uint64 // metadata until this operation survives
	until   uint64 // of a prefix
	torn    uint64
	tear    int64
}

// part is what of a file is treated otherwise.
type part uint8

const (
	noPart    part = iota
	wholeFile      // its pages and size
	sizeAlone
	onePage
	oneEvent
	tornPage
)

// String names the state in words: "ordered/pages, all but page 3 of wal".
func (s State) String() string {
	switch {
	case s.pick != nil:
		return s.Rule.String() + ", " + s.pick.name
	case s.kill > 0:
		return fmt.Sprintf("the first %d bytes of a write", s.kill)
	case s.Survivors == Nothing || s.Survivors == Everything:
		return s.Rule.String()
	}
	return fmt.Sprintf("%s, at random by %d", s.Rule, s.seed)
}

// Sort says in a word how the state was chosen: states of one sort often show the same.
func (s State) Sort() string {
	switch k := s.pick; {
	case s.kill > 0:
		return "kill"
	case k == nil && (s.Survivors == Nothing || s.Survivors == Everything):
		return s.Survivors.String()
	case k == nil:
		return "random"
	case s.Survivors == Prefix:
		return "prefix"
	case k.file == 0:
		return "metadata"
	case k.part == tornPage:
		return "torn"
	case k.part == wholeFile || k.part == sizeAlone:
		return "file"
	case k.all:
		return "without one change"
	}
	return "one change alone"
}

// Torn reports whether it is the state of one page of which some sectors are as they were, or of a
// write of which the first sectors are all that is there.
func (s State) Torn() bool { return s.pick != nil && (s.pick.part == tornPage || s.pick.tear > 0) }

// Random returns one of the states that a rule allows, by a seed.
func Random(r Rule, seed uint64) State { return State{Rule: r, seed: seed} }

// version returns how many of the events that touch a page survive in it.
func (k *selection) version(n *inode, index int64, events []*event, touching []int) int {
	kept := 0
	if k.all {
		kept = len(touching)
	}
	if k.file != n.id {
		return kept
	}
	switch k.part {
	case wholeFile:
		return len(touching) - kept
	case onePage:
		if index == k.index {
			return len(touching) - kept
		}
	case tornPage:
		if index == k.index {
			return len(touching)
		}
	case oneEvent:
		for i, j := range touching {
			if events[j].seq != k.event {
				continue
			}
			if k.all {
				return i
			}
			return i + 1
		}
	}
	return kept
}

// grows reports whether the size that writes have given a file survives.
func (k *selection) grows(n *inode) bool {
	switch {
	case k.file != n.id || k.part == noPart:
		return k.all
	case k.part == wholeFile || k.part == sizeAlone:
		return !k.all
	}
	return true
}

// Image returns the state as a tree of files.
func (p *Player) Image(s State) (*Image, error) {
	made := &survival{d: p.disk, rule: s.Rule, seed: s.seed, pick: s.pick, nodes: make(map[*inode]*node)}
	made.rng = rand.New(rand.NewPCG(s.seed, 0))
	if s.Survivors != Everything {
		made.choose()
	}
	if s.kill > 0 {
		p.writeInPart(made, s.kill)
	}
	img := p.finish(made)
	return img, img.err
}

// writeInPart lets the file of the next operation have the first bytes of it.
func (p *Player) writeInPart(s *survival, bytes int64) {
	w := &p.tape.steps[p.at]
	n := p.disk.inodes[w.wrote]
	c := content{pages: make(map[int64]*page, len(n.live.pages)), size: n.live.size}
	for index, pg := range n.live.pages {
		p.disk.pool.hold(pg)
		c.pages[index] = pg
	}
	s.err = c.write(&p.disk.pool, w.off, w.data[:bytes])
	s.nodes[n] = &node{mode: n.mode, pages: c.pages, size: c.size}
}

// Killed returns the states that a kill -9 may leave before the next operation, and within it if it
// is a write: a signal ends that between two pages.
func (p *Player) Killed(rng *rand.Rand) []State {
	states := []State{{Rule: Rule{Ordered, Everything}}}
	if p.at >= len(p.tape.steps) {
		return states
	}
	w := &p.tape.steps[p.at]
	if w.wrote == 0 || w.Cache {
		return states
	}
	var ends []int64
	for at := (w.off/pageSize + 1) * pageSize; at < w.off+int64(len(w.data)); at += pageSize {
		ends = append(ends, at-w.off)
	}
	for _, i := range some(rng, len(ends), mostPicks) {
		states = append(states, State{Rule: Rule{Ordered, Everything}, kill: ends[i]})
	}
	return states
}

// mostPicks bounds how many single changes of a kind get states of their own at one moment.
const mostPicks = 8

// some returns up to most of the numbers below n: the first, the last and some at random.
func some(rng *rand.Rand, n, most int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if n <= most {
		return all
	}
	rng.Shuffle(n-2, func(i, j int) { all[i+1], all[j+1] = all[j+1], all[i+1] })
	all[most-1] = all[n-1]
	all = all[:most]
	slices.Sort(all)
	return all
}

// States returns states that a cut before the next operation may leave: nothing, everything, and,
// with every change that is not durable in turn, states without it and with it alone. Where there
// are many changes some are chosen at random, and random states are added.
func (p *Player) States(e Entries, rng *rand.Rand) []State {
	states := []State{{Rule: Rule{e, Nothing}}, {Rule: Rule{e, Everything}}}
	if p.settled() {
		return states[:1]
	}
	states = append(states, p.prefixes(e, rng)...)
	if e != Strict {
		for _, k := range p.picks(e, rng) {
			rule := Rule{e, Pages}
			if k.part == tornPage {
				rule.Survivors = Sectors
			}
			states = append(states, State{Rule: rule, pick: &k})
		}
	}
	for _, survivors := range []Survivors{Pages, Sectors} {
		for range 2 {
			states = append(states, State{Rule: Rule{e, survivors}, seed: rng.Uint64()})
		}
	}
	return states
}

// settled reports whether nothing is pending.
func (p *Player) settled() bool { return (&Crash{p.disk}).Pending() == 0 }

// prefixes returns moments until which everything survives, some with a part of the next write.
func (p *Player) prefixes(e Entries, rng *rand.Rand) []State {
	s := &survival{d: p.disk, rule: Rule{e, Prefix}}
	pending, writes := s.pendingAll()
	var states []State
	for _, i := range some(rng, len(pending), mostPicks) {
		k := selection{until: pending[i]}
		k.name = fmt.Sprintf("until %d of %d changes", i+1, len(pending))
		states = append(states, State{Rule: s.rule, pick: &k})
		if w := writes[pending[i]]; w != nil {
			k := selection{torn: w.seq, tear: boundary(rng, w, sectorSize)}
			if i > 0 {
				k.until = pending[i-1]
			}
			k.name = fmt.Sprintf("until %d of %d changes and %d bytes", i, len(pending), k.tear)
			states = append(states, State{Rule: s.rule, pick: &k})
		}
	}
	return states
}

// picks returns the choices of single changes.
func (p *Player) picks(e Entries, rng *rand.Rand) []selection {
	s := &survival{d: p.disk, rule: Rule{Entries: e}}
	metadata, committed := s.pendingMetadata(), s.committed()
	last := committed
	if len(metadata) > 0 {
		last = metadata[len(metadata)-1]
	}
	picks := []selection{
		{name: "no data, all metadata", journal: last},
		{name: "all data, no metadata", journal: committed, all: true},
		{name: "all pages", journal: last, all: true},
	}
	for _, i := range some(rng, len(metadata), mostPicks) {
		name := fmt.Sprintf("metadata until %d of %d", i+1, len(metadata))
		picks = append(picks, selection{name: name + " without data", journal: metadata[i]},
			selection{name: name + " and all data", journal: metadata[i], all: true})
	}
	for _, n := range p.unsynced() {
		for _, k := range p.filePicks(n, rng) {
			k.journal, k.file = last, n.id
			k.name += " of " + n.path()
			picks = append(picks, k)
			k.all, k.name = true, "all but "+k.name
			picks = append(picks, k)
			if k.part == wholeFile {
				k.journal = committed
				k.name += ", no metadata"
				picks = append(picks, k)
			}
		}
	}
	return picks
}

// unsynced returns the files that a sync would write, those that were written last in front.
func (p *Player) unsynced() []*inode {
	var files []*inode
	for _, n := range p.disk.inodes {
		if len(n.events) > 0 && (n.links > 0 || n.pins > 0) {
			files = append(files, n)
		}
	}
	slices.SortFunc(files, func(a, b *inode) int {
		return int(int64(b.events[len(b.events)-1].seq) - int64(a.events[len(a.events)-1].seq))
	})
	return files[:min(len(files), mostPicks)]
}

// filePicks returns the choices of one file.
func (p *Player) filePicks(n *inode, rng *rand.Rand) []selection {
	picks := []selection{{name: "all", part: wholeFile}}
	if n.live.size != n.durable.size {
		picks = append(picks, selection{name: "the size", part: sizeAlone})
	}
	for _, i := range some(rng, len(n.events), mostPicks) {
		e := n.events[i]
		picks = append(picks, selection{name: fmt.Sprintf("change %d", i+1), part: oneEvent, event: e.seq})
	}
	var pages []int64
	for index := range n.dirty {
		pages = append(pages, index)
	}
	slices.Sort(pages)
	if len(pages) > 1 {
		// A page that was there before may be needed as it was: such ones get their half.
		var again, fresh []int64
		for _, index := range pages {
			if n.durable.pages[index] != nil {
				again = append(again, index)
			} else {
				fresh = append(fresh, index)
			}
		}
		for _, list := range [][]int64{again, fresh} {
			for _, i := range some(rng, len(list), mostPicks-min(len(again)+len(fresh)-len(list), mostPicks/2)) {
				picks = append(picks, selection{name: fmt.Sprintf("page %d", list[i]), part: onePage, index: list[i]})
			}
		}
	}
	torn := slices.DeleteFunc(pages, func(index int64) bool { return bits.OnesCount32(n.dirtySectors(index)) < 2 })
	for _, i := range some(rng, len(torn), mostPicks/2) {
		for _, mask := range tears(n.dirtySectors(torn[i]), rng) {
			name := fmt.Sprintf("sectors %08b of page %d", mask, torn[i])
			picks = append(picks, selection{name: name, part: tornPage, index: torn[i], mask: mask})
		}
	}
	return picks
}

// dirtySectors returns which sectors of the page at index a sync would write, one bit each: all of
// them where that was forgotten.
func (n *inode) dirtySectors(index int64) (mask uint32) {
	if _, folded := n.base[index]; folded {
		return 1<<(pageSize/sectorSize) - 1
	}
	for _, e := range n.events {
		mask |= e.sectors(index)
	}
	return mask
}

// tears returns some, and not all, of two or more sectors, in two ways: the first ones, and any.
func tears(changed uint32, rng *rand.Rand) [2]uint32 {
	first, left := uint32(0), changed
	for range 1 + rng.IntN(bits.OnesCount32(changed)-1) {
		low := left & -left
		first, left = first|low, left&^low
	}
	mixed := changed
	for mixed == changed || mixed == 0 {
		mixed = changed & rng.Uint32()
	}
	return [2]uint32{first, mixed}
}

// Some is States without single pages, sectors and random states: those that a fault before most
// often leads to.
func (p *Player) Some(e Entries, rng *rand.Rand) []State {
	var some []State
	for _, s := range p.States(e, rng) {
		random := s.pick == nil && s.Survivors != Nothing && s.Survivors != Everything
		if !random && (s.pick == nil || s.pick.part != onePage && s.pick.part != tornPage) {
			some = append(some, s)
		}
	}
	return some
}
