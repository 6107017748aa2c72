package prove

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

func TestMostIsAtStakeBeforeAnAcknowledgementAndWhenAStoreIsOpened(t *testing.T) {
	t.Parallel()
	r := &recording{ledger: ledger{opened: []int64{5},
		acks: [][]ack{{{N: 1, Began: 25, Done: 55}}, {{N: 1, Began: 26, Done: 105}}}}}
	for i := range 12 {
		s := powerfs.Step{Kind: powerfs.OnSync, Path: "log", Monotonic: int64(10 * i)}
		switch i {
		case 0, 2, 6, 8, 10:
			s.Kind = powerfs.OnWrite
		case 7:
			s.Until = 90
		case 9:
			s.Kind, s.Done = 0, true
		}
		r.steps = append(r.steps, s)
	}
	// The last sync of the first commit, and the one of the other, which takes a while.
	want := map[int]int{1: opened, 5: acknowledged, 7: acknowledged}
	for i, got := range r.stakes() {
		if w, ok := want[i]; ok && got != w || !ok && got != others {
			t.Errorf("step %d: got %d", i, got)
		}
	}
}

// Processes die behind each sort of sync before they do so twice behind one.
func TestDeathsAreOfEachSortOfSyncInTurn(t *testing.T) {
	t.Parallel()
	var steps []powerfs.Step
	var staked []int
	add := func(n, bytes int, file string, stake int) {
		for range n {
			steps = append(steps, powerfs.Step{Kind: powerfs.OnWrite, Path: file, Bytes: bytes},
				powerfs.Step{Kind: powerfs.OnSync, Path: file})
			staked = append(staked, others, stake)
		}
	}
	add(40, 100, "log", acknowledged)
	add(10, 9000, "log", acknowledged)
	add(5, 100, "table", others)
	at := make([][]target, len(steps))
	for i, f := range faultsAt(steps) {
		at[i] = []target{{Fault: f}}
	}
	j := &job{task: &task{pair: &pair{}, fault: result.FaultEIO}, of: 1}
	all := j.deathsOf([]course{{steps: steps, stakes: staked}}, [][][]target{at}, rand.New(rand.NewPCG(1, 1)))
	if len(all) != 55 {
		t.Fatalf("%d deaths, want one for each of 55 syncs", len(all))
	}
	kinds := map[string]int{}
	for n, f := range all[:10] {
		fault := f.options.Faults[0]
		large := ""
		if fault.Match == "log" && fault.Nth > 40 {
			large = "large "
		}
		kinds[large+fault.Match]++
		if f.looks {
			kinds["looks at "+large+fault.Match]++
		}
		if (n%5 == 4) != (fault.Match == "table") {
			t.Errorf("number %d is of %s, want one of five at which less is at stake", n, fault.Match)
		}
	}
	for sort, want := range map[string]int{"log": 4, "large log": 4, "table": 2} {
		if kinds[sort] != want || kinds["looks at "+sort] != want/2 {
			t.Errorf("got %v, want %d of %s, half of which look first", kinds, want, sort)
		}
	}
	j.fault = result.FaultENOSPC
	if all := j.deathsOf([]course{{steps: steps, stakes: staked}}, [][][]target{at}, nil); all != nil {
		t.Errorf("on a full disk, where no sync fails, %d die of one", len(all))
	}
}

// A process that dies of a failed sync says nothing of it on the disk, and another goes on.
func TestWhoDiesOfAFailedSyncDoesNothingMore(t *testing.T) {
	l, task := laneOf(t, "bbolt", result.FaultEIO)
	s := scene{writers: 1, legs: []leg{{"", 5}, {reopen, 2}}}
	for nth := uint64(3); nth < 9; nth++ {
		rec, err := l.record(t.Context(), task, s, 7, run{kills: []uint64{0}, ofFault: true,
			options: powerfs.Options{Faults: []powerfs.Fault{{Op: powerfs.OnSync, Nth: nth}}}})
		if err != nil {
			t.Fatal(err)
		}
		failed := slices.IndexFunc(rec.steps, func(s powerfs.Step) bool { return s.Failed })
		if failed < 0 || failed+1 >= len(rec.steps) {
			t.Fatalf("sync %d failed at step %d of %d", nth, failed, len(rec.steps))
		}
		if next := rec.steps[failed+1]; next.Monotonic < rec.began {
			t.Errorf("behind sync %d, which failed, its process did this: %s", nth, next)
		}
		if len(rec.ledger.opened) < 2 || rec.trouble != nil {
			t.Errorf("sync %d: the store was opened %d times, trouble %v", nth, len(rec.ledger.opened), rec.trouble)
		}
	}
}
