package workload

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// loadedPlan returns the plan of an operation of ycsb with records in its model, as Setup leaves
// it.
func loadedPlan(t *testing.T, name string, seed uint64, records int) *plan {
	t.Helper()
	runner, err := newYCSB(name)(Env{Dir: t.TempDir(), Engine: "mem", Durability: kv.Buffered, Seed: seed,
		Params: map[string]string{"records": strconv.Itoa(records)}})
	if err != nil {
		t.Fatal(err)
	}
	p := &runner.(*ycsbRunner).plan
	for range records {
		p.model.add()
	}
	return p
}

func TestYCSBDrawsTheSameInputsFromTheSameSeed(t *testing.T) {
	for _, op := range ycsb.Ops {
		t.Run(op.Name, func(t *testing.T) {
			draw := func(seed uint64) (all []step) {
				p := loadedPlan(t, op.Name, seed, 500)
				for range 2 {
					p.refill(200)
					p.draw(200)
					all = append(all, p.steps...)
				}
				return all
			}
			if !slices.Equal(draw(1), draw(1)) {
				t.Error("the same seed drew other inputs")
			}
			same := slices.Equal(draw(1), draw(2))
			if drawsNothing := strings.HasPrefix(op.Name, "fill") || op.Name == "readseq"; same != drawsNothing {
				t.Errorf("another seed drew the same inputs: %v, want %v", same, drawsNothing)
			}
		})
	}
}

func TestYCSBMixesHaveTheirParts(t *testing.T) {
	const n = 20_000
	for name, want := range map[string]map[action]float64{
		"A":          {actRead: .50, actUpdate: .50},
		"B":          {actRead: .95, actUpdate: .05},
		"C":          {actRead: 1},
		"D":          {actRead: .95, actInsert: .05},
		"E":          {actScan: .95, actInsert: .05},
		"F":          {actRead: .50, actModify: .50},
		"fillseq":    {actInsert: 1},
		"fillrandom": {actInsert: 1},
		"overwrite":  {actUpdate: 1},
		"readrandom": {actRead: 1},
		"readseq":    {actScan: 1},
	} {
		p := loadedPlan(t, name, 7, 1000)
		p.draw(n)
		got := map[action]float64{}
		for _, s := range p.steps {
			got[s.action] += 1.0 / n
		}
		for a := actRead; a <= actDelete; a++ {
			if d := got[a] - want[a]; d < -0.02 || d > 0.02 {
				t.Errorf("%s: action %d is %.3f of the steps, want %.2f", name, a, got[a], want[a])
			}
		}
	}
}

func TestEverySliceOfAMixHoldsItsPartsInProportion(t *testing.T) {
	for _, op := range ycsb.Ops {
		m, known := mixes[op.Name]
		if !known || m.walks || m.deletes {
			continue
		}
		cycle := max(op.Cycle, 1)
		if want := m.cycle(); cycle != want {
			t.Errorf("%s: a cycle is %d iterations, want %d", op.Name, cycle, want)
		}
		orders := map[string]bool{}
		p := loadedPlan(t, op.Name, 7, 1000)
		for range 50 {
			for _, n := range []int{cycle, 4 * cycle} {
				p.draw(n)
				order := ""
				for first := 0; first < n; first += cycle { // any whole number of cycles may be timed apart
					var got [actDelete]int
					for _, s := range p.steps[first:][:cycle] {
						got[s.action]++
						order += strconv.Itoa(int(s.action))
					}
					for a, percent := range m.parts() {
						if got[a]*100 != percent*cycle {
							t.Fatalf("%s: action %d is %d of the %d steps from %d, want %d %%", op.Name, a, got[a], cycle,
								first, percent)
						}
					}
				}
				orders[order] = true
			}
		}
		if cycle > 1 && len(orders) < 3 {
			t.Errorf("%s: 100 slices are in %d orders", op.Name, len(orders))
		}
	}
}

func TestYCSBScansAskForOneToAHundredRecords(t *testing.T) {
	p := loadedPlan(t, "E", 3, 1000)
	p.draw(20_000)
	least, most, sum, scans := uint32(1000), uint32(0), 0, 0
	for _, s := range p.steps {
		if s.action == actScan {
			least, most, sum, scans = min(least, s.count), max(most, s.count), sum+int(s.count), scans+1
			if p.model.sorted[s.first].record != s.record {
				t.Fatalf("scan from record %d begins at record %d", s.record, p.model.sorted[s.first].record)
			}
		}
	}
	if mean := float64(sum) / float64(scans); least != 1 || most != 100 || mean < 49 || mean > 52 {
		t.Errorf("lengths from %d to %d, mean %.1f, want 1 to 100, mean 50.5", least, most, mean)
	}
}

func TestReadseqVisitsEveryRecordOnceARound(t *testing.T) {
	p := loadedPlan(t, "readseq", 3, 1000)
	p.draw(10)
	for i, s := range p.steps {
		if want := uint32(i * 100); s.first != want || s.count != 100 {
			t.Errorf("scan %d is of %d from position %d, want 100 from %d", i, s.count, s.first, want)
		}
	}
	if p.draw(1); p.steps[0].first != 0 {
		t.Errorf("the next round begins at position %d, want 0", p.steps[0].first)
	}
}

func TestDeleterandomDeletesEachRecordOnceAndPutsItBackInAnotherVersion(t *testing.T) {
	p := loadedPlan(t, "deleterandom", 3, 200)
	for round, n := range []int{150, 300, 10} {
		p.refill(n)
		before := slices.Clone(p.model.versions)
		p.draw(n)
		seen := map[record]bool{}
		for _, s := range p.steps {
			if seen[s.record] || before[s.record]&gone != 0 {
				t.Fatalf("round %d: record %d deleted twice", round, s.record)
			}
			seen[s.record] = true
			if p.model.versions[s.record] != before[s.record]|gone {
				t.Fatalf("round %d: record %d has version %x", round, s.record, p.model.versions[s.record])
			}
		}
	}
	if p.model.live() != 300 || slices.Max(p.model.versions)&^gone < 3 {
		t.Errorf("%d records of up to version %d, want 300 of 3", p.model.live(), slices.Max(p.model.versions)&^gone)
	}
}

func TestKeysSortInTheirOrder(t *testing.T) {
	for _, o := range []keyOrder{hashed, ascending} {
		m := model{order: o}
		for range 300 {
			m.add()
		}
		m.sort()
		for range 50 {
			m.add()
		}
		m.sort()
		var last []byte
		for at, p := range m.sorted {
			key := m.key(p.record)
			if slices.Compare(last, key[:]) >= 0 || !m.holds(at, key[:]) || m.position(p.record) != uint32(at) {
				t.Fatalf("order %d: key %x at position %d comes after %x", o, key, at, last)
			}
			last = key[:]
		}
		if o == ascending && m.sorted[299].record != 299 {
			t.Errorf("ascending: record %d is at position 299", m.sorted[299].record)
		}
	}
}

func TestYCSBRefusesWrongParameters(t *testing.T) {
	for _, params := range []map[string]string{{"records": "99"}, {"records": "many"}, {"value": "15"},
		{"value": "1M"}} {
		_, err := newYCSB("A")(Env{Dir: t.TempDir(), Engine: "mem", Params: params})
		if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%v: error %v, want invalid with a hint", params, err)
		}
	}
}
