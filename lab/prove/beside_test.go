package prove

import (
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// Behind an operation of the first process the second one opens the store: at once where the engine
// lets several in, else when the first has closed it or is dead.
func TestASecondProcessComesInWhileTheFirstIsStopped(t *testing.T) {
	for engine, shared := range map[string]bool{"sqlite": true, "bbolt": false} {
		l, task := laneOf(t, engine, result.FaultRecovery)
		j := &job{task: task, of: 1}
		all, err := l.besides(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		base := all[1]
		closing, opening, between := base.partsOfTheFirst()
		if base.trouble != nil || len(closing) == 0 || len(opening) == 0 || len(between) == 0 {
			t.Fatalf("%s: trouble %v, %d, %d and %d operations", engine, base.trouble, len(opening), len(between),
				len(closing))
		}
		amid := base.opOf(between[len(between)/2])
		for _, m := range []meeting{{at: amid}, {at: amid, dies: true}, {at: base.opOf(opening[0]), early: true}} {
			dies := m.dies
			rec, err := l.record(t.Context(), task, base.scene, base.seed, run{meets: &m})
			if err != nil {
				t.Fatal(err)
			}
			first, second := rec.ledger.acks[0], rec.ledger.acks[1]
			if rec.trouble != nil || len(second) != 8 || !dies && len(first) != 11 || dies && len(first) > 10 {
				t.Fatalf("%s: trouble %v, the first made %d commits, the second %d", engine, rec.trouble, len(first),
					len(second))
			}
			if !dies && !m.early && !shared && second[0].Began < first[len(first)-1].Done {
				t.Errorf("%s: the second committed before the first had done", engine)
			}
			o := atEnd(t, l, task, rec, everything)
			if lost, _ := rec.trial(len(rec.steps)).lost(o.N); o.Broken != "" || o.Torn != "" || lost > 0 {
				t.Errorf("%s: %+v, %d commits are lost", engine, o, lost)
			}
		}
	}
}

// What any part may be of shows before the syncs that are to write most.
func TestMomentsBeforeTheLargestSyncs(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for _, bytes := range []int{9000, 100, 50_000, 20_000, 9000, 70_000, 9000} {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log", Bytes: bytes},
			powerfs.Step{Kind: powerfs.OnSync, Path: "log"})
	}
	if got, want := r.gathered(2), []int{11, 5, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What is made behind an error, or in a store that was found whole, is small, whatever its number
// says; what was before is as it was.
func TestModestCommitsFollow(t *testing.T) {
	t.Parallel()
	size := func(s *script, salt uint64) (n int) {
		for _, o := range s.ops(s.play(salt)) {
			n += len(o.key) + len(o.value)
		}
		return n
	}
	p := newPast(1, 1)
	first := p.Chains[0][0].Salt
	for what, work := range map[string]work{
		"an error":      {Sizes: 1, Batch: 40, Modest: true},
		"what is whole": {Sizes: 1, Batch: 40, Further: first + 1},
	} {
		p.Work, p.Chains[0] = work, p.Chains[0][:1]
		p.Chains[0][0].UpTo = 0
		s := p.script(0)
		s.playTo(2, p.Chains[0])
		large := size(s, first)
		again := p.script(0)
		again.playTo(2, p.Chains[0])
		behind := 0
		for range 4 {
			behind += size(again, first+1)
		}
		if behind >= large/2 {
			t.Errorf("%s: where one commit has %d bytes, 4 behind it take %d", what, large, behind)
		}
		found := again.content()
		p.Chains[0] = p.Chains[0].from(2, first+1)
		if o := p.compare(found); o.Broken != "" || o.Torn != "" || o.N[0] != 6 {
			t.Errorf("%s: %+v", what, o)
		}
	}
}
