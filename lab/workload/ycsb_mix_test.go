package workload

import (
	"errors"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

func TestAMixIsWhatItsParametersSay(t *testing.T) {
	for _, c := range []struct {
		params  map[string]string
		parts   [actDelete]int // read, update, insert, modify, scan
		cycle   int
		commits bool
	}{
		{map[string]string{"read": "50", "update": "50"}, [actDelete]int{50, 50, 0, 0, 0}, 2, true},
		{map[string]string{"update": "30", "scan": "10"}, [actDelete]int{60, 30, 0, 0, 10}, 10, true},
		{map[string]string{"insert": "1", "modify": "1", "scan": "1", "update": "1"}, [actDelete]int{96, 1, 1, 1, 1},
			100, true},
		{map[string]string{"read": "100"}, [actDelete]int{100, 0, 0, 0, 0}, 1, false},
		{map[string]string{}, [actDelete]int{100, 0, 0, 0, 0}, 1, false},
	} {
		p := Env{Params: c.params}.params(ycsbParams)
		if m := p.mix(); p.err != nil || m.parts() != c.parts {
			t.Errorf("%v: got %v, %v, want %v", c.params, m.parts(), p.err, c.parts)
		}
		op, _ := ycsb.Op("mix")
		if op = op.With(c.params); op.Cycle != c.cycle || op.Commits != c.commits {
			t.Errorf("%v: a cycle of %d, commits %v; want %d, %v", c.params, op.Cycle, op.Commits, c.cycle, c.commits)
		}
	}
}

func TestAMixOfOtherThanAHundredPercentIsRefused(t *testing.T) {
	for _, params := range []map[string]string{
		{"read": "50", "update": "40"}, {"update": "60", "scan": "60"}, {"read": "half"}, {"choose": "fairly"},
		{"insert": "-1"},
	} {
		if _, err := newMix(Env{Params: params}); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%v: got %v, hint %q", params, err, kv.HintOf(err))
		}
	}
}

// mixed returns a Runner of a mix with everything in it, on bbolt.
func mixed(t *testing.T) *ycsbRunner {
	t.Helper()
	r, err := newMix(Env{Dir: t.TempDir(), Engine: "bbolt", Durability: kv.Flushed, Seed: 3, Params: map[string]string{
		"records": "200", "update": "20", "insert": "20", "modify": "20", "scan": "20", "choose": "latest"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r.(*ycsbRunner)
}

func TestScansBesideUpdatesAreChecked(t *testing.T) {
	r := mixed(t)
	run := func(n int) (err error) {
		if err := r.Prepare(n); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < n && err == nil; i++ {
			err = r.Do(t.Context(), 0, i)
		}
		return errors.Join(err, r.Verify(t.Context()))
	}
	for range 3 {
		if err := run(200); err != nil {
			t.Fatal(err)
		}
	}
	// A record that went back to an old version is found: no slice had it.
	old := r.plan.model.versions[0]
	r.plan.model.versions[0] += 5
	r.plan.model.before = append(r.plan.model.before[:0], r.plan.model.versions...)
	if err := r.scanned(r.values.append(nil, 0, uint64(old)), 0); err == nil {
		t.Error("a stale version passed")
	}
	if err := r.scanned(r.values.append(nil, 0, uint64(old)+5), 0); err != nil {
		t.Error(err)
	}
}

func TestParametersOfAMixAskForItAlone(t *testing.T) {
	names := func(given ...string) (all []string) {
		for _, op := range ycsb.Asked(func(p string) bool { return len(given) > 0 && p == given[0] }) {
			all = append(all, op.Name)
		}
		return all
	}
	if got := names("update"); len(got) != 1 || got[0] != "mix" {
		t.Errorf("update: got %v", got)
	}
	if got := names("records"); len(got) != len(ycsb.Ops)-1 {
		t.Errorf("records: got %v", got)
	}
}
