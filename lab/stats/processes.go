package stats

import (
	"math"

	"github.com/assaydb/assay/lab/result"
)

// Processes says how much two processes of the same program differ for as long as they live, by
// where their memory and files happen to lie. No number of rounds averages that out; only new
// processes do.
type Processes struct {
	Sigma   float64 // of the logarithm of one process's mean time
	Freedom float64 // degrees of freedom that it was measured with
}

// Usual is what processes differ by where nothing was measured. It counts as few processes: in a
// run that restarts them, what is measured soon outweighs it.
var Usual = Processes{Sigma: 0.02, Freedom: 4}

const (
	// leastSigma is assumed even where processes agree better.
	leastSigma = 0.005

	// mostExcess limits what a single comparison says of all: an engine whose processes differ that
	// much is an exception, which its own comparison knows.
	mostExcess = 0.1 * 0.1
)

// processesOf measures what processes differ by from all comparisons of a run that restarted them:
// each with the best of its group, weighted by how well its rounds tell.
func processesOf(cells []result.Cell, tables []result.Table) Processes {
	usual := Usual.Sigma * Usual.Sigma
	sum, weights, freedom := usual*Usual.Freedom, Usual.Freedom, Usual.Freedom
	for _, t := range tables {
		for _, g := range t.Groups {
			group := rankable(cells, g)
			if len(group) < 2 {
				continue
			}
			best := fastest(cells, group)
			for _, i := range group {
				x, y := paired(cells[i].Samples, cells[best].Samples)
				if i == best || len(x) < MinRounds {
					continue
				}
				d := differences(pulls(x), pulls(y))
				m := momentsOf(x, d, d)
				if m.processes < 2 || m.rounds <= m.processes {
					continue
				}
				// The variance of the excess is that of its mean squares: few rounds of much noise
				// say little.
				certainty := usual / (usual + m.within*m.processes/m.rounds/2)
				df := m.processes - 1
				sum += df * certainty * certainty * min(m.excess()/2, mostExcess)
				weights += df * certainty * certainty
				freedom += df * certainty * certainty
			}
		}
	}
	return Processes{Sigma: math.Sqrt(math.Max(sum/weights, leastSigma*leastSigma)), Freedom: freedom}
}
