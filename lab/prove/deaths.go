package prove

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// Who dies right behind a failed sync has told nobody of it. The process that takes his place has
// what it reads to go by, which is not what the disk holds, and its first commits build on that.
// Where it may happen is known from runs in which nothing failed: at each of their syncs.

// What is at stake if a sync fails, most first.
const (
	acknowledged = iota // a commit, right behind it: nobody knows whether the disk has it
	opened              // the store: it is the first sync since
	others
	stakes
)

// stakes returns what is at stake at each step, if it is a sync.
func (r *recording) stakes() []int {
	all := make([]int, len(r.steps))
	for i := range all {
		all[i] = others
	}
	for _, at := range r.ledger.opened {
		first := r.behind(at)
		is := func(s powerfs.Step) bool { return s.Kind == powerfs.OnSync }
		if i := slices.IndexFunc(r.steps[first:], is); i >= 0 {
			all[first+i] = opened
		}
	}
	for _, list := range r.ledger.acks {
		for _, a := range list {
			if i := r.lastSyncOf(a); i >= 0 {
				all[i] = acknowledged
			}
		}
	}
	return all
}

// lastSyncOf returns the step at which the last sync begins that ends while a commit is made; -1 is
// none.
func (r *recording) lastSyncOf(a ack) int {
	for i := r.behind(a.Done) - 1; i >= r.behind(a.Began); i-- {
		if ends(r.steps[i]) {
			return r.beginning(i)
		}
	}
	return -1
}

// beginning returns the step at which a sync begins that ends at step i.
func (r *recording) beginning(i int) int {
	for k := i; k >= 0; k-- {
		if r.steps[k].Kind == powerfs.OnSync && r.steps[k].Path == r.steps[i].Path {
			return k
		}
	}
	return i
}

// deathsOf returns the syncs of the faulty scenes that are to fail while their process dies, one of
// each sort in turn, and two right behind which commits are acknowledged for each other one. Who
// comes then goes on at once, or opens and closes the store before, in turn. How each step can fail
// is in at.
func (j *job) deathsOf(courses []course, at [][][]target, rng *rand.Rand) (all []follow) {
	if j.fault != result.FaultEIO {
		return nil
	}
	of := map[string][]follow{}
	var sorts [stakes][]string
	for k, c := range courses {
		nth, kinds := map[string]int{}, sortsOf(c)
		for _, i := range c.keepingFirst(rng) {
			if c.steps[i].Kind != powerfs.OnSync || j.excused(faulty[k]) {
				continue
			}
			stake, sort := c.stakes[i], kinds[i]
			if sort = fmt.Sprint(stake, sort); of[sort] == nil {
				sorts[stake] = append(sorts[stake], sort)
			}
			f := follow{scene: k, options: at[k][i][0].options(), rank: nth[sort] + c.heavy()*len(c.steps)}
			of[sort] = append(of[sort], f)
			nth[sort]++
		}
	}
	var turns [stakes][]follow
	for _, list := range of {
		slices.SortStableFunc(list, func(a, b follow) int { return a.rank - b.rank })
	}
	for stake, list := range sorts {
		inTurn(list, of, func(turn, n int, f follow) {
			f.looks = (turn+n)%2 == 1
			turns[stake] = append(turns[stake], f)
		})
	}
	for left := true; left; {
		left = false
		for _, stake := range []int{acknowledged, acknowledged, opened, acknowledged, acknowledged, others} {
			if list := turns[stake]; len(list) > 0 {
				left, all, turns[stake] = true, append(all, list[0]), list[1:]
			}
		}
	}
	return all
}

// dying returns the job's next one of deaths, nil if it has had all.
func (j *job) dying() *follow {
	if k := j.died*j.of + j.number; k < len(j.deaths) {
		return &j.deaths[k]
	}
	return nil
}

// firstDeaths is how many deaths a job has, every other round, before there are two rounds to each.
const firstDeaths = 12

// followDue reports whether the next round is that of a process that dies of a failure, or while it
// mends one.
func (j *job) followDue() bool {
	switch {
	case j.dying() == nil:
		return j.rounds%4 == 3 && len(j.follows) > 0
	case j.died < firstDeaths:
		return j.rounds%2 == 0
	}
	return j.rounds%3 == 2
}

// nextFollow returns which: mostly one that dies at once.
func (j *job) nextFollow() follow {
	f := j.dying()
	if j.followed++; f == nil || j.followed%4 == 0 && len(j.follows) > 0 {
		f = &j.follows[0]
		j.follows = j.follows[1:]
	} else {
		j.died++
	}
	return *f
}
