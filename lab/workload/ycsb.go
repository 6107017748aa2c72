package workload

import (
	"hash/fnv"
	"math/rand/v2"
)

// ycsbParams is what can be varied in ycsb.
var ycsbParams = []Param{
	{Name: "records", Default: "10k", Usage: "records that the store is loaded with"},
	{Name: "value", Default: "100", Usage: "size of a value in bytes"},
	{Name: "read", Default: "rest", Usage: "of the operation mix: gets, in percent; the parts make 100"},
	{Name: "update", Default: "0", Usage: "of the operation mix: puts of records that are there, in percent"},
	{Name: "insert", Default: "0", Usage: "of the operation mix: puts of new records, in percent"},
	{Name: "modify", Default: "0", Usage: "of the operation mix: gets and puts in one transaction, in percent"},
	{Name: "scan", Default: "0", Usage: "of the operation mix: scans of 1 to 100 records, in percent"},
	{Name: "choose", Default: "zipfian", Usage: "of the operation mix: which records: zipfian, latest or uniform"},
}

// ycsb is the mixes A to F of the Yahoo! Cloud Serving Benchmark, as its core workloads define
// them, and the basic loads of LevelDB's db_bench.
var ycsb = Workload{
	Name:    "ycsb",
	Summary: "the standard mixes of reads, updates, inserts and scans, and the six basic loads",
	Params:  ycsbParams,
	Forms:   []Form{throughKV},
	Ops: []Op{
		{Name: "A", Summary: "get or update, 50/50, zipfian", Commits: true, Core: true, Cycle: 2, New: newYCSB("A")},
		{Name: "B", Summary: "get or update, 95/5, zipfian", Commits: true, Cycle: 20, New: newYCSB("B")},
		{Name: "C", Summary: "get, zipfian", Core: true, New: newYCSB("C")},
		{Name: "D", Summary: "get or insert, 95/5, the newest most", Commits: true, Cycle: 20, New: newYCSB("D")},
		{Name: "E", Summary: "scan of 1 to 100 or insert, 95/5, zipfian", Commits: true, Core: true, Cycle: 20,
			New: newYCSB("E")},
		{Name: "F", Summary: "get or read-modify-write, 50/50, zipfian", Commits: true, Cycle: 2, New: newYCSB("F")},
		{Name: "fillseq", Summary: "insert at the end", Commits: true, Core: true, Sized: true,
			New: newYCSB("fillseq")},
		{Name: "fillrandom", Summary: "insert anywhere", Commits: true, Sized: true, New: newYCSB("fillrandom")},
		{Name: "overwrite", Summary: "update, uniform", Commits: true, Sized: true, New: newYCSB("overwrite")},
		{Name: "readrandom", Summary: "get, uniform", New: newYCSB("readrandom")},
		{Name: "readseq", Summary: "scan of the next 100", Items: maxScan, New: newYCSB("readseq")},
		{Name: "deleterandom", Summary: "delete, uniform, each once", Commits: true, New: newYCSB("deleterandom")},
		{Name: "mix", Summary: "a mix of your own: 'ycsb?read=60&update=30&scan=10'", Commits: true, Own: mixParams,
			Shape: shapeOfMix, New: newMix},
	},
}

// mix says what the iterations of an operation do.
type mix struct {
	// The parts of the iterations, in percent; the rest are gets.
	insert, scan, update, modify int

	// Every iteration is a scan that goes on where the last one ended, or a deletion.
	walks, deletes bool

	order   keyOrder
	choose  func(records uint64) picker // nil is uniform
	longest uint32                      // scan, in records; 0 is maxScan

	// Mixes that follow one another, again and again. The parts above are then the most of any.
	phases []phase
}

// phase is a mix for some iterations, which hold every part of it in whole numbers.
type phase struct {
	mix        mix
	iterations int
}

// parts returns the parts of the iterations in percent, by action.
func (m mix) parts() [actDelete]int {
	rest := 100 - m.insert - m.scan - m.update - m.modify
	return [...]int{actRead: rest, actUpdate: m.update, actInsert: m.insert, actModify: m.modify, actScan: m.scan}
}

// cycle returns the fewest iterations that hold every part in whole numbers.
func (m mix) cycle() int {
	if len(m.phases) > 0 {
		all := 0
		for _, p := range m.phases {
			all += p.iterations
		}
		return all
	}
	for n := 1; ; n++ {
		if m.insert*n%100 == 0 && m.scan*n%100 == 0 && m.update*n%100 == 0 && m.modify*n%100 == 0 {
			return n
		}
	}
}

// maxScan is the longest scan, and the length of those of readseq, in records.
const maxScan = 100

// mixes are the operations: the first six by YCSB's definition.
var mixes = map[string]mix{
	"A":            {update: 50, choose: byZipf},
	"B":            {update: 5, choose: byZipf},
	"C":            {choose: byZipf},
	"D":            {insert: 5, choose: byAge},
	"E":            {insert: 5, scan: 95, choose: byZipf},
	"F":            {modify: 50, choose: byZipf},
	"fillseq":      {insert: 100, order: ascending},
	"fillrandom":   {insert: 100},
	"overwrite":    {update: 100},
	"readrandom":   {},
	"readseq":      {walks: true},
	"deleterandom": {deletes: true},
}

func byZipf(records uint64) picker { return newScattered(records) }
func byAge(records uint64) picker  { return newLatest(records) }

// newYCSB returns the constructor of the operation called name.
func newYCSB(name string) func(Env) (Runner, error) {
	return func(env Env) (Runner, error) { return newYCSBRunner(env, name, mixes[name]) }
}

func newYCSBRunner(env Env, name string, mix mix) (Runner, error) {
	p := env.params(ycsbParams)
	records := p.count("records", maxScan, 1e8)
	size := p.count("value", minValue, 8<<10)
	if p.err != nil {
		return nil, p.err
	}
	r := &ycsbRunner{
		kvStore: newKVStore(env),
		null:    env.Engine == "null",
		records: records,
		values:  values{seed: env.Seed, size: size},
		plan:    plan{mix: mix, rand: random(env.Seed, "ycsb/"+name), pick: uniform{}, model: model{order: mix.order}},
	}
	if mix.choose != nil {
		r.plan.pick = mix.choose(uint64(records))
	}
	r.onModify, r.onScan = r.modify, r.scan
	return r, nil
}

// random returns the random numbers that the operation called name draws its inputs from.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
