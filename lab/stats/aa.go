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

func (s *Share) count(yes bool) {
	s.Of++
	if yes {
		s.Part++
	}
}

// Check says how often the lab is right about runs of one engine under several names, some of which
// were made slower.
type Check struct {
	False Share // of the comparisons of equal ones, those called different
	Wrong Share // of all comparisons, those called different the wrong way round
	// by how much slower one is, 0.25 is 25 %: of the comparisons with an equal of the fastest,
	// those called slower
	Found map[float64]Share
}

// Add counts the comparisons of a finished run. slow returns by how much the contender of a name
// was made slower.
func (k *Check) Add(run *result.Run, slow func(name string) float64) {
	if k.Found == nil {
		k.Found = map[float64]Share{}
	}
	for _, c := range run.Cells {
		if c.Ratio == nil || c.Ratio.To == c.Name() {
			continue
		}
		truth := (1 + slow(c.Name())) / (1 + slow(c.Ratio.To))
		k.Wrong.count(c.Ratio.Different && (c.Ratio.Mid-1)*(truth-1) < 0)
		switch {
		case truth == 1:
			k.False.count(c.Ratio.Different)
		case slow(c.Name()) > 0:
			s := k.Found[slow(c.Name())]
			s.count(c.Ratio.Different && c.Ratio.Mid > 1 && slow(c.Ratio.To) == 0)
			k.Found[slow(c.Name())] = s
		}
	}
}
