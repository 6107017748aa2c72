package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// recording is how long the slices of an operation took in a real run, round by round, in
// thousandths of their mean: what was measured together on several engines, with the machine's
// drift, bursts, modes and slow syncs in it.
type recording struct {
	Name       string
	Rounds     int // of a sitting, one after the other; 0 if all rounds are of the same processes
	Contenders [][]float64
}

// quiet reports whether it is of a quiet machine, with what distinguishes processes in it.
func (r recording) quiet() bool { return r.Rounds > 0 }

// shared returns the first of effects: sittings are only alike among who shared them.
func (r recording) shared(effects ...float64) []float64 {
	if r.quiet() {
		return effects[:min(len(effects), len(r.Contenders))]
	}
	return effects
}

func recordings(t *testing.T) (all []recording) {
	t.Helper()
	data, err := os.ReadFile("testdata/noise.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() { // of a busy machine and of a quiet one
		some := all[:0]
		for i := 0; i < len(all); i += 6 {
			some = append(some, all[i])
		}
		return some
	}
	return all
}

// quietOne returns a recording of a quiet machine on which several contenders were measured.
func quietOne(t *testing.T) recording {
	t.Helper()
	for _, r := range recordings(t) {
		if r.quiet() && len(r.Contenders) > 3 {
			return r
		}
	}
	t.Fatal("no recording of a quiet machine")
	return recording{}
}

// table simulates one operation on contenders, of which each takes its effect times as long as one
// of effect 1.
type table struct {
	rng       *rand.Rand
	noise     recording
	bias      float64 // sigma of what distinguishes processes
	effects   []float64
	cells     []result.Cell
	columns   []int // in the recording, by contender; nil if all are alike
	round     int
	sitting   int
	looks     int
	at, shift int // in the recording
}

// newTable returns a table of contenders whose noise is alike.
func newTable(rng *rand.Rand, noise recording, effects ...float64) *table {
	t := &table{rng: rng, noise: noise, bias: 0.01, effects: effects}
	for i := range effects {
		t.cells = append(t.cells, cell("put", string(rune('A'+i)), nil))
	}
	return t
}

// blockRounds is how many rounds are taken from a recording in a row, so that what lasts some
// rounds lasts here, too.
const blockRounds = 4

// length is how many rounds a sitting has.
func (t *table) length() int {
	if t.noise.quiet() {
		return t.noise.Rounds
	}
	return 12
}

// sit adds so many rounds of new processes to the cells that are in the race.
func (t *table) sit(rounds int) {
	bias := make([]float64, len(t.cells))
	for i := range bias {
		bias[i] = t.bias * t.rng.NormFloat64()
	}
	next := t.blocks
	if t.noise.quiet() {
		clear(bias)
		next = t.sittings
	}
	for r := range rounds {
		if t.sitting == 0 && r == t.length()/2 {
			t.look()
		}
		t.round++
		draw := next(r)
		for i := range t.cells {
			if t.cells[i].Early != "" {
				continue
			}
			ns := 1000 * t.effects[i] * math.Exp(bias[i]) * draw(i) / 1000
			t.cells[i].Samples = append(t.cells[i].Samples, result.Sample{Round: t.round, N: 10, NS: ns,
				Process: t.sitting})
		}
	}
	t.sitting++
}

// blocks draws some rounds in a row from anywhere. It returns what each contender has in round r.
func (t *table) blocks(r int) func(contender int) float64 {
	if t.at++; r%blockRounds == 0 {
		t.at, t.shift = t.rng.IntN(len(t.noise.Contenders[0])), t.rng.IntN(len(t.noise.Contenders))
	}
	return func(i int) float64 {
		column := t.noise.Contenders[(i+t.shift)%len(t.noise.Contenders)]
		if t.columns != nil {
			column = t.noise.Contenders[t.columns[i]]
		}
		// Which contender meets a slow moment is chance: it is that of the same round, or of one
		// beside it.
		return column[(t.at+t.rng.IntN(2))%len(column)]
	}
}

// sittings draws all rounds of one recorded sitting, whoever is who in it.
func (t *table) sittings(r int) func(contender int) float64 {
	n, all := len(t.noise.Contenders), len(t.noise.Contenders[0])
	if r == 0 {
		t.at, t.shift = t.rng.IntN(all/t.noise.Rounds)*t.noise.Rounds, t.rng.IntN(n)
	}
	return func(i int) float64 {
		return t.noise.Contenders[(i+t.shift)%n][(t.at+r)%all]
	}
}

// race runs the whole race as package bench does: sittings, looks, and the end after most rounds.
func (t *table) race(most int) result.Run {
	for t.sit(t.length()); t.look() && t.round < most; {
		t.sit(min(t.length(), most-t.round))
	}
	run := result.Run{Cells: t.cells}
	Finish(&run)
	return run
}

// look lets leave who may, and reports whether anybody goes on.
func (t *table) look() (open bool) {
	t.looks++
	for i, s := range Look(t.cells, t.looks, Rule{Precision: 0.05}) {
		t.cells[i].Early = s.Early
		open = open || s.Early == ""
	}
	return open
}

// checked runs many races and counts what was right.
func checked(noise recording, most, races int, effects ...float64) (k Check, covered Share) {
	rng := rand.New(rand.NewPCG(3, uint64(most)))
	for range races {
		r := newTable(rng, noise, effects...).race(most)
		k.Add(&r, func(name string) float64 { return effects[name[0]-'A'] - 1 })
		for i, c := range r.Cells {
			if c.Ratio != nil && c.Ratio.To != c.Name() {
				truth := effects[i] / effects[c.Ratio.To[0]-'A']
				covered.count(c.Ratio.Lo <= truth && truth <= c.Ratio.Hi)
			}
		}
	}
	return k, covered
}

func (s *Share) add(o Share) { s.Part, s.Of = s.Part+o.Part, s.Of+o.Of }

// races is how many are simulated of each kind. Fewer would need wider limits.
const races = 80

// machines are those of which there are recordings. All of their noise is in every simulation.
var machines = map[bool]string{true: "quiet machine", false: "busy machine"}

// Looking again and again, leaving early and choosing the fastest by looking are all in it.
func TestARaceInventsNoDifference(t *testing.T) {
	all := map[bool]Share{}
	for _, noise := range recordings(t) {
		most := 60
		if noise.quiet() {
			most = 8 * noise.Rounds
		}
		k, covered := checked(noise, most, races, noise.shared(1, 1, 1, 1, 1)...)
		t.Logf("%s: %v different, covered %v", noise.Name, k.False, covered)
		if k.False.Fraction() > 0.05 || covered.Fraction() < 0.95 {
			t.Errorf("%s: called different though equal are %v; the interval holds the ratio in %v", noise.Name, k.False,
				covered)
		}
		k.False.add(all[noise.quiet()])
		all[noise.quiet()] = k.False
	}
	for quiet, most := range map[bool]float64{true: 0.01, false: 0.02} {
		of := all[quiet]
		if t.Logf("%s: false differences %v", machines[quiet], of); of.Of == 0 || of.Fraction() > most {
			t.Errorf("%s: called different though equal are %v, want at most %v", machines[quiet], of, most)
		}
	}
}

// What is outside of the margin is seldom called equivalent, though looked at again and again. What
// is well inside is mostly found to be, if the machine is quiet.
func TestARaceInventsNoEquivalence(t *testing.T) {
	if testing.Short() {
		t.Skip("its races are the longest: without -short")
	}
	var right Share
	for _, noise := range recordings(t) {
		rng := rand.New(rand.NewPCG(13, 13))
		var wrong Share
		for range races {
			effects := noise.shared(1, 1.12, 1.02, 1.3)
			r := newTable(rng, noise, effects...).race(8 * 20)
			for i, c := range r.Cells {
				switch {
				case c.Ratio == nil || c.Ratio.To != "A":
				case effects[i] == 1.12:
					wrong.count(c.Ratio.Equivalent)
				case effects[i] == 1.02 && noise.quiet():
					right.count(c.Ratio.Equivalent)
				}
			}
		}
		t.Logf("%s: equivalent at 12 %% %v", noise.Name, wrong)
		if wrong.Fraction() > 0.02 {
			t.Errorf("%s: 12 %% slower is called equivalent in %v", noise.Name, wrong)
		}
	}
	if t.Logf("quiet machine: equivalent at 2 %% %v", right); right.Fraction() < 0.7 {
		t.Errorf("2 %% slower is called equivalent in only %v", right)
	}
}

// What is there is found on a quiet machine. On a busy one that is not promised, but what is found
// is right there, too.
func TestARaceFindsWhatIsThere(t *testing.T) {
	var at10, at25 Share
	wrong := map[bool]Share{}
	for _, noise := range recordings(t) {
		found := map[float64]Share{}
		var covered, of Share
		for _, slow := range []float64{1.10, 1.25} { // one at a time, so that two contenders are enough
			k, c := checked(noise, 80, races, noise.shared(1, slow, 1, 1)...)
			found[slow] = k.Found[slow-1]
			of.add(k.Wrong)
			covered.add(c)
		}
		t.Logf("%s: found at 25 %% %v, at 10 %% %v, wrong %v, covered %v", noise.Name, found[1.25], found[1.10], of,
			covered)
		if covered.Fraction() < 0.95 {
			t.Errorf("%s: the interval holds the ratio in %v", noise.Name, covered)
		}
		of.add(wrong[noise.quiet()])
		wrong[noise.quiet()] = of
		if noise.quiet() {
			at10.add(found[1.10])
			at25.add(found[1.25])
		}
	}
	if t.Logf("quiet machine: found at 25 %% %v, at 10 %% %v", at25, at10); at25.Fraction() < 0.95 ||
		at10.Fraction() < 0.7 {
		t.Errorf("quiet machine: found at 25 %% are %v, want 95 %%; at 10 %% %v, want 70 %%", at25, at10)
	}
	for quiet, of := range wrong {
		if t.Logf("%s: wrong %v", machines[quiet], of); of.Fraction() > 0.002 || quiet && of.Part > 0 {
			t.Errorf("%s: called the wrong way round are %v", machines[quiet], of)
		}
	}
}

// Two whose means are equal and whose tails are not: what is rare and was not seen in any round is
// in no interval. That is what longer runs are for; here it must stay seldom.
func TestTailsThatDifferSeldomMislead(t *testing.T) {
	for _, noise := range recordings(t) {
		if noise.quiet() {
			continue
		}
		rng := rand.New(rand.NewPCG(11, 11))
		var k Check
		for range races {
			tb := newTable(rng, noise, 1, 1, 1, 1, 1)
			for range tb.effects {
				tb.columns = append(tb.columns, rng.IntN(len(noise.Contenders)))
			}
			r := tb.race(60)
			k.Add(&r, func(string) float64 { return 0 })
		}
		if k.False.Fraction() > 0.15 {
			t.Errorf("%s: called different though the means are equal are %v", noise.Name, k.False)
		}
	}
}

// Who is far behind leaves, and the rounds go to those who are near each other.
func TestARaceSpendsItsRoundsOnTheClose(t *testing.T) {
	noise := quietOne(t)
	rng := rand.New(rand.NewPCG(5, 5))
	behind, near := 0.0, 0.0
	for range races {
		r := newTable(rng, noise, 1, 1.07, 30, 30).race(4 * noise.Rounds)
		near += float64(len(r.Cells[1].Samples)) / float64(races)
		for _, c := range r.Cells[2:] {
			behind += float64(len(c.Samples)) / float64(races) / 2
			if c.Early == "" || !c.Ratio.Different {
				t.Fatalf("30 times as slow: left as %q, ratio %+v", c.Early, c.Ratio)
			}
		}
	}
	if behind > float64(noise.Rounds)+1 || near < 2*behind {
		t.Errorf("those 30 times as slow got %.0f rounds, the close one %.0f", behind, near)
	}
}

func TestALookSaysHowMuchIsNeeded(t *testing.T) {
	noise := quietOne(t)
	const slower = 1.15
	rng := rand.New(rand.NewPCG(7, 7))
	var needs []float64
	for range races {
		few := newTable(rng, noise, 1, slower)
		few.sit(8)
		few.sit(8)
		if s := Look(few.cells, 2, Rule{Precision: 0.01}); s[1].Early == "" {
			needs = append(needs, s[1].More)
		}
	}
	if len(needs) < races/10 { // the others were decided by then
		t.Fatalf("only %d of %d races were open", len(needs), races)
	}
	slices.Sort(needs)
	more := needs[len(needs)/2]
	after := Share{}
	for range races {
		enough := newTable(rng, noise, 1, slower)
		for range int(math.Ceil(2 * (1 + more))) {
			enough.sit(8)
		}
		run := result.Run{Cells: enough.cells}
		Finish(&run)
		after.count(run.Cells[1].Ratio.Different || run.Cells[0].Ratio.Different)
	}
	if after.Fraction() < 0.5 {
		t.Errorf("after %.1f times as many rounds, as was said to be needed, %v are decided", 1+more, after)
	}
}

// Too few rounds say nothing of how many more are needed. They are no reason to ask for none.
func TestTooFewRoundsNeedMore(t *testing.T) {
	for _, rounds := range []int{1, MinRounds - 1} {
		cells := []result.Cell{cell("put", "a", samples(rounds, 100)), cell("put", "b", samples(rounds, 130))}
		for _, group := range [][]result.Cell{cells, cells[:1]} {
			most := 0.0
			for _, s := range Look(group, 1, Rule{Precision: 0.05}) {
				most = max(most, s.More)
			}
			if most <= 0 || most >= Hopeless {
				t.Errorf("%d contenders with %d rounds need %v times as many more", len(group), rounds, most)
			}
		}
	}
}

// An answer names the best engine, in whichever form: between two forms of it nobody waits, unless
// no other engine is there.
func TestNobodyWaitsForAnotherFormOfTheBest(t *testing.T) {
	cells := []result.Cell{cell("put", "a", unsteady(12, 100, 3)), formed(cell("put", "a", unsteady(12, 103, 5)), "sql"),
		cell("put", "b", samples(12, 900))}
	s := Look(cells, 1, Rule{Precision: 0.01})
	if s[0].More+s[1].More > 0 || s[0].Early != "" || s[1].Early != "" || s[2].Early == "" {
		t.Errorf("beside another engine: %+v, want none waited for, and both forms in the race", s)
	}
	if s = Look(cells[:2], 1, Rule{Precision: 0.01}); s[0].More+s[1].More == 0 {
		t.Errorf("alone: %+v, want one waited for", s)
	}
}

// Who is far behind stays if every ratio matters, until it is known.
func TestEvenLetsNobodyLeaveEarly(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	tb := newTable(rng, quietOne(t), 1, 30)
	tb.sit(24)
	if s := Look(tb.cells, 1, Rule{Precision: 0.05}); s[1].Early != result.EarlyBehind {
		t.Fatalf("30 times as slow: %+v", s[1])
	}
	if s := Look(tb.cells, 1, Rule{Precision: 0.001, Even: true}); s[0].Early != "" || s[1].Early != "" ||
		s[1].More <= 0 {
		t.Errorf("30 times as slow, and to be known to 0.1 %%: %+v", s)
	}
	if s := Look(tb.cells, 1, Rule{Precision: 10, Even: true}); s[1].Early != result.EarlyDecided {
		t.Errorf("known well enough: %+v", s[1])
	}
}
