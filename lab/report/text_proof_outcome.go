package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
)

// outcome is what one promise did under the faults of one column: the cells of its rules.
type outcome []result.ProofCell

func (o outcome) any(is func(result.ProofCell) bool) bool { return slices.ContainsFunc(o, is) }

func (o outcome) keepsClaimed() bool {
	return o.any(func(c result.ProofCell) bool { return c.Keeps.Claimed })
}

func (o outcome) wholeClaimed() bool {
	return o.any(func(c result.ProofCell) bool { return c.Whole.Claimed })
}

func (o outcome) claimed() bool { return o.keepsClaimed() || o.wholeClaimed() }

// broken: something that is promised was disproved.
func (o outcome) broken() bool {
	return o.any(func(c result.ProofCell) bool { return c.Keeps.Broken() || c.Whole.Broken() })
}

// unsure: something that is promised, or all there is, was not tried to the end.
func (o outcome) unsure() bool {
	return o.any(func(c result.ProofCell) bool {
		return c.Keeps.Claimed && c.Keeps.Verdict == result.Unproved || c.Whole.Claimed &&
			c.Whole.Verdict == result.Unproved
	})
}

// tried reports whether anything was found out.
func (o outcome) tried() bool {
	return o.any(func(c result.ProofCell) bool {
		return c.Keeps.Verdict != result.Unproved || c.Whole.Verdict != result.Unproved
	})
}

func (o outcome) images() int {
	n := 0
	for _, c := range o {
		n += c.Images
	}
	return n
}

// cuts returns how many independent runs there were: the rules of one fault share them. A proof
// that does not tell has no more than its rounds.
func (o outcome) cuts() int {
	most, all := map[string]int{}, 0
	for _, c := range o {
		n := c.Cuts
		if n == 0 {
			n = c.Rounds
		}
		n = min(n, c.Images)
		all += max(n-most[c.Fault], 0)
		most[c.Fault] = max(most[c.Fault], n)
	}
	return all
}

// states returns how many distinct states were opened and compared.
func (o outcome) states() int {
	n := 0
	for _, c := range o {
		n += c.States
	}
	return n
}

// lost returns in how many images acknowledged commits were missing, and how many at most; broke in
// how many the store was not whole.
func (o outcome) lost() (images int, most int64) {
	for _, c := range o {
		if c.Keeps.Verdict == result.Disproved {
			images += c.Keeps.Failed
			most = max(most, c.LostMax)
		}
	}
	return images, most
}

func (o outcome) broke() int {
	n := 0
	for _, c := range o {
		if c.Whole.Verdict == result.Disproved {
			n += c.Whole.Failed
		}
	}
	return n
}

// length is how much room a table leaves to its cells.
type length int

const (
	long length = iota
	middle
	short
)

// text says what happened, in as many words as there is room for.
func (o outcome) text(l length) string {
	lost, most := o.lost()
	broke, n := o.broke(), o.images()
	switch {
	case len(o) == 0:
		return ""
	case o.broken():
		return "✗ " + o.failure(l, broke, lost, n, most)
	case o.unsure(), !o.tried():
		return "? " + []string{"unproved", "unproved", ""}[l]
	case !o.claimed() && broke+lost > 0:
		return o.failure(l, broke, lost, n, most)
	case !o.claimed():
		return []string{fmt.Sprintf("held %s/%s", Grouped(n), Grouped(n)), "held " + Grouped(n), "held"}[l]
	case broke > 0: // what is promised held, what is not did not
		return []string{fmt.Sprintf("✓ kept %s, broke %s", Grouped(n), Grouped(broke)), "✓ " + Grouped(n) + " broke",
			"✓ broke"}[l]
	case lost > 0:
		return []string{"✓ " + Grouped(n) + ", lost a tail", "✓ " + Grouped(n) + ", tail", "✓ tail"}[l]
	case !o.keepsClaimed():
		return []string{fmt.Sprintf("✓ whole %s/%s", Grouped(n), Grouped(n)), "✓ " + Grouped(n), "✓ " + Grouped(n)}[l]
	}
	return []string{fmt.Sprintf("✓ kept %s/%s", Grouped(n), Grouped(n)), "✓ " + Grouped(n), "✓ " + Grouped(n)}[l]
}

// failure says how often the store broke or, where it never did, lost commits. A broken promise is
// counted, however rare; what was not promised is a share.
func (o outcome) failure(l length, broke, lost, n int, most int64) string {
	verb, failed := "lost", lost
	if broke > 0 && (o.wholeClaimed() || !o.broken()) {
		verb, failed = "broke", broke
	}
	switch {
	case l == short && o.broken():
		return verb + " " + Grouped(failed)
	case l == short:
		return verb + " " + share(failed, n)
	case l == long && verb == "lost" && most > 0:
		return fmt.Sprintf("lost in %s of %s, ≤ %s", Grouped(failed), Grouped(n), Grouped(int(most)))
	case l == long:
		return fmt.Sprintf("%s %s of %s", verb, Grouped(failed), Grouped(n))
	}
	return fmt.Sprintf("%s %s/%s", verb, Grouped(failed), Grouped(n))
}

// style tells a broken promise from a kept one, and both from what nobody promised.
func (o outcome) style(s styles) lipgloss.Style {
	switch {
	case o.broken():
		return s.bad
	case o.unsure(), len(o) > 0 && !o.tried():
		return s.warn
	case o.claimed():
		return s.tie
	}
	return s.dim
}

// share prints failed of n as a percentage: "13%", "<1%".
func share(failed, n int) string {
	switch {
	case failed == 0:
		return "0%"
	case failed >= n:
		return "100%"
	case 100*failed < n:
		return "<1%"
	}
	return fmt.Sprintf("%d%%", min(99, int(math.Round(100*float64(failed)/float64(n)))))
}

// bound returns the rate of failure that no failure in n tries leaves possible, at 95 % confidence,
// rounded up: "1.3 %".
func bound(n int) string {
	rate := -100 * math.Expm1(math.Log(0.05)/float64(n))
	unit := math.Pow(10, math.Floor(math.Log10(rate))-1)
	return strconv.FormatFloat(math.Ceil(rate/unit)*unit, 'g', 2, 64) + " %"
}
