package prove

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// laneOf returns a lane, and a task of an engine's synced class.
func laneOf(t testing.TB, engine string, fault string) (*lane, *task) {
	t.Helper()
	return laneOfClass(t, engine, kv.Synced, fault)
}

func laneOfClass(t testing.TB, engine string, class kv.Durability, fault string) (*lane, *task) {
	t.Helper()
	needsPower(t)
	o := options(t, engine, class, fault)
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
	p := &pair{entry: o.Entries[0], class: class, caps: all[class]}
	return l, r.newTask(p, fault)
}

// atEnd returns what is found in a store if power fails at the end of a recording.
func atEnd(t *testing.T, l *lane, task *task, rec *recording, rule powerfs.Rule) outcome {
	t.Helper()
	img, err := rec.end(rule)
	if err != nil {
		t.Fatal(err)
	}
	o, err := l.examineImage(t.Context(), task, img, rec)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// What a process has not given to the system dies with it: that those commits are gone breaks no
// promise, and the process that takes its place goes on behind what is there.
func TestBufferedCommitsMayDieWithTheirProcess(t *testing.T) {
	classes := map[kv.Durability]int{kv.Synced: 1, kv.Buffered: 3}
	if testing.Short() {
		delete(classes, kv.Synced)
	}
	for class, writers := range classes {
		l, task := laneOfClass(t, "pebble", class, result.FaultRecovery)
		s := task.fitted(scene{writers: writers, weak: true, legs: []leg{{"", 12}, {reopen, 3}}})
		base, err := l.record(t.Context(), task, s, 7, run{})
		if err != nil {
			t.Fatal(err)
		}
		// Until the first write to the log, what was committed is in memory.
		first := base.opOf(slices.IndexFunc(base.steps, func(s powerfs.Step) bool {
			return s.Kind == powerfs.OnWrite && strings.HasSuffix(s.Path, ".log")
		}))
		gone, c := 0, task.newCell(result.FaultRecovery, "")
		last := first + 6
		if testing.Short() {
			last = first + 2
		}
		// On a busy machine the first write to the log may be another operation in each run: then
		// others are tried until commits are gone.
		for op := first - 2; op < last || gone == 0 && op <= base.opOf(len(base.steps)-1); op++ {
			rec, err := l.record(t.Context(), task, s, 7, run{kills: []uint64{op}})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rec.ledger.resumed {
				if killed := rec.past.Unsure[r.W]; len(killed) > 0 && killed[0].N > r.After+1 {
					gone++
				}
			}
			for w, acks := range rec.ledger.acks {
				if i := slices.IndexFunc(acks, func(a ack) bool { return a.Began > rec.began }); i < 0 ||
					len(acks)-i != 5 {
					t.Errorf("%v, killed before operation %d: writer %d made %d of 5 commits since", class, op, w,
						len(acks)-i)
				}
			}
			x := newExplorer(rec, rec.behind(rec.began), "test")
			x.left = x.left[:min(4, len(x.left))]
			x.cells = func(powerfs.Rule) *cell { return c }
			x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
				return few(p.States(powerfs.Ordered, rng), rng)
			}
			if _, err := l.explore(t.Context(), task, x, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if gone == 0 {
			t.Errorf("%v: no commit died with its process: the test shows nothing", class)
		}
		if c.States == 0 || c.keeps.failed > 0 && class == kv.Synced || c.whole.failed > 0 {
			t.Errorf("%v: of %d states %d lack commits and %d are not whole: %s", class, c.States, c.keeps.failed,
				c.whole.failed, c.What)
		}
		t.Logf("%v: %d writers lost commits with their process; %d states", class, gone, c.States)
	}
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
	o := atEnd(t, l, task, rec, everything)
	tr := rec.trial(len(rec.steps))
	if lost, _ := tr.lost(o.N); o.Broken != "" || o.Torn != "" || lost > 0 || tr.acked() == 0 {
		t.Errorf("%+v, %d of %d commits are lost", o, lost, tr.acked())
	}
}

// On a machine so slow that a slice is over when it begins, a round of recoveries is the same.
func TestARoundIsTheSameHoweverSlowTheMachineIs(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bbolt", result.FaultRecovery)
	l.Rounds, l.recoveryRules = 1, []string{""}
	task = l.newTask(task.pair, result.FaultRecovery)
	more, err := l.recovery(t.Context(), &job{task: task, of: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := task.cells[0].Rounds, 10+2*roundMoments; more || got < want/2 {
		t.Errorf("%d moments were looked at, want some %d; more %v", got, want, more)
	}
}

func TestProcessesShareAStoreWhereTheEngineLetsThem(t *testing.T) {
	for engine, want := range map[string]int{"sqlite": 2, "bbolt": 1} {
		l, task := laneOf(t, engine, result.FaultPower)
		rec, err := l.record(t.Context(), task, task.fitted(scene{writers: 2, apart: true,
			legs: []leg{{"", 4}, {reopen, 2}}}), 7, run{})
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

// TestFilesThatGoBadAreNoticedByChecksums tries BuntDB with frames, all of whose bytes are under a
// checksum.
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
	rec := &recording{ledger: ledger{opened: []int64{5, 40},
		acks: [][]ack{{{N: 1, Began: 10, Done: 12}, {N: 2, Began: 70, Done: 80}}}}}
	for i, at := range []int64{20, 30, 50, 60, 75} {
		rec.steps = append(rec.steps, powerfs.Step{Kind: powerfs.OnWrite, Monotonic: at, Failed: i == 0})
	}
	got := rec.mending(0, rand.New(rand.NewPCG(1, 1)))
	if len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 2 && got[2] != 3 {
		t.Errorf("got %v, want the failure, the operation behind it, and one of two others", got)
	}
	// A sync that takes a while fails behind what others do meanwhile.
	rec.steps = slices.Insert(rec.steps, 1, powerfs.Step{Kind: powerfs.OnWrite, Monotonic: 22},
		powerfs.Step{Done: true, Monotonic: 24})
	rec.steps[0].Kind, rec.steps[0].Until = powerfs.OnSync, 24
	if got := rec.mending(0, rand.New(rand.NewPCG(1, 1))); len(got) != 3 || got[0] != 1 || got[1] != 2 {
		t.Errorf("got %v, want operations 1 and 2 behind the failure, and another", got)
	}
}

// Who dies right behind a failed sync is one of deaths, unless the next sync would fail as well.
func TestFollowsOfSyncsComeFirst(t *testing.T) {
	t.Parallel()
	j := &job{}
	for n, of := range []target{{Fault: powerfs.Fault{Op: powerfs.OnWrite}}, {Fault: powerfs.Fault{Op: powerfs.OnSync}},
		{Fault: powerfs.Fault{Op: powerfs.OnSync, Again: 1}}} {
		of.scene = n
		j.followLater(of, of.options(), []uint64{0, 1, 2}, n != 1)
	}
	var got [][2]int
	for _, f := range j.follows {
		got = append(got, [2]int{f.scene, int(f.op)})
	}
	if want := [][2]int{{2, 0}, {2, 1}, {1, 1}, {2, 2}, {1, 2}, {0, 0}, {0, 1}, {0, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSyncsOfCommitsAreOfTheFileThatIsSyncedMostOften(t *testing.T) {
	r := &recording{}
	for _, name := range []string{"000001.log", "MANIFEST", "000002.log"} {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnSync, Path: name})
	}
	for i, want := range []bool{true, false, true, false} {
		if got := r.ofCommits(i); got != want {
			t.Errorf("step %d: got %v, want %v", i, got, want)
		}
	}
}

// A few states of a moment are of as many sorts: those of one sort often show the same.
func TestFewStatesAreOfManySorts(t *testing.T) {
	d, err := powerfs.New(powerfs.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Create(powerfs.Root, "f", 0o600, powerfs.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(20) {
		if _, err := d.Write(f.ID, 4096*i, make([]byte, 4096), powerfs.FromCall); err != nil {
			t.Fatal(err)
		}
	}
	p, err := d.Tape().Play()
	if err == nil {
		err = p.Forward(21)
	}
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		sorts := map[string]bool{}
		for _, s := range few(p.States(powerfs.Ordered, rng), rng) {
			sorts[s.Sort()] = true
		}
		if len(sorts) != 5 || !sorts["nothing"] {
			t.Errorf("got %v, want nothing and four others", sorts)
		}
	}
}

func TestASnapshotIsHeldWhileOthersCommit(t *testing.T) {
	for engine, want := range map[string]string{"moving": "a snapshot shows other pairs", "sqlite": "", "bunt": ""} {
		l, task := laneOf(t, engine, result.FaultPower)
		rec, err := l.record(t.Context(), task, scene{writers: 1, legs: []leg{{"", 4}, {hold, 3}}}, 7, run{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rec.trouble); want == "" && rec.trouble != nil || !strings.Contains(got, want) {
			t.Errorf("%s: trouble %v, want %q", engine, rec.trouble, want)
		}
		if len(rec.ledger.acks[0]) != 7 {
			t.Errorf("%s: %d of 7 commits", engine, len(rec.ledger.acks[0]))
		}
	}
}

func TestOneOfSeveralProcessesDies(t *testing.T) {
	l, task := laneOf(t, "sqlite", result.FaultRecovery)
	s := task.fitted(scene{writers: 2, apart: true, small: true, legs: []leg{{"", 12}, {reopen, 3}}})
	died, c := 0, task.newCell(result.FaultRecovery, "")
	for op := uint64(60); op <= 120; op += 20 {
		rec, err := l.record(t.Context(), task, s, op, run{dies: op})
		if err != nil {
			t.Fatal(err)
		}
		if rec.trouble != nil || len(rec.ledger.acks[0]) != 15 {
			t.Errorf("killed before operation %d: the other made %d of 15 commits, trouble %v", op,
				len(rec.ledger.acks[0]), rec.trouble)
		}
		if len(rec.ledger.acks[1]) < 15 && len(rec.past.Unsure[1]) == 1 {
			died++
		}
		x := newExplorer(rec, rec.behind(rec.began), "test")
		x.left = x.left[:min(6, len(x.left))]
		x.cells = func(powerfs.Rule) *cell { return c }
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
			return few(p.States(powerfs.Ordered, rng), rng)
		}
		if _, err := l.explore(t.Context(), task, x, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if died == 0 || c.States == 0 || c.keeps.failed+c.whole.failed > 0 {
		t.Errorf("%d died; of %d states %d lack commits and %d are not whole: %s", died, c.States, c.keeps.failed,
			c.whole.failed, c.What)
	}
}

func TestBackupThatIsOldIsFound(t *testing.T) {
	for engine, want := range map[string]string{"bbolt": "", "late-backup": "backup: "} {
		l, task := laneOf(t, engine, result.FaultPower)
		rec, err := l.record(t.Context(), task, scene{writers: 1, legs: []leg{{"", 4}, {backup, 3}, {"", 2}}}, 7, run{})
		if err != nil {
			t.Fatal(err)
		}
		if rec.trouble != nil || len(rec.ledger.copies) != 1 {
			t.Fatalf("%s: trouble %v, %d backups", engine, rec.trouble, len(rec.ledger.copies))
		}
		c := task.newCell(result.FaultPower, "")
		x := newExplorer(rec, rec.behind(rec.ledger.copies[0].Began), "test")
		x.left = x.left[:min(12, len(x.left))]
		x.cells = func(powerfs.Rule) *cell { return c }
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
			return few(p.States(powerfs.Ordered, rng), rng)
		}
		if _, err := l.explore(t.Context(), task, x, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if broke := c.whole.failed > 0; broke != (want != "") || !strings.HasPrefix(c.What, want) {
			t.Errorf("%s: of %d states %d are not whole: %s", engine, c.States, c.whole.failed, c.What)
		}
	}
}

// The kernel tells who writes across the end of a page how much was written when the rest fails,
// and he writes that again. A failure must meet him there as well: else nobody hears of it.
func TestAWriteFailsThoughItsRestIsWrittenAgain(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "sqlite", result.FaultEIO)
	j := &job{task: task, of: 1}
	runs, err := l.healthyRuns(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if j.targets, err = l.targetsOf(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	const scene = 0
	for i, f := range faultsAt(runs[scene].steps) {
		if !continues(runs[scene].steps, i) || !runs[scene].endsCommit(i) {
			continue
		}
		for _, target := range j.targets {
			if target.scene != scene || target.Op != f.Op || target.Match != f.Match || target.Nth != f.Nth {
				continue
			}
			rec, err := l.record(t.Context(), task, j.fitted(faulty[scene]), mix(l.Seed, "faulty", scene),
				run{options: target.options()})
			if err != nil {
				t.Fatal(err)
			}
			if len(rec.strikes) == 0 || len(rec.ledger.failed) == 0 {
				t.Errorf("%+v: struck %d times, and %d commits failed", target, len(rec.strikes), len(rec.ledger.failed))
			}
		}
		return
	}
	t.Fatal("no commit ends with the rest of a write")
}
