package stats

import (
	"fmt"

	"github.com/assaydb/assay/lab/result"
)

// Share is a number of things among all.
type Share struct{ Part, Of int }

// Fraction returns the share as a number from 0 to 1; of nothing, it is 0.
func (s Share) Fraction() float64 {
	if s.Of == 0 {
		return 0
	}
	return float64(s.Part) / float64(s.Of)
}

// String returns the share as "3 of 200 (1.5%)".
func (s Share) String() string {
	return fmt.Sprintf("%d of %d (%.1f%%)", s.Part, s.Of, 100*s.Fraction())
}

// AA returns how many of the comparisons of a finished run were called different. In a run of one engine under several
// names there is no difference to find, so that this is how often the lab is wrong.
func AA(run *result.Run) Share {
	var s Share
	for _, c := range run.Cells {
		if c.Ratio == nil || c.Ratio.To == c.Name() {
			continue
		}
		s.Of++
		if c.Ratio.Different {
			s.Part++
		}
	}
	return s
}
