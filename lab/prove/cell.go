package prove

import (
	"cmp"
	"fmt"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// cell gathers what is found of one engine, class, fault and rule.
type cell struct {
	result.ProofCell
	atomic bool
	breaks bool // the fault may leave a store that cannot be read
	keeps  tally
	whole  tally
	runs   map[uint64]int64 // by the seeds of the runs that crashes came from, what each acknowledged
	judged int              // states, those that are alike at several moments once for each
	unkept bool             // a claimed property was disproved
	shown  *evidence        // of a property that is lacking, by the smallest history
}

// tally counts images that lack a property.
type tally struct {
	failed int
	seed   uint64 // of the first
	trials map[uint64]bool
}

// trial is one crash, or fault, and what was acknowledged before it.
type trial struct {
	seed   uint64
	cut    uint64 // the operation before which it came, 0 if that was not by count
	past   past
	ledger ledger
	at     int64 // when, by clock
}

func (t trial) writers() int { return len(t.past.Chains) }

// acked returns how many commits were acknowledged before the trial's moment.
func (t trial) acked() (n int64) {
	for _, list := range t.ledger.acks {
		for _, a := range list {
			if a.Done < t.at {
				n++
			}
		}
	}
	return n
}

// lost returns how many of those are not among the first n of each writer, and the age of the
// oldest.
func (t trial) lost(n []uint64) (lost int64, age time.Duration) {
	for w, list := range t.ledger.acks {
		for _, a := range list {
			if a.N > n[w] && a.Done < t.at && !a.Weak {
				lost++
				age = max(age, time.Duration(t.at-a.Done))
			}
		}
	}
	return lost, age
}

// refused returns which of the commits that are there an error had said not to be.
func (t trial) refused(there []refused) string {
	for _, r := range there {
		for _, f := range t.ledger.failed {
			if f.Denied && f.W == r.W && f.N == r.N && f.Salt == r.Salt && f.At < t.at {
				return "no prefix: " + f.isThere()
			}
		}
	}
	return ""
}

// disorder returns how the commits that were found are no prefix of all: one that began after
// another had been acknowledged is there, and that other is not. It also finds commits that nobody
// can have made.
func (t trial) disorder(n []uint64) string {
	var began, missing ack // the last one found, the first one missing
	missing.Done = t.at
	for w, list := range t.ledger.acks {
		var last ack
		for i, a := range list {
			switch {
			case a.Began >= t.at: // what is there under its number is a commit before it, which returned an error
			case a.N == n[w]:
				began = later(began, a)
			case a.N+1 == n[w] && i == len(list)-1: // its successor was not acknowledged, and began afterwards
				began = later(began, ack{W: w, N: n[w], Began: a.Done})
			case a.N > n[w] && a.Done < missing.Done:
				missing = a
			}
			last = a
		}
		if n[w] > last.N+1 && n[w] > t.unacked(w)+1 {
			return fmt.Sprintf("no prefix: commit %d of writer %d is there, and none after %d was ever tried", n[w], w,
				last.N+1)
		}
	}
	if began.Began > missing.Done {
		return fmt.Sprintf("no prefix: commit %d of writer %d is there, and commit %d of writer %d, acknowledged before it began, is not",
			began.N, began.W, missing.N, missing.W)
	}
	return ""
}

// backup returns what is wrong with the backup that a crash has left, of which it is nil if there
// is none; "" is nothing. A backup is whole or not there at all, and once it was made it is there.
func (t trial) backup(o *outcome) string {
	var last copied
	for _, c := range t.ledger.copies {
		if c.Done < t.at {
			last = c
		}
	}
	switch {
	case o == nil && last.Done > 0:
		return "the backup that was made is not there"
	case o == nil:
		return ""
	case o.Broken != "" || o.Torn != "":
		return "backup: " + cmp.Or(o.Broken, o.Torn)
	}
	t.at = last.Began
	before := last.Short || len(t.ledger.resumed) > 0 // some may have been lost before it
	if lost, _ := t.lost(o.N); lost > 0 && !before {
		return fmt.Sprintf("backup: %d commits are missing that were acknowledged before it was begun", lost)
	}
	return ""
}

// unacked returns the highest number of a commit of w that returned an error, or from which it
// began.
func (t trial) unacked(w int) (n uint64) {
	for _, f := range t.ledger.failed {
		if f.W == w {
			n = max(n, f.N)
		}
	}
	for _, s := range t.past.Chains[w] {
		n = max(n, s.UpTo)
	}
	return n
}

func later(a, b ack) ack {
	if b.Began > a.Began {
		return b
	}
	return a
}

// crash counts a trial, of which images will be recorded.
func (c *cell) crash(t trial) {
	if c.runs == nil {
		c.runs = map[uint64]int64{}
	}
	if acked := t.acked(); acked > c.runs[t.seed] {
		c.Acked += acked - c.runs[t.seed]
		c.runs[t.seed] = acked
	} else if acked == 0 {
		c.runs[t.seed] += 0
	}
	c.Cuts = len(c.runs)
	c.Rounds++
}

// record adds one image of a trial, and reports whether it lacks a property. One that was not
// verified in time is none, though what its process read wrong counts.
func (c *cell) record(t trial, o outcome) bool {
	if o.Late {
		c.Late++
	} else {
		c.Images++
	}
	return c.judge(t, o)
}

// judge holds what was found in an image against what was acknowledged before one moment that
// leaves it.
func (c *cell) judge(t trial, o outcome) bool {
	before := c.keeps.failed + c.whole.failed
	c.judged++
	if !o.Late {
		if lost, age := t.lost(o.N); lost > 0 && !(c.breaks && o.Gone && !o.Hole) {
			c.Lost += lost
			c.LostMax = max(c.LostMax, lost)
			c.LostAge = max(c.LostAge, age)
			c.keeps.add(t)
		}
		if o.Broken == "" && o.Torn == "" {
			o.Broken = t.disorder(o.N)
		}
		o.broken(t.refused(o.Refused))
	}
	if !o.Late {
		o.broken(t.backup(o.Copy))
	}
	if o.Torn != "" {
		c.Torn++
		c.say(o.Torn)
	}
	if o.Broken != "" {
		c.Broken++
		c.say(o.Broken)
	}
	if o.Broken != "" || o.Torn != "" && c.atomic {
		c.whole.add(t)
	}
	return c.keeps.failed+c.whole.failed > before
}

// claimed reports whether anything is promised of the cell.
func (c *cell) claimed() bool { return c.Keeps.Claimed || c.Whole.Claimed }

func (c *cell) say(what string) {
	if c.What == "" {
		c.What = what
	}
}

func (y *tally) add(t trial) {
	if y.failed == 0 {
		y.seed, y.trials = t.seed, map[uint64]bool{}
	}
	y.trials[t.seed] = true
	y.failed++
}
