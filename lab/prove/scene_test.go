package prove

import (
	"path"
	"reflect"
	"slices"
	"testing"

	_ "github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// An option that an engine does not have any more would leave its files large, and what happens to
// full ones untried.
func TestEveryEngineHasSmallOptions(t *testing.T) {
	for _, engine := range []string{"badger", "bbolt", "bunt", "leveldb", "pebble", "sqlite"} {
		if _, ok := driver.Lookup(engine); !ok {
			t.Fatalf("%s is not in this binary", engine)
		}
		if got := smaller(engine, "", 0, false); got == "" {
			t.Errorf("%s: none of the sets of small options is its own", engine)
		}
	}
}

// Memory that is cleared at each opening makes an engine slow to verify, and tells nothing of what
// a crash leaves.
func TestVerifiersTakeLittleMemoryWhereItIsCleared(t *testing.T) {
	for _, c := range []struct{ engine, given, want string }{
		{"badger", "", "BlockCacheSize=1048576&MemTableSize=33554432"},
		{"badger", "SyncWrites=true", "BlockCacheSize=1048576&MemTableSize=33554432&SyncWrites=true"},
		{"badger", "BlockCacheSize=0&MemTableSize=65536", "BlockCacheSize=0&MemTableSize=65536"},
		{"bbolt", "PageSize=1024", "PageSize=1024"},
		{"pebble", "", ""},
	} {
		if got := verifiers(c.engine, c.given); got != c.want {
			t.Errorf("%s with %q: got %q, want %q", c.engine, c.given, got, c.want)
		}
	}
}

// Commits of several writers meet in syncs that take a while, those of several processes, too.
func TestScenesOfSeveralWritersHaveSlowSyncs(t *testing.T) {
	for i, s := range scenes {
		if s.writers > 1 && !s.slow {
			t.Errorf("scene %d has %d writers, and syncs that take no time", i, s.writers)
		}
	}
	if !slices.ContainsFunc(faulty, func(s scene) bool { return s.apart && s.slow }) {
		t.Error("no disk fails beneath two processes whose syncs take a while")
	}
}

// What an engine promises without a condition must be tried: of all scenes in which a disk fails,
// one alone is left out, and of an engine alone that mixes classes in a log of several processes.
func TestOneSceneIsExcused(t *testing.T) {
	shared := caps{Promise: kv.Promise{Class: kv.Synced, Intact: true}, Shared: true, Mixed: kv.Flushed}
	alone, unmixed, flushed := shared, shared, shared
	alone.Shared, unmixed.Mixed, flushed.Class = false, kv.Synced, kv.Flushed
	for _, c := range []struct {
		what string
		caps caps
		want int
	}{
		{"synced beside flushed, several processes", shared, 1},
		{"one process", alone, 0},
		{"nothing weaker that stays whole", unmixed, 0},
		{"flushed alone", flushed, 0},
	} {
		excused := 0
		for _, s := range faulty {
			p := &pair{caps: c.caps}
			if !p.excused(s) {
				continue
			}
			if excused++; !s.apart || !s.weak {
				t.Errorf("%s: excused, though one process or one class is in it: %+v", c.what, s)
			}
		}
		if excused != c.want {
			t.Errorf("%s: %d scenes are excused, want %d", c.what, excused, c.want)
		}
	}
}

// What several processes do to one store is recorded early, and all else besides.
func TestProcessesThatShareAStoreComeEarly(t *testing.T) {
	for _, shares := range []bool{false, true} {
		p := &pair{caps: caps{Shared: shares}}
		legs, apart := map[int]int{}, -1
		for k := range len(scenes) {
			s := p.nth(k)
			if s.apart && apart < 0 {
				apart = k
			}
			legs[slices.IndexFunc(scenes, func(o scene) bool { return reflect.DeepEqual(o, s) })]++
		}
		if len(legs) != len(scenes) {
			t.Errorf("shared %v: %d of %d scenes are recorded", shares, len(legs), len(scenes))
		}
		if (apart == 1) != shares {
			t.Errorf("shared %v: the one of several processes is recording %d", shares, apart)
		}
	}
}

// A folder's name is not durable by what is in it: all that are made with a store are synced, each
// into the one above.
func TestAStoreLiesWithinNewFolders(t *testing.T) {
	if !slices.ContainsFunc(scenes, func(s scene) bool { return s.deep }) {
		t.Error("no scene has a store within folders that are not there before")
	}
	for engine, want := range map[string]bool{"bbolt": true, "shallow": false} {
		l, task := laneOf(t, engine, result.FaultPower)
		rec, err := l.record(t.Context(), task, scene{writers: 1, deep: true, legs: []leg{{"", 3}}}, 7, run{})
		if err != nil {
			t.Fatal(err)
		}
		o := atEnd(t, l, task, rec, powerfs.Rule{Entries: powerfs.Strict, Survivors: powerfs.Nothing})
		if lost, _ := rec.trial(len(rec.steps)).lost(o.N); (lost == 0 && o.Broken == "") != want {
			t.Errorf("%s: %d commits are lost, %q", engine, lost, o.Broken)
		}
	}
}

// A compaction that fails may lose a weaker commit right before it.
func TestACompactionThatFailsComesBehindAWeakerCommit(t *testing.T) {
	for _, small := range []bool{false, true} {
		weak := func(s scene) bool { return s.small == small && s.weak && s.weakBefore(compact) }
		if !slices.ContainsFunc(faulty, weak) {
			t.Errorf("small files %v: no disk fails beneath a compaction behind a weaker commit", small)
		}
	}
}

// weakBefore reports whether a weaker commit comes right before a leg that begins so.
func (s scene) weakBefore(first string) bool {
	n := uint64(0)
	for _, leg := range s.legs {
		if leg.First == first && n > 0 && (work{Weak: kv.Flushed}).class(n, kv.Synced) != kv.Synced {
			return true
		}
		n += leg.Commits
	}
	return false
}

// A synced commit that changes nothing keeps the weaker one before it, whether it puts or deletes.
func TestCommitsOfNothingPutAndDelete(t *testing.T) {
	for _, k := range []work{{Weak: kv.Flushed}, {Loose: kv.Flushed}} {
		p, got := past{Work: k}, map[bool]int{}
		for n := uint64(1); n <= 16; n++ {
			for p.Seed = range 8 {
				if k.class(n, kv.Synced) != kv.Synced && p.covered(n) {
					got[nothingPuts(n)]++
				}
			}
		}
		if got[true] == 0 || got[false] == 0 {
			t.Errorf("%+v: %v", k, got)
		}
	}
}

// Badger's manifest is appended to with each table. In a new store it lies within one sector, of
// which nothing is torn.
func TestAnOldStoreHasRecordsThatAreTorn(t *testing.T) {
	l, task := laneOf(t, "badger", result.FaultPower)
	k := slices.IndexFunc(scenes, func(s scene) bool { return s.aged > 0 })
	rec, err := l.recording(t.Context(), task, k)
	if err != nil {
		t.Fatal(err)
	}
	torn := slices.ContainsFunc(rec.crossing(), func(i int) bool { return path.Base(rec.steps[i-1].Path) == "MANIFEST" })
	if !torn || rec.trouble != nil {
		t.Errorf("no record of the manifest lies in two sectors; trouble %v", rec.trouble)
	}
	o := atEnd(t, l, task, rec, everything)
	want := uint64(scenes[k].aged)
	for _, leg := range scenes[k].legs {
		want += leg.Commits
	}
	if o.Broken != "" || o.Torn != "" || !slices.Equal(o.N, []uint64{want}) {
		t.Errorf("%+v, want %d commits", o, want)
	}
}

// What comes together is in two tables of Badger's where the first one is full amid it.
func TestATableIsFullWhileCommitsMeet(t *testing.T) {
	l, task := laneOf(t, "badger", result.FaultPower)
	k := slices.IndexFunc(scenes, func(s scene) bool { return s.small && s.writers > 2 })
	rec, err := l.recording(t.Context(), task, k)
	if err != nil {
		t.Fatal(err)
	}
	second := func(s powerfs.Step) bool { return path.Base(s.Path) == "00002.mem" }
	if !slices.ContainsFunc(rec.steps, second) || rec.trouble != nil {
		t.Errorf("no table was full; trouble %v", rec.trouble)
	}
}

// Commits that a process has not given to the system are no part of what it leaves, unless it
// closes the store.
func TestAStoreIsClosedWhenItIsOldEnough(t *testing.T) {
	l, task := laneOfClass(t, "pebble", kv.Buffered, result.FaultPower)
	s := scene{writers: 1, aged: 2}
	for n := range uint64(8) {
		rec, in, err := l.aged(t.Context(), task, s, n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := l.examineImage(t.Context(), task, in.options.From, rec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.N, []uint64{uint64(s.aged)}) || o.Broken != "" {
			t.Fatalf("%+v, want %d commits", o, s.aged)
		}
	}
}
