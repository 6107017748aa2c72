package stats

import (
	"slices"

	"github.com/assaydb/assay/lab/result"
)

const (
	// Behind is the factor by which a contender is surely slower that needs no more rounds,
	// whatever else is open.
	Behind = 2

	// finalShare is the part of the chance of error that the last look has; the others share the
	// rest. So who is told apart early is so for sure, and the last look loses little.
	finalShare = 0.8
)

// lookShare is the part of the chance of error that look n has, counted from 1. However many there
// are, the sum of all is what finalShare leaves.
func lookShare(n int) float64 { return (1 - finalShare) / float64(n*(n+1)) }

// level is the chance of error of one comparison among k contenders, of which the best is compared
// with each of the others.
func level(k int) float64 { return (1 - Confidence) / float64(max(k-1, 1)) }

// Standing is what a look at a race says of one cell.
type Standing struct {
	Early string // why it needs no more rounds: result.EarlyBehind, result.EarlyDecided; empty if it goes on
	More  float64
}

// Rule says when a contender's rounds are enough.
type Rule struct {
	// Precision is the half-width at which a ratio is known well enough, decided or not: 0.05 is 5
	// %.
	Precision float64

	// Even lets nobody leave before, however sure it is who is faster: for a comparison with
	// another run, to which every ratio matters.
	Even bool
}

// Look returns where each cell stands: who may leave because how it compares with the best of its
// group is sure already, and how many more rounds the others need, as a multiple of those that they
// have. More is a guess if the rounds so far say nothing, and 0 of cells that leave and of the best
// of a group, which goes on as long as another one does. Beside other engines it is also 0 of the
// best's own engine in another form, which no answer waits for. Who left before stays out unless it
// is no longer decided, for which there must be another best. looks is how often this was asked of
// these cells before, and once more.
func Look(cells []result.Cell, looks int, rule Rule) []Standing {
	out := make([]Standing, len(cells))
	tables := result.Tables(cells)
	p := processesOf(cells, tables)
	for _, t := range tables {
		for _, g := range t.Groups {
			if group := rankable(cells, g); len(group) > 0 {
				p.look(cells, group, lookShare(max(looks, 1)), rule, out)
			}
		}
	}
	return out
}

func (p Processes) look(cells []result.Cell, group []int, share float64, rule Rule, out []Standing) {
	best := fastest(cells, group)
	alpha := level(len(group))
	own := func(i int) bool { return cells[i].Engine == cells[best].Engine }
	alone := !slices.ContainsFunc(group, func(i int) bool { return !own(i) })
	out[best].Early = result.EarlyDecided
	for _, i := range group {
		if i == best {
			continue
		}
		sure := p.compare(cells[i].Samples, cells[best].Samples, share*alpha)
		last := p.compare(cells[i].Samples, cells[best].Samples, finalShare*alpha)
		switch {
		case sure.Enough() && sure.HalfWidth() <= rule.Precision:
			out[i].Early = result.EarlyDecided
		case rule.Even:
			wide := last.HalfWidth() / rule.Precision
			out[best].Early, out[i].More = "", max(wide*wide-1, 0)
		case cells[i].Early != "" && last.decided():
			out[i].Early = cells[i].Early
		case sure.Enough() && sure.Lo > Behind:
			out[i].Early = result.EarlyBehind
		case sure.decided():
			out[i].Early = result.EarlyDecided
		default:
			if alone || !own(i) {
				out[i].More = last.more()
			}
			out[best].Early = ""
		}
	}
	if len(group) == 1 && len(cells[best].Samples) < MinRounds {
		out[best] = Standing{More: unknown}
	}
}
