package bench

// mostParts is in how many parts a slice is done at most. What disturbs a disk often lasts less
// than a round: where the contenders take turns within it, more of it meets all of them alike.
const mostParts = 4

// leastPart is how many operations a part holds at least where one settles before it, which takes
// as long as any.
const leastPart = 8

// parts returns in how many parts the cell's slice is done. Who settles for long would do so in
// each. Of several workers some stand still at the end of a part, and an open loop begins its
// schedule anew.
func (c *cell) parts() int {
	cycle := cycleOf(c.op)
	if c.settles > cycle || c.op.Workers > 1 || c.Rate > 0 {
		return 1
	}
	least := minOps
	if c.settles > 0 {
		least = leastPart
	}
	return min(max(c.n/max(cycle, least), 1), mostParts)
}

// part returns how many iterations the cell does in one of mostParts turns: a whole number of
// cycles, and 0 where it has fewer parts than turns.
func (c *cell) part(turn int) int {
	parts, cycle := c.parts(), cycleOf(c.op)
	k := (turn*parts + mostParts - 1) / mostParts // the parts before this turn
	if (turn+1)*parts <= k*mostParts {
		return 0
	}
	all := c.n / cycle
	return ((k+1)*all/parts - k*all/parts) * cycle
}

// with adds a further part of the slice, nil if there is none before it.
func (s *sliceReport) with(next *sliceReport) *sliceReport {
	if s == nil {
		return next
	}
	next.NS = (s.NS*float64(s.N) + next.NS*float64(next.N)) / float64(s.N+next.N)
	next.N += s.N
	next.Wall += s.Wall
	next.Allocs += s.Allocs
	next.AllocBytes += s.AllocBytes
	next.CPU += s.CPU
	if s.Written != nil && next.Written != nil {
		*next.Written += *s.Written
	}
	next.Metrics = append(s.Metrics, next.Metrics...)
	return next
}
