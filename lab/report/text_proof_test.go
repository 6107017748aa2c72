package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
)

func proofText(t *testing.T, p *result.Proof, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Proof(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProofLooksAsItDid(t *testing.T) {
	for name, o := range map[string]Options{
		"proof80.golden": {}, "proof120.golden": {Width: 120}, "proof160.golden": {Width: 160},
		"proof_ascii80.golden":  {ASCII: true},
		"proof_color160.golden": {Width: 160, Color: true},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, proofText(t, exampleProof(), o)) })
	}
}

func TestNoLineOfAProofIsWiderThanThePage(t *testing.T) {
	for _, width := range []int{0, 72, 80, 100, 120, 160, 240} {
		for _, color := range []bool{false, true} {
			o := Options{Width: width, Color: color}
			for l := range strings.Lines(proofText(t, exampleProof(), o)) {
				if got := lipgloss.Width(strings.TrimSuffix(l, "\n")); got > o.width() {
					t.Errorf("at %d columns a line has %d:\n%s", width, got, l)
				}
			}
		}
	}
}

func TestPlainProofHasNoEscapes(t *testing.T) {
	for _, o := range []Options{{}, {Width: 160}, {ASCII: true}} {
		got := proofText(t, exampleProof(), o)
		if strings.Contains(got, "\x1b") || strings.Contains(got, " \n") {
			t.Errorf("%+v: escape sequences, or spaces at the end of a line", o)
		}
		if o.ASCII && strings.ContainsFunc(got, func(r rune) bool { return r > 0x7e }) {
			t.Errorf("characters beyond ASCII in\n%s", got)
		}
	}
}

func TestProofTellsABrokenPromiseFromWhatWasNeverPromised(t *testing.T) {
	got := proofText(t, exampleProof(), Options{Width: 160})
	broken, rest, _ := strings.Cut(got, "What is not promised, and did not hold")
	_, broken, _ = strings.Cut(broken, "Broken promises")
	if !strings.Contains(broken, "bunt · synced") || strings.Contains(broken, "sqlite") ||
		strings.Contains(broken, "pebble") {
		t.Errorf("among the broken promises:\n%s", broken)
	}
	for _, want := range []string{"pebble · buffered, intact · kill -9", "bbolt · flushed, may break · power cut",
		"invalid database", "sqlite-delete-full", "badger · synced · power cut in strict order"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing among what was not promised:\n%s", want, rest)
		}
	}
	if !strings.Contains(got, "assay prove --engines bunt --durability synced --faults power --seed 4711") {
		t.Error("the command that shows the broken promise again is missing")
	}
}

// What was interrupted, or has a control that failed, was tried all the same.
func TestWhatWasTriedInPartIsNotCalledUntried(t *testing.T) {
	p := exampleProof()
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Keeps.Verdict, c.Keeps.Why = result.Unproved, "interrupted"
		c.Whole.Verdict, c.Whole.Why = result.Unproved, "interrupted"
		c.Images = 3
	}
	if got := proofText(t, p, Options{Width: 240}); strings.Contains(got, "not tried at all") {
		t.Errorf("all was tried three times:\n%s", got)
	}
}

func TestTheStoryOfABrokenPromiseIsNamed(t *testing.T) {
	p := exampleProof()
	if got := proofText(t, p, Options{}); strings.Contains(got, "story.txt") {
		t.Errorf("nothing was kept:\n%s", got)
	}
	for i := range p.Cells {
		if c := &p.Cells[i]; c.Whole.Broken() {
			c.Whole.Command = "assay prove --again evidence/1"
		}
	}
	if got := proofText(t, p, Options{}); !strings.Contains(got, "story.txt") {
		t.Errorf("what was kept is not named:\n%s", got)
	}
}

func TestVerdictOfAProof(t *testing.T) {
	p := exampleProof()
	if got := proofText(t, p, Options{Width: 240}); !strings.Contains(got,
		"1 of 9 promises broken: bunt · synced. 7 promises held") {
		t.Errorf("with a broken promise:\n%s", got)
	}
	for i := range p.Cells {
		if p.Cells[i].Engine == "bunt" {
			p.Cells[i].Whole.Verdict, p.Cells[i].Whole.Failed = result.Proved, 0
		}
	}
	if got := proofText(t, p, Options{Width: 240}); !strings.Contains(got,
		"No promise was broken: 8 promises held in all crashes that put them to the test") {
		t.Errorf("without one:\n%s", got)
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		why := func(f result.Finding) result.Finding {
			return result.Finding{Claimed: f.Claimed, Verdict: result.Unproved, Why: "interrupted"}
		}
		c.Images, c.Keeps, c.Whole = 0, why(c.Keeps), why(c.Whole)
	}
	if got := proofText(t, p, Options{Width: 240}); !strings.Contains(got,
		"? Nothing was proved: 9 promises could not") || strings.Contains(got, "No promise was broken") {
		t.Errorf("of promises none of which was tried to the end:\n%s", got)
	}
	if got := proofText(t, &result.Proof{}, Options{}); !strings.Contains(got, "Nothing was tried.") {
		t.Errorf("of nothing:\n%s", got)
	}
}

func TestMessagesOfAProofDoNotSteerTheTerminal(t *testing.T) {
	p := exampleProof()
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Engine, c.What, c.Rule = "b\x1b[31molt", "first\r\nsecond \x1b[2J", "or\x07dered/x"
		c.Keeps.Command, c.Whole.Why = "assay\x1b[0m", "\x1b]0;title\x07"
	}
	if got := proofText(t, p, Options{}); strings.ContainsAny(got, "\x1b\x07\r") {
		t.Errorf("control characters in\n%q", got)
	}
}

func TestCountsOfAProof(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Grouped(0), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(1234567), "1,234,567"},
		{Grouped(-1234), "-1,234"},
		{share(0, 10), "0%"}, {share(1, 1000), "<1%"}, {share(31, 240), "13%"}, {share(239, 240), "99%"},
		{share(240, 240), "100%"}, {share(0, 0), "0%"},
		{bound(240), "1.3 %"}, {bound(10_000), "0.03 %"}, {bound(1), "95 %"}, {bound(59), "5 %"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func FuzzProof(f *testing.F) {
	document, err := result.MarshalProof(exampleProof())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := result.ParseProof(data)
		if err != nil {
			return
		}
		proofText(t, p, Options{})
		proofText(t, p, Options{Width: 160, Color: true})
	})
}

func TestProofSaysFirstWhatCouldNotBeTried(t *testing.T) {
	p := exampleProof()
	for i := range p.Cells {
		if c := &p.Cells[i]; c.Fault == result.FaultPower || c.Fault == result.FaultRecovery {
			why := result.Finding{Claimed: c.Keeps.Claimed, Verdict: result.Unproved, Why: "there is no /dev/fuse"}
			c.Images, c.Keeps, c.Whole = 0, why, why
		}
	}
	got := proofText(t, p, Options{Width: 160})
	head, rest, _ := strings.Cut(got, "What commits survive")
	if !strings.Contains(head, "⚠ not tried at all: power cut, power cut while recovering, power cut in strict order: there is no /dev/fuse") {
		t.Errorf("the report begins with\n%s", head)
	}
	if !strings.Contains(rest, "of all promises: there is no /dev/fuse") ||
		!strings.Contains(rest, "could not be tried to the end") {
		t.Errorf("and goes on with\n%s", rest)
	}
}

func TestRulesOfOneFaultShareTheirCuts(t *testing.T) {
	cell := func(fault string, cuts, rounds, images int) result.ProofCell {
		return result.ProofCell{Fault: fault, Cuts: cuts, Rounds: rounds, Images: images, States: images / 2}
	}
	for _, c := range []struct {
		name         string
		cells        outcome
		cuts, states int
	}{
		{"two rules", outcome{cell(result.FaultPower, 20, 20, 60), cell(result.FaultPower, 20, 20, 20)}, 20, 40},
		{"two faults", outcome{cell(result.FaultEIO, 12, 12, 24), cell(result.FaultENOSPC, 8, 8, 16)}, 20, 20},
		{"rounds in one store", outcome{cell(result.FaultKill, 6, 14, 14)}, 6, 7},
		{"an older proof", outcome{cell(result.FaultKill, 0, 14, 14)}, 14, 7},
		{"nothing", outcome{cell(result.FaultKill, 0, 0, 0)}, 0, 0},
	} {
		if cuts, states := c.cells.cuts(), c.cells.states(); cuts != c.cuts || states != c.states {
			t.Errorf("%s: %d cuts and %d states, want %d and %d", c.name, cuts, states, c.cuts, c.states)
		}
	}
}

// States count for the promise that they were to break, and for no other.
func TestCountsOfAProofArePromiseByPromise(t *testing.T) {
	cell := func(delivered string, claimed bool, fault string, states int) result.ProofCell {
		f := result.Finding{Claimed: claimed, Verdict: result.Proved}
		return result.ProofCell{Engine: "badger", Delivered: delivered, Fault: fault, Images: states, States: states,
			Kills: 1, Ops: 400, Covered: 100, Worked: 100 * time.Second, Keeps: f, Whole: f}
	}
	p := &result.Proof{Cells: []result.ProofCell{cell("synced", true, result.FaultKill, 500),
		cell("synced", true, result.FaultPower, 1600), cell("flushed", true, result.FaultKill, 150),
		cell("flushed", false, result.FaultPower, 1850)}}
	got := strings.Join(strings.Fields(proofText(t, p, Options{Width: 200})), " ")
	for _, want := range []string{"2,250 states put one to the test. With 2,000 or more of its own: 1 of 2 promises; " +
		"with fewer: badger · flushed, may break (150).", "synced, may break 2,100 2,100 10.5 25% ✓",
		"flushed, may break 150 2,000 10.0 25% 1,850 short", "left 4,100 distinct states"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}
