package prove

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// finish gives a cell its verdicts.
func (r *runner) finish(t *task, c *cell) result.ProofCell {
	keeps, whole := claims(t.caps, t.fault, c.Rule)
	c.Keeps = c.finding(t, keeps, c.keeps)
	if c.Keeps.Verdict == result.Proved && c.Acked == 0 {
		c.Keeps = result.Finding{Claimed: keeps, Verdict: result.Unproved,
			Why: "no commit was acknowledged before a fault"}
	}
	c.Whole = c.finding(t, whole, c.whole)
	if f := t.measured; f != nil && f.commits > 0 {
		per := func(n int64) *float64 { v := float64(n) / float64(f.commits); return &v }
		c.SyncsPerCommit, c.WritesPerCommit, c.BytesPerCommit = per(int64(f.syncs)), per(int64(f.writes)), per(f.bytes)
	}
	return c.ProofCell
}

// claims returns what a driver promises of a store after a fault.
//
// Keeps: Synced promises it under every fault, Flushed when the process is killed. Whole: every
// class promises it after a kill; when the power or the disk fails Synced does, and any other whose
// promise is intact, unless it says that a failing disk may break the store. Nothing is promised
// under the strict rule for entries, which no common file system follows; it is measured as
// portability.
func claims(c caps, fault, rule string) (keeps, whole bool) {
	switch fault {
	case result.FaultKill:
		return c.Class <= kv.Flushed, true
	case result.FaultEIO, result.FaultENOSPC:
		return c.Class == kv.Synced, (c.Intact || c.Class == kv.Synced) && !c.DiskMayBreak
	}
	ordered := !strings.HasPrefix(rule, "strict/")
	return ordered && c.Class == kv.Synced, ordered && (c.Intact || c.Class == kv.Synced)
}

// finding is the verdict on one property: disproved by a single image, otherwise proved as far as
// the number of runs goes, for images of one run are no trials of their own, unless the task did
// not come to its end.
func (c *cell) finding(t *task, claimed bool, y tally) result.Finding {
	f := result.Finding{Claimed: claimed, Failed: y.failed}
	switch {
	case y.failed > 0:
		f.Verdict, f.Seed = result.Disproved, y.seed
		f.Command = c.command(t, y)
	case t.void != nil && t.fault != result.FaultKill:
		f.Verdict, f.Why = result.Unproved, t.void.Error()
	case t.why != "":
		f.Verdict, f.Why = result.Unproved, t.why
	case c.Late > 0:
		f.Verdict, f.Why = result.Unproved, fmt.Sprintf("not verified in time: %d, beside %d in time", c.Late, c.Images)
		if c.shown != nil && c.shown.dir != "" {
			f.Why += "; one of them again: " + c.command(t, y)
		}
	case c.judged == 0:
		f.Verdict, f.Why = result.Unproved, "no time was left for it"
	default:
		f.Verdict, f.UpperBound = result.Proved, upperBound(c.Cuts)
	}
	return f
}

// upperBound returns the rate of failure at which n trials without one would have a probability of
// 5 %.
func upperBound(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }

// command returns the command that shows again what y counts: the very state if it was kept,
// otherwise as many rounds as show it with a probability of 99 %.
func (c *cell) command(t *task, y tally) string {
	if c.shown != nil && c.shown.dir != "" {
		return "assay prove --again " + quote(c.shown.dir)
	}
	engine := t.entry.Name
	if t.entry.Options != "" || engine != t.entry.Engine {
		engine += "=" + t.entry.URL()
	}
	args := []string{"assay", "prove", "--engines", quote(engine), "--durability", t.class.String(), "--faults",
		t.fault}
	if c.Rule != "" {
		args = append(args, "--rule", c.Rule)
	}
	rounds := roundsFor(float64(len(y.trials)) / float64(max(len(c.runs), 1)))
	return strings.Join(append(args, "--seed", strconv.FormatUint(y.seed, 10), "--rounds", strconv.Itoa(rounds)), " ")
}

// roundsFor returns how many rounds show with a probability of 99 % what one shows with p.
func roundsFor(p float64) int {
	const most = 50
	if p >= 0.99 {
		return 1
	}
	return min(int(math.Ceil(math.Log(0.01)/math.Log(1-max(p, 0.01)))), most)
}

// quote makes word one word of a shell.
func quote(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:/.,") == "" {
		return word
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(word, "'", `'\''`))
}
