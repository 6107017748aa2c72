package prove

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
)

// The shape of a history. Each writer has keys of its own: accounts whose sum never changes, a
// counter of its commits, and the records of its last commits.
const (
	accounts   = 8
	opening    = 1000 // the balance that each account begins with
	maxRecords = 24   // commit n deletes the record of commit n-maxRecords
)

// mix makes one seed of several values, so that no two uses of a run's seed share their random
// numbers.
func mix(seed uint64, with ...any) uint64 {
	h := fnv.New64a()
	b := binary.BigEndian.AppendUint64(nil, seed)
	for _, w := range with {
		b = fmt.Appendf(b, "%v|", w)
	}
	_, _ = h.Write(b) // a hash's Write does not fail
	return h.Sum64()
}

// segment is a stretch of a writer's commits that were made under one salt.
type segment struct {
	Salt uint64
	UpTo uint64 // the last commit; 0 is open, and the last segment always is
}

// chain is a writer's segments in order. After a crash a new one begins at the commit that follows
// those which survived, and its salt makes all values differ from those that were there, or lost,
// before.
type chain []segment

// salt returns the salt of commit n.
func (c chain) salt(n uint64) uint64 {
	for _, s := range c {
		if n <= s.UpTo || s.UpTo == 0 {
			return s.Salt
		}
	}
	return 0
}

// from returns the chain whose commits after n are made under salt.
func (c chain) from(n, salt uint64) chain {
	var out chain
	for _, s := range c {
		if n == 0 {
			break
		}
		if s.UpTo == 0 || s.UpTo >= n {
			out = append(out, segment{s.Salt, n})
			break
		}
		out = append(out, s)
	}
	return append(out, segment{Salt: salt})
}

// next is from with a salt of its own: one that was used before would let values that come back
// look right.
func (c chain) next(n, salt uint64) chain {
	if slices.ContainsFunc(c, func(s segment) bool { return s.Salt == salt }) {
		panic(fmt.Sprintf("salt %d is used twice", salt))
	}
	return c.from(n, salt)
}

// op is one write of a commit; a nil value deletes, all keys up to another one if that is not
// empty.
type op struct {
	key   string
	value []byte
	until string
}

// work is what the commits of a history are like, beside their seed. The zero value is small
// commits alone.
type work struct {
	Sizes int           `json:",omitempty"` // index of recordSizes
	Batch int           `json:",omitempty"` // pairs of a large commit, of which there is one in seven; 0 is none
	Weak  kv.Durability `json:",omitempty"` // the class of every third commit, if it is not Synced
	// Loose is the class of two of six commits, if it is not Synced: behind them nothing holds when
	// power fails, until one is synced.
	Loose kv.Durability `json:",omitempty"`
	// Modest: what a writer commits behind an error is small, and shorter than what was refused.
	Modest bool `json:",omitempty"`
	// Bare: no synced commit that changes nothing follows a weaker one, so that the next one keeps
	// it.
	Bare bool `json:",omitempty"`
	// Further is the salt of commits that are small, made in a store that was found whole: of those
	// a large one takes most of the time that a state takes. 0 is none.
	Further uint64 `json:",omitempty"`
}

// class returns the class of commit n of a history that promises class.
func (k work) class(n uint64, class kv.Durability) kv.Durability {
	switch {
	case k.Weak != kv.Synced && n%3 == 1:
		return k.Weak
	case k.Loose != kv.Synced && n%looseEvery > 0 && n%looseEvery <= looseCommits:
		return k.Loose
	}
	return class
}

// Of so many commits the first ones are loose.
const (
	looseEvery   = 6
	looseCommits = 2
)

// The large commits: the first is small, so that creating a store stays short, and its pairs are
// deleted after some more.
const (
	batchEvery = 7
	batchLife  = 5
)

// pairs returns how many pairs commit n puts beside its own.
func (k work) pairs(n uint64) int {
	if k.Batch == 0 || n%batchEvery != 3 {
		return 0
	}
	return k.Batch
}

// modest reports whether a commit is small whatever its number says: it was made behind an error,
// or in a store that was found whole.
func (s *script) modest(by stamp) bool {
	return s.Modest && by.salt != s.salt || s.Further != 0 && by.salt == s.Further
}

// sizes returns the sizes of what a commit writes.
func (s *script) sizes(by stamp) int {
	if s.modest(by) {
		return len(recordSizes) - 1
	}
	return s.Sizes
}

// alone reports whether commit n writes its counter and nothing else, or clears: engines commit a
// single pair in ways of their own.
func (k work) alone(n uint64) bool { return n%batchEvery == 5 }

// clears reports whether commit n does nothing but delete what the one before it has put for it,
// by which it is known: its counter is that one's. One is made as a transaction, the next as a
// batch.
func (k work) clears(n uint64) bool {
	return k.alone(n) && (n/batchEvery%4 == 1 || n/batchEvery%4 == 2)
}

// recordSizes are sizes about which engines decide: empty, sectors, pages, log blocks of 32 KiB,
// buffers of 64 and 128 KiB, values of 1 MiB that Badger keeps apart, and more than a memtable of 4
// MiB holds after some of them.
var recordSizes = [][]int{
	1: {0, 0, 1, 60, 200, 511, 513, 1000, 4000, 4096, 4200, 9000, 16 << 10, 32<<10 - 20, 33 << 10, 66 << 10, 140 << 10},
	2: {0, 100, 300, 4096, 40 << 10, 300 << 10, 1<<20 - 100, 1<<20 + 5000, 2 << 20},
	3: {0, 1, 60}, // of modest commits
}

// stamp is the commit that wrote something last.
type stamp struct{ n, salt uint64 }

// script plays one writer's commits and knows what the store holds of it after each.
type script struct {
	work
	seed   uint64
	writer int
	salt   uint64 // of the first commit
	last   stamp  // the last commit that was played

	counted  stamp // the last one that wrote the counter
	balances [accounts]int64
	moved    [accounts]stamp
	records  map[uint64]stamp // by the number of the commit that first wrote it
	batches  map[uint64]stamp // by the number of the commit
}

func newScript(seed uint64, writer int) *script {
	return &script{seed: seed, writer: writer, records: map[uint64]stamp{}, batches: map[uint64]stamp{}}
}

// script returns the script of one of the past's writers, before its first commit.
func (p past) script(writer int) *script {
	s := newScript(p.Seed, writer)
	s.work = p.Work
	return s
}

// kept is how many records a writer has: fewer where they are large.
func (k work) kept() uint64 {
	if k.Sizes == 2 {
		return 5
	}
	return maxRecords
}

// commit is what one commit does, a function of the seed, the writer, the number and the salt.
type commit struct {
	stamp
	from, to int
	amount   int64
	rewrites uint64 // the number of a record, 0 for none
	deletes  uint64
	alone    bool // it writes its counter, nothing else, or deletes one pair
}

func (s *script) plan(n, salt uint64) commit {
	r := rand.New(rand.NewPCG(mix(s.seed, "commit", s.writer, n, salt), salt))
	c := commit{stamp: stamp{n, salt}, from: r.IntN(accounts), amount: 1 + r.Int64N(100)}
	c.to = (c.from + 1 + r.IntN(accounts-1)) % accounts
	if s.alone(n) {
		return commit{stamp: c.stamp, alone: true}
	}
	most := s.kept()
	if n > most && !s.alone(n-most) {
		c.deletes = n - most
	}
	if older := min(n, most) - 1; older > 0 {
		if c.rewrites = n - 1 - r.Uint64N(older); s.alone(c.rewrites) {
			c.rewrites = 0
		}
	}
	return c
}

// play applies the next commit.
func (s *script) play(salt uint64) commit {
	c := s.plan(s.last.n+1, salt)
	if c.n == 1 {
		s.salt = salt
		for i := range s.balances {
			s.balances[i], s.moved[i] = opening, c.stamp
		}
	}
	if s.last = c.stamp; !s.clears(c.n) {
		s.counted = c.stamp
	}
	if c.alone {
		return c
	}
	s.balances[c.from] -= c.amount
	s.balances[c.to] += c.amount
	s.moved[c.from], s.moved[c.to] = c.stamp, c.stamp
	s.records[c.n] = c.stamp
	if c.rewrites > 0 {
		s.records[c.rewrites] = c.stamp
	}
	delete(s.records, c.deletes)
	if s.pairs(c.n) > 0 && !s.modest(c.stamp) {
		s.batches[c.n] = c.stamp
	}
	if c.n > batchLife {
		delete(s.batches, c.n-batchLife)
	}
	return c
}

// playTo plays the commits up to n.
func (s *script) playTo(n uint64, c chain) {
	for s.last.n < n {
		s.play(c.salt(s.last.n + 1))
	}
}

// ops returns the writes of the commit that was played last. The two sides of its transfer are far
// apart, and the counter is between them, so that no part of it looks like a whole.
func (s *script) ops(c commit) []op {
	switch {
	case s.clears(c.n):
		return []op{{key: s.spareKey()}}
	case c.alone:
		return []op{{key: s.counterKey(), value: s.counter()}}
	}
	ops := []op{s.account(c.from), s.record(c.n), {key: s.counterKey(), value: s.counter()}}
	if s.clears(c.n + 1) { // without it the next one seems to be there
		ops = slices.Insert(ops, 0, s.spare())
	}
	if c.n == 1 {
		for i := range accounts {
			if i != c.from && i != c.to {
				ops = append(ops, s.account(i))
			}
		}
	}
	if c.deletes > 0 {
		ops = append(ops, op{key: s.recordKey(c.deletes)})
	}
	if c.rewrites > 0 {
		ops = append(ops, s.record(c.rewrites))
	}
	if _, large := s.batches[c.n]; large {
		for i := range s.pairs(c.n) {
			ops = append(ops, s.pair(c.n, i))
		}
	}
	if c.n > batchLife && s.pairs(c.n-batchLife) > 0 {
		ops = append(ops, op{key: s.pairKey(c.n-batchLife, 0), until: s.pairKey(c.n-batchLife+1, 0)})
	}
	return append(ops, s.account(c.to))
}

// content returns all that the store holds of the writer.
func (s *script) content() map[string][]byte {
	all := map[string][]byte{}
	if s.last.n == 0 {
		return all
	}
	all[s.counterKey()] = s.counter()
	if s.clears(s.last.n + 1) {
		all[s.spareKey()] = s.spare().value
	}
	for i := range accounts {
		o := s.account(i)
		all[o.key] = o.value
	}
	for n := range s.records {
		o := s.record(n)
		all[o.key] = o.value
	}
	for n := range s.batches {
		for i := range s.pairs(n) {
			o := s.pair(n, i)
			all[o.key] = o.value
		}
	}
	return all
}

func (s *script) counterKey() string { return counterKey(s.writer) }

func counterKey(writer int) string { return fmt.Sprintf("writer%d/count", writer) }

func (s *script) spareKey() string { return spareKey(s.writer) }

// spareKey returns the key that a commit puts for the next one to clear. It comes before the
// counter's.
func spareKey(writer int) string { return fmt.Sprintf("writer%d/clear", writer) }

// spare is the pair that the last commit puts for the next one.
func (s *script) spare() op {
	return op{key: s.spareKey(), value: fmt.Appendf(nil, "%d %d", s.counted.n, s.counted.salt)}
}

func (s *script) accountKey(i int) string { return fmt.Sprintf("writer%d/account/%d", s.writer, i) }

func (s *script) recordKey(n uint64) string { return fmt.Sprintf("writer%d/record/%08d", s.writer, n) }

// counter returns the counter's value, which is as long as a record where it is all that was
// written.
func (s *script) counter() []byte {
	by := s.counted
	v := fmt.Appendf(nil, "%d %d", by.n, by.salt)
	if !s.alone(by.n) {
		return v
	}
	record := recordValue(s.seed, s.writer, by.n, by, s.sizes(by))
	return append(append(v, ' '), record...)
}

func (s *script) account(i int) op {
	return op{key: s.accountKey(i), value: fmt.Appendf(nil, "%d %d %d", s.balances[i], s.moved[i].n, s.moved[i].salt)}
}

func (s *script) record(n uint64) op {
	return op{key: s.recordKey(n), value: recordValue(s.seed, s.writer, n, s.records[n], s.sizes(s.records[n]))}
}

func (s *script) pairKey(n uint64, i int) string {
	return fmt.Sprintf("writer%d/pair/%08d/%05d", s.writer, n, i)
}

// pair returns one of the pairs of the large commit n.
func (s *script) pair(n uint64, i int) op {
	v := fmt.Appendf(nil, "pair %d of commit %d %d ", i, n, s.batches[n].salt)
	return op{key: s.pairKey(n, i), value: append(v, bytes.Repeat([]byte{'.'}, i*37%300)...)}
}

// recordValue returns what the commit by wrote as record n. Most are small, some some hundred
// bytes, and a few so large that engines keep them elsewhere (overflow pages, value logs).
func recordValue(seed uint64, writer int, n uint64, by stamp, sizes int) []byte {
	r := rand.New(rand.NewPCG(mix(seed, "record", writer, n, by.n, by.salt), n))
	size := r.IntN(400)
	switch kind := r.IntN(40); {
	case kind == 0:
		size = 8<<10 + r.IntN(12<<10)
	case kind < 6:
		size = r.IntN(2 << 10)
	}
	if sizes > 0 {
		of := recordSizes[sizes]
		size = of[r.IntN(len(of))]
	}
	v := fmt.Appendf(make([]byte, 0, size+64), "record %d of writer %d by commit %d %d ", n, writer, by.n, by.salt)
	if size < 16<<10 {
		for len(v) < size {
			v = binary.LittleEndian.AppendUint64(v, r.Uint64())
		}
		return v[:size]
	}
	block := make([]byte, 0, 4096+8) // made once: random numbers are slow
	for len(block) < 4096 {
		block = binary.LittleEndian.AppendUint64(block, r.Uint64())
	}
	for at := uint64(0); len(v) < size; at++ {
		v = append(binary.LittleEndian.AppendUint64(v, at), block...)
	}
	return v[:size]
}
