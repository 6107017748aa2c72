package workload

import (
	"reflect"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// inputs returns what a Runner drew in slices of these lengths.
func inputs(t *testing.T, op Op, seed uint64, slices ...int) []any {
	t.Helper()
	r, err := op.New(Env{Engine: "any", Seed: seed, Self: []string{"any"}})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, n := range slices {
		if err := r.Prepare(n); err != nil {
			t.Fatal(err)
		}
		var drawn reflect.Value
		switch r := r.(type) {
		case *hookRunner:
			drawn = reflect.ValueOf(r.steps)
		case *sharedRunner:
			drawn = reflect.ValueOf(r.keys)
		case *staleRunner:
			drawn = reflect.ValueOf(r.groups)
		case *stormRunner:
			drawn = reflect.ValueOf(r.keys)
		case crowdRunner:
			drawn = reflect.ValueOf(r.steps)
		case *processRunner:
			drawn = reflect.ValueOf(r.steps)
		}
		for i := range drawn.Len() {
			all = append(all, drawn.Index(i).Interface())
		}
	}
	return all
}

func TestHookDrawsTheSameInputsFromTheSameSeed(t *testing.T) {
	for _, op := range hook.Ops {
		one := inputs(t, op, 1, 50)
		if !reflect.DeepEqual(one, inputs(t, op, 1, 50)) {
			t.Errorf("%s: the same seed gave other inputs", op.Name)
		}
		if !reflect.DeepEqual(one, inputs(t, op, 1, 20, 30)) {
			t.Errorf("%s: slices of other lengths gave other inputs", op.Name)
		}
		if reflect.DeepEqual(one, inputs(t, op, 2, 50)) {
			t.Errorf("%s: another seed gave the same inputs", op.Name)
		}
	}
}

func TestHookMixesHaveTheirParts(t *testing.T) {
	session, _ := hook.Op("session")
	puts := 0
	for _, s := range inputs(t, session, 3, 10) {
		if s.(hookStep).put {
			puts++
		}
	}
	if puts != 10*sessionPuts {
		t.Errorf("%d puts in 10 sessions, want %d", puts, 10*sessionPuts)
	}
	processes, _ := hook.Op("processes_4")
	const n = 20_000
	puts = 0
	var kills [3]int
	for i, s := range inputs(t, processes, 3, n) {
		if s.(processStep).put {
			puts++
		}
		if i%processes.Cycle == processes.Cycle-1 && puts*processes.Cycle != i+1 {
			t.Fatalf("%d of the first %d processes put, want one in each %d", puts, i+1, processes.Cycle)
		}
		kills[s.(processStep).kill]++
	}
	if share := float64(n-kills[notKilled]) / n; share < 0.045 || share > 0.055 {
		t.Errorf("%v of the processes are killed, want 0.05", share)
	}
}

// A ledger follows processes of one key, which the store holds in version 1.
func TestALedgerKnowsWhatMayBeThere(t *testing.T) {
	put, get := hookStep{put: true}, hookStep{}
	type event struct {
		step   hookStep
		report processReport
	}
	committed := processReport{version: 2, killed: true}
	for _, c := range []struct {
		name      string
		events    []event
		may, mayN []uint64 // versions that the store may hold, and not
	}{
		{"nothing happened", nil, []uint64{1}, []uint64{0, 2}},
		{"a put was acknowledged", []event{{put, processReport{closed: true}}}, []uint64{2}, []uint64{0, 1, 3}},
		{"a put was killed before it said anything", []event{{put, processReport{killed: true}}}, []uint64{1, 2},
			[]uint64{0, 3}},
		{"a put was killed after it had committed", []event{{put, committed}}, []uint64{2}, []uint64{1}},
		{"a put got no lock", []event{{put, processReport{busy: true}}}, []uint64{1}, []uint64{0, 2}},
		{"two puts were killed", []event{{put, processReport{killed: true}}, {put, processReport{killed: true}}},
			[]uint64{1, 2, 3}, []uint64{0, 4}},
		{"a put was killed and a get saw it", []event{{put, processReport{killed: true}},
			{get, processReport{version: 2, closed: true}}},
			[]uint64{2}, []uint64{1}},
		{"a put was killed, and the next one acknowledged", []event{{put, processReport{killed: true}},
			{put, processReport{closed: true}}},
			[]uint64{3}, []uint64{1, 2}},
		{"a get was killed", []event{{get, processReport{killed: true}}}, []uint64{1}, []uint64{0, 2}},
	} {
		settle := func(version uint64) error {
			l := newHookLedger([]uint64{1})
			for _, e := range c.events {
				if err := l.end(l.begin(e.step), e.report); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
			return l.settle(0, version)
		}
		for _, v := range c.may {
			if err := settle(v); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		for _, v := range c.mayN {
			if settle(v) == nil {
				t.Errorf("%s: version %d passes", c.name, v)
			}
		}
	}
}

func TestALedgerRefusesReadsOfWhatCannotBeThere(t *testing.T) {
	l := newHookLedger([]uint64{5, 5})
	for _, version := range []uint64{4, 6} {
		if l.end(l.begin(hookStep{}), processReport{version: version, closed: true}) == nil {
			t.Errorf("version %d passes", version)
		}
	}
	get := l.begin(hookStep{})
	put := l.begin(hookStep{put: true})
	if put.key != 0 || put.version != 6 {
		t.Fatalf("put %+v, want key 0 in version 6", put)
	}
	if err := l.end(get, processReport{version: 6, closed: true}); err != nil {
		t.Errorf("a get beside a put: %v", err)
	}
	if other := l.begin(hookStep{put: true}); other.key != 1 || other.version == 0 {
		t.Errorf("a second put of the same key became %+v, want a put of the next key", other)
	}
	if third := l.begin(hookStep{put: true}); third.version != 0 {
		t.Errorf("with every key being put, a put became %+v, want a get", third)
	}
}

func TestAProcessReportIsReadAsFarAsItIsWhole(t *testing.T) {
	for text, want := range map[string]processReport{
		"":                            {},
		"done 12":                     {},
		"done 12\n":                   {version: 12},
		"done 12\nclosed 30 4":        {version: 12},
		"done 12\nclosed 30 40\n":     {version: 12, closed: true, wait: 30, work: 40},
		"busy 50\n":                   {busy: true, wait: 50},
		"closed 1000000000 2000000\n": {closed: true, wait: time.Second, work: 2 * time.Millisecond},
	} {
		if got, err := parseProcessReport(text); got != want || err != nil {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"goodbye\n", "done x\n", "closed 1\n"} {
		if _, err := parseProcessReport(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestAHookTaskIsPassedOnWhole(t *testing.T) {
	want := hookTask{form: stateForm, url: "sqlite:/a%20b?x=1&y=2", durability: kv.Buffered,
		values: values{seed: 1<<64 - 1, size: 128}, key: 7, version: 9, kill: 1500 * time.Microsecond,
		wait: 2 * time.Second}
	args := want.args()
	if got, err := parseHookTask(args[1:]); got != want || err != nil || args[0] != hookHelperName {
		t.Errorf("%q: got %+v, %v; want %+v", args, got, err, want)
	}
}
