package workload

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// record is the number of a record: the n-th that was ever put into the store, from 0.
type record = uint32

// keySize is the length of a key in bytes.
const keySize = 16

// keyOrder says how the order of the keys and that of the records' numbers relate.
type keyOrder uint8

const (
	hashed    keyOrder = iota // no relation, so that new records come to lie all over the store, as YCSB has it
	ascending                 // the same, so that new records come to lie at the end
)

// key returns the key of a record's full number: 8 bytes that order it and 8 bytes that make it
// unique, big-endian.
func (o keyOrder) key(n uint64) (k [keySize]byte) {
	first, second := scatter(n), n
	if o == ascending {
		first, second = second, first
	}
	binary.BigEndian.PutUint64(k[:8], first)
	binary.BigEndian.PutUint64(k[8:], second)
	return k
}

// action is what one step does.
type action uint8

const (
	actRead   action = iota // get
	actUpdate               // put over what is there
	actInsert               // put what is not there
	actModify               // get and put in one transaction
	actScan                 // get several in the order of keys
	actDelete               // delete
)

// step is the input of one iteration.
type step struct {
	action  action
	record  record
	key     [keySize]byte
	version uint32 // what a read must find; a write writes the next, an insert this one
	count   uint32 // records that a scan asks for
	first   uint32 // position of the scan's first record in model.sorted
	live    record // records from this number on do not exist yet
}

// written returns the version that the step writes.
func (s *step) written() uint32 {
	if s.action == actInsert {
		return s.version
	}
	return s.version + 1
}

// model is what the store must hold.
type model struct {
	order    keyOrder
	base     uint64   // of the full numbers of its records, above 32 bits: another for each worker on one store
	versions []uint32 // of each record that was ever put, the last one written, from 1; or'ed with gone once deleted
	sorted   []place  // all of them by key; brought up to date by sort, where there are scans
	before   []uint32 // versions when the slice began, where a mix has both scans and updates; nil elsewhere
}

// place is a record in the order of keys.
type place struct {
	first  uint64 // the first half of the key
	record record
}

// gone marks the version of a deleted record. Records put again go on counting, so that no value
// comes twice.
const gone = 1 << 31

// live returns how many records were ever put, which is also the number of the next.
func (m *model) live() record { return record(len(m.versions)) }

// add puts the next record into the model and returns its number.
func (m *model) add() record {
	m.versions = append(m.versions, 1)
	return m.live() - 1
}

// sort brings sorted up to date.
func (m *model) sort() {
	if len(m.sorted) == len(m.versions) {
		return
	}
	for n := record(len(m.sorted)); n < m.live(); n++ {
		m.sorted = append(m.sorted, m.place(n))
	}
	slices.SortFunc(m.sorted, place.compare)
}

// key returns the key of a record.
func (m *model) key(n record) [keySize]byte { return m.order.key(m.base | uint64(n)) }

func (m *model) place(n record) place {
	key := m.key(n)
	return place{first: binary.BigEndian.Uint64(key[:]), record: n}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.first, q.first), cmp.Compare(p.record, q.record))
}

// position returns where n stands in sorted.
func (m *model) position(n record) uint32 {
	i, _ := slices.BinarySearchFunc(m.sorted, m.place(n), place.compare)
	return uint32(i)
}

// plan draws the steps of a slice and moves the model on to where they lead.
type plan struct {
	mix   mix
	rand  *rand.Rand
	pick  picker
	model model
	steps []step
	dealt []action // of the steps
	walk  uint32   // where readseq goes on, a position in model.sorted
	lost  []record // deleted by the last slice
}

// draw fills steps with the inputs of the next n iterations.
func (p *plan) draw(n int) {
	p.steps = slices.Grow(p.steps[:0], n)[:n]
	switch {
	case p.mix.walks:
		p.drawWalk()
		return
	case p.mix.deletes:
		p.drawDeletes()
		return
	}
	p.deal(n)
	if p.mix.scan > 0 && p.mix.update+p.mix.modify > 0 {
		p.model.before = append(p.model.before[:0], p.model.versions...)
	}
	for i := range p.steps {
		p.steps[i] = p.one(p.dealt[i])
	}
	if p.mix.scan == 0 {
		return
	}
	p.model.sort()
	for i := range p.steps {
		if s := &p.steps[i]; s.action == actScan {
			s.first = p.model.position(s.record)
		}
	}
}

// deal draws the actions of n steps: of each phase in turn, if there are any.
func (p *plan) deal(n int) {
	p.dealt = p.dealt[:0]
	if len(p.mix.phases) == 0 {
		p.dealMix(p.mix, n)
	}
	for len(p.dealt) < n {
		for _, phase := range p.mix.phases {
			p.dealMix(phase.mix, min(phase.iterations, n-len(p.dealt)))
		}
	}
}

// dealMix draws n actions of a mix: in every cycle each is there in its proportion, in any order,
// so that it is in every whole number of cycles. What is left is some of another cycle.
func (p *plan) dealMix(m mix, n int) {
	cycle := m.cycle()
	deck := make([]action, 0, cycle)
	for a, percent := range m.parts() {
		deck = append(deck, slices.Repeat([]action{action(a)}, percent*cycle/100)...)
	}
	for ; n > 0; n -= cycle {
		p.rand.Shuffle(cycle, func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		p.dealt = append(p.dealt, deck[:min(cycle, n)]...)
	}
}

// one draws one step of a mix that does a.
func (p *plan) one(a action) step {
	m, s := &p.model, step{action: a}
	switch a {
	case actInsert:
		s.record = m.add()
	case actScan:
		s.count = 1 + p.rand.Uint32N(cmp.Or(p.mix.longest, maxScan))
	}
	if s.action != actInsert {
		s.record = record(p.pick.pick(p.rand, uint64(m.live())))
	}
	s.key, s.version, s.live = m.key(s.record), m.versions[s.record], m.live()
	if s.action == actUpdate || s.action == actModify {
		m.versions[s.record]++
	}
	return s
}

// drawWalk draws scans that go through the store in the order of keys, each from where the one
// before it ended.
func (p *plan) drawWalk() {
	m := &p.model
	m.sort()
	for i := range p.steps {
		if int(p.walk)+maxScan > len(m.sorted) {
			p.walk = 0
		}
		n := m.sorted[p.walk].record
		p.steps[i] = step{action: actScan, record: n, key: m.key(n), count: maxScan, first: p.walk, live: m.live()}
		p.walk += maxScan
	}
}

// drawDeletes draws deletions of different records. There are as many records, because refill has
// run.
func (p *plan) drawDeletes() {
	m := &p.model
	shuffled := p.lost[:0]
	for n := range m.live() {
		shuffled = append(shuffled, n)
	}
	for i := range p.steps {
		j := i + p.rand.IntN(len(shuffled)-i)
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		n := shuffled[i]
		p.steps[i] = step{action: actDelete, record: n, key: m.key(n), version: m.versions[n], live: m.live()}
		m.versions[n] |= gone
	}
	p.lost = shuffled[:len(p.steps)]
}

// refill returns the records that must be put before the next n deletions: those that the last
// slice deleted, and new ones where a slice deletes more than there are.
func (p *plan) refill(n int) []record {
	for _, r := range p.lost {
		p.model.versions[r] = p.model.versions[r]&^gone + 1
	}
	missing := p.lost
	for int(p.model.live()) < n {
		missing = append(missing, p.model.add())
	}
	p.lost = nil
	return missing
}
