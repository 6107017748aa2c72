package prove

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// laneOf returns a lane, and a task of an engine's synced class.
func laneOf(t *testing.T, engine string, fault string) (*lane, *task) {
	t.Helper()
	needsPower(t)
	o := options(t, engine, kv.Synced, fault)
	o.Rounds = 0
	r := &runner{Options: o.withDefaults(), started: time.Now()}
	l, err := newTestLane(t, r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.probe(t.Context(), storeSpec{Entry: o.Entries[0], Dir: l.folder("probe")})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{entry: o.Entries[0], class: kv.Synced, caps: all[kv.Synced]}
	return l, r.newTask(p, fault)
}

func TestKilledProcessIsReplacedOnTheSameDisk(t *testing.T) {
	l, task := laneOf(t, "bbolt", result.FaultRecovery)
	rec, err := l.record(t.Context(), task, scenes[0], 7, run{kills: []uint64{60, 70}})
	if err != nil {
		t.Fatal(err)
	}
	if rec.trouble != nil || len(rec.ledger.opened) < 3 || len(rec.ledger.resumed) == 0 {
		t.Fatalf("trouble %v, opened %d times, resumed %v", rec.trouble, len(rec.ledger.opened), rec.ledger.resumed)
	}
	if first := rec.behind(rec.began); first < 60 || first >= len(rec.steps) {
		t.Errorf("the last process begins at step %d of %d", first, len(rec.steps))
	}
	img, err := rec.end()
	if err != nil {
		t.Fatal(err)
	}
	o, err := l.examineImage(t.Context(), task, img, rec)
	if err != nil {
		t.Fatal(err)
	}
	tr := rec.trial(len(rec.steps))
	if lost, _ := tr.lost(o.N); o.Broken != "" || o.Torn != "" || lost > 0 || tr.acked() == 0 {
		t.Errorf("%+v, %d of %d commits are lost", o, lost, tr.acked())
	}
}

func TestProcessesShareAStoreWhereTheEngineLetsThem(t *testing.T) {
	for engine, want := range map[string]int{"sqlite": 2, "bbolt": 1} {
		l, task := laneOf(t, engine, result.FaultPower)
		rec, err := l.record(t.Context(), task, task.fitted(scene{writers: 2, apart: true, legs: []leg{{"", 4}, {reopen, 2}}}), 7, run{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(rec.ledger.opened) / 2; rec.trouble != nil || got != want {
			t.Errorf("%s: trouble %v, %d processes, want %d", engine, rec.trouble, got, want)
		}
		for w, acks := range rec.ledger.acks {
			if len(acks) != 6 {
				t.Errorf("%s: writer %d has %d of 6 commits", engine, w, len(acks))
			}
		}
	}
}

// TestFilesThatGoBadAreNoticedByChecksums tries BuntDB with frames, all of whose bytes are under a checksum.
func TestFilesThatGoBadAreNoticedByChecksums(t *testing.T) {
	l, task := laneOf(t, "bunt", result.FaultPower)
	j := &job{task: task, of: 1}
	for range 40 {
		if _, err := l.damaged(t.Context(), j, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	bits, reads := task.flippedBits, task.readErrors
	if bits.Tries != 20 || bits.Noticed == 0 || bits.Wrong > 0 || bits.Ended > 0 {
		t.Errorf("flipped bits: %+v", bits)
	}
	if reads.Tries == 0 || reads.Noticed != reads.Tries {
		t.Errorf("pages that cannot be read: %+v", reads)
	}
}

func TestOperationsOfAMendingAreThoseUntilCommitsAreTakenAgain(t *testing.T) {
	rec := &recording{ledger: ledger{opened: []int64{5, 40}, acks: [][]ack{{{N: 1, Began: 10, Done: 12}, {N: 2, Began: 70, Done: 80}}}}}
	for i, at := range []int64{20, 30, 50, 60, 75} {
		rec.steps = append(rec.steps, powerfs.Step{Kind: powerfs.OnWrite, Monotonic: at, Failed: i == 0})
	}
	got := rec.mending(0, rand.New(rand.NewPCG(1, 1)))
	if len(got) != 3 {
		t.Fatalf("got %v, want operations 2, 3 and 4", got)
	}
	for _, op := range got {
		if op < 2 || op > 4 {
			t.Errorf("got %v, want operations 2, 3 and 4", got)
		}
	}
}
