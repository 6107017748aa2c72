package prove

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// scene is the work of one recorded run: what its commits are like, and what is done between them.
type scene struct {
	writers int
	work    work
	weak    bool // every third commit is of the weakest class that leaves the store intact
	loose   bool // where none does two of six are of another class, behind which nothing holds until a synced one
	small   bool // with options that let files be filled, merged and replaced within the run
	fails   bool // an operation fails
	slow    bool // a sync takes a while, so that commits meet in one
	level   bool // all commits of several writers are begun together, so that a repeated run is like the first
	apart   bool // each writer is in a process of its own, if the engine lets several in
	deep    bool // the store lies within several folders, none of which is there before
	aged    int  // how often the store was opened, written to and closed before
	// who takes the place of a killed process closes the store before its first commit, which may
	// hide what he found
	looks bool
	legs  []leg
}

// scenes are the recorded runs. A proof goes through them again and again, with other seeds. One
// closes the store six times before it compacts: Badger writes a table at each, and merges and
// removes none before there are as many. In the last the store is old: a record of changes that is
// appended to with each opening has grown beyond a sector, within which nothing is torn.
var scenes = []scene{
	{writers: 1, work: work{Sizes: 1, Batch: 40}, legs: []leg{{"", 8}, {reopen, 7}, {compact, 6}, {backup, 3},
		{reopen, 4}}},
	{writers: 4, slow: true, deep: true, work: work{Batch: 40}, legs: []leg{{"", 8}, {reopen, 6}, {linger, 12}}},
	{writers: 1, small: true, work: work{Sizes: 1, Batch: 150},
		legs: []leg{{"", 14}, {compact, 6}, {hold, 8}, {reopen, 4}, {reopen, 2}, {reopen, 2}, {reopen, 2}, {reopen, 2},
			{reopen, 2}, {compact, 4}}},
	{writers: 1, work: work{Sizes: 2, Batch: 2500}, legs: []leg{{"", 9}, {reopen, 9}}},
	{writers: 4, slow: true, small: true, weak: true, work: work{Sizes: 1, Batch: 40},
		legs: []leg{{"", 6}, {hold, 4}, {reopen, 6}, {compact, 4}, {linger, 16}, {reopen, 1}, {await, 12}}},
	{writers: 1, weak: true, loose: true, work: work{Batch: 200}, legs: []leg{{"", 10}, {backup, 6}, {reopen, 10}}},
	{writers: 2, apart: true, slow: true, small: true, weak: true, work: work{Batch: 40},
		legs: []leg{{"", 6}, {compact, 3}, {hold, 6}, {reopen, 5}}},
	{writers: 1, aged: 24, small: true, work: work{Batch: 40},
		legs: []leg{{"", 3}, {reopen, 2}, {reopen, 2}, {compact, 2}, {reopen, 2}, {reopen, 2}}},
}

// faulty are the runs in which an operation fails: short, so that each operation has its turn.
// Where every third commit is a weaker one, such is the last before a store is closed, which syncs
// it; where none may be, two of six are, and what is to keep them fails as well. Commits meet
// in one sync only where there are four writers: one of them reads, and is alone, one waits for a
// sync of its own, and two for the next: one that they share is found again in a repeated run if
// they begin together. One has a log of more than a MiB before a weaker commit is lost with the
// sync that fails. In the last a commit comes amid the sync of the background that is to keep the
// one before it. Two compact the store behind a weaker commit, of which a failed compaction may
// leave nothing. A backup comes last: it is made beside commits, and what follows is another
// operation in a repeated run.
var faulty = []scene{
	{writers: 1, work: work{Sizes: 1, Batch: 40}, legs: []leg{{"", 7}, {compact, 3}, {reopen, 5}, {reopen, 3},
		{backup, 2}}},
	{writers: 1, small: true, fails: true, weak: true, loose: true, work: work{Sizes: 1, Batch: 150},
		legs: []leg{{"", 8}, {hold, 8}, {compact, 3}, {reopen, 6}, {reopen, 2}}},
	{writers: 4, slow: true, level: true, work: work{Batch: 40}, legs: []leg{{"", 6}, {reopen, 4}}},
	{writers: 1, weak: true, loose: true, work: work{Sizes: 2, Batch: 1200}, legs: []leg{{"", 6}, {reopen, 4}}},
	{writers: 2, apart: true, small: true, fails: true, weak: true, work: work{Batch: 40},
		legs: []leg{{"", 3}, {hold, 5}, {reopen, 4}}},
	{writers: 2, apart: true, slow: true, weak: true, work: work{Batch: 40}, legs: []leg{{"", 5}, {hold, 4}}},
	{writers: 1, weak: true, loose: true, work: work{Batch: 6000, Bare: true}, legs: []leg{{"", 6}, {reopen, 3}}},
	{writers: 1, slow: true, weak: true, work: work{Sizes: 1}, legs: []leg{{"", 1}, {compact, 2}, {await, 5}}},
}

// nth returns the scene of the pair's k-th recording. What several processes do to one store comes
// second where they may share it.
func (p *pair) nth(k int) scene {
	order := slices.Clone(scenes)
	if p.caps.Shared {
		at := slices.IndexFunc(order, func(s scene) bool { return s.apart })
		apart := order[at]
		order = slices.Insert(slices.Delete(order, at, at+1), 1, apart)
	}
	return order[k%len(order)]
}

// excused reports whether what follows a failed sync of which a process dies is no promise of the
// engine, which says so itself (engines/internal/sqlite): two processes share a log in which weaker
// commits stand before synced ones, and one of them opens the store between the other's failed sync
// and its death. The system tells only those of the failure who had the log open before. What a
// process alone does is never excused, nor are commits that are all of one class, nor is a second
// failure, as of that the next is told.
func (p *pair) excused(s scene) bool {
	opens := slices.ContainsFunc(s.legs, func(l leg) bool { return l.First == reopen })
	return s.apart && s.weak && opens && p.caps.Shared && p.caps.Class == kv.Synced && p.caps.Mixed != kv.Synced
}

// smallOptions let files fill up within a short run, of whose commits a large one puts so many
// pairs. The first set of which an engine knows all options is used. Of Badger's table in memory a
// commit takes 15 % at most. Pebble stops no writes while a table in memory is written out, so that
// the next one is full meanwhile. SQLite's pages are smaller than a block of a file system, amid
// which a file may then be cut.
func smallOptions(pairs int) []map[string]string {
	const least, pair, others = 64 << 10, 235, 4500 // bytes in Badger's table, on the average
	table := strconv.Itoa(max(least, (others+pairs*pair)*100/15))
	return []map[string]string{
		{"MemTableSize": table, "ValueThreshold": "1024", "ValueLogFileSize": "1048576"},
		{"MemTableSize": "65536", "MemTableStopWritesThreshold": "4", "L0CompactionThreshold": "2", "LBaseMaxBytes": "65536"},
		{"WriteBuffer": "65536", "CompactionTableSize": "32768", "CompactionTotalSize": "65536"},
		{"AutoShrinkMinSize": "65536", "AutoShrinkPercentage": "30"},
		{"wal_autocheckpoint": "20", "page_size": "2048", "cache_size": "8"},
		{"PageSize": "1024", "FreelistType": "hashmap"},
	}
}

// calm are small options that are left out where the disk fails: Badger gives up a table when the
// sync of its manifest fails, and does not open again (docs/durability.md). By its own options it
// comes to that after 64 MiB.
var calm = map[string][]string{"ValueThreshold": {"MemTableSize"}}

// smaller returns the options of an engine with small ones among them; those that were given stay.
// It returns the same where it knows of none.
func smaller(engine, options string, pairs int, fails bool) string {
	d, ok := driver.Lookup(engine)
	given, err := url.ParseQuery(options)
	if !ok || err != nil {
		return options
	}
	for _, set := range smallOptions(pairs) {
		if slices.ContainsFunc(slices.Collect(maps.Keys(set)),
			func(name string) bool { return !knows(d.Info(), name) }) {
			continue
		}
		for name, value := range set {
			if fails && slices.ContainsFunc(slices.Collect(maps.Keys(set)),
				func(o string) bool { return slices.Contains(calm[o], name) }) {
				continue
			}
			if !given.Has(name) {
				given.Set(name, value)
			}
		}
		return given.Encode()
	}
	return options
}

// thrifty are options of Badger's with which a verifier opens a store: it clears the memory of its
// cache and of its tables in memory whenever it is opened, which took half of the time. They are of
// memory alone: what a run writes, ten megabytes at most, has room in such a table.
var thrifty = map[string]string{"BlockCacheSize": "1048576", "MemTableSize": "33554432"}

// verifiers returns the options that a verifier opens a store with.
func verifiers(engine, options string) string {
	d, ok := driver.Lookup(engine)
	given, err := url.ParseQuery(options)
	if !ok || err != nil {
		return options
	}
	for name, value := range thrifty {
		switch {
		case !knows(d.Info(), name): // another engine
			return options
		case !given.Has(name):
			given.Set(name, value)
		}
	}
	return given.Encode()
}

func knows(info driver.Info, option string) bool {
	return slices.ContainsFunc(info.Options, func(o driver.Option) bool { return o.Name == option })
}

// fitted returns the scene as a pair can play it: a log has one writer, and mixes no classes.
func (p *pair) fitted(s scene) scene {
	if p.caps.Log {
		s.writers, s.work = 1, work{}
	}
	s.apart = s.apart && p.caps.Shared
	if s.weak && p.caps.Class == kv.Synced {
		if s.work.Weak = p.caps.Mixed; s.loose && s.work.Weak == kv.Synced {
			s.work.Loose = p.caps.Loose
		}
	}
	if d, ok := driver.Lookup(p.entry.Engine); !ok || !knows(d.Info(), byTheClock) {
		s.legs = slices.DeleteFunc(slices.Clone(s.legs),
			func(l leg) bool { return l.First == linger || l.First == await })
	}
	return s
}

// byTheClock is an option of engines that sync each second, and look then whether to compact the
// file: BuntDB.
const byTheClock = "SyncPolicy"

// storeOf returns the pair's store in dir, with small options if the scene asks for them.
func (p *pair) storeOf(s scene, dir string) storeSpec {
	spec := p.store(dir)
	spec.Deep = s.deep
	if s.small {
		spec.Entry.Options = smaller(spec.Entry.Engine, spec.Entry.Options, s.work.Batch, s.fails)
	}
	return spec
}
