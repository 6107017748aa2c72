package crashtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// explorer goes through the moments of a recording, which are before each operation and behind the
// last, makes the states that a crash may leave there, and has those judged that are new.
type explorer struct {
	*rig
	rec   *recording
	rng   *rand.Rand
	left  []int // moments to come
	until time.Time
	work  chan crash
	end   sync.WaitGroup // of the judges

	moments, late int
	known         map[known]bool
	mu            sync.Mutex // of what judges find
	broken        int
	worst         *failure // with the smallest history
	err           error    // of the rig itself
}

// known is a state that was judged, for what was done until then.
type known struct {
	sum         [sha256.Size]byte
	done, maybe int
}

// crash is a state at a moment.
type crash struct {
	moment int
	state  powerfs.State
	img    *powerfs.Image
	hist   History
}

func (c crash) known() known { return known{c.img.Sum(), len(c.hist.Done), len(c.hist.Maybe)} }

func newExplorer(r *rig, rec *recording, seed uint64) *explorer {
	e := &explorer{rig: r, rec: rec, rng: rand.New(rand.NewPCG(seed, 0)), known: map[known]bool{},
		work: make(chan crash)}
	e.left = e.rng.Perm(len(rec.steps) + 1)
	return e
}

// chunk is how many moments are looked at while the record is played once.
const chunk = 12

// explore looks at moments in a random order until the budget is used up. Once a state was found
// broken, only moments before it count, the first one first: the smallest history tells most.
func (e *explorer) explore() {
	for range runtime.GOMAXPROCS(0) {
		e.end.Go(e.judge)
	}
	e.until = time.Now().Add(e.Budget)
	for len(e.left) > 0 && time.Now().Before(e.until) {
		if e.smaller(); len(e.left) == 0 {
			break
		}
		some := slices.Clone(e.left[:min(chunk, len(e.left))])
		e.left = e.left[len(some):]
		slices.Sort(some)
		p, err := e.rec.tape.Play()
		for _, i := range some {
			if err == nil {
				err = p.Forward(i)
			}
			if err == nil {
				err = e.moment(p, i)
			}
		}
		if err != nil {
			e.failed(err)
			break
		}
	}
	close(e.work)
	e.end.Wait()
	e.must("explore", e.err)
}

// smaller leaves out the moments that have a larger history than what was found.
func (e *explorer) smaller() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.worst != nil {
		e.left = slices.DeleteFunc(e.left, func(i int) bool { return i >= e.worst.moment })
		slices.Sort(e.left)
	}
}

// moment has the states of one moment judged, as far as there is time.
func (e *explorer) moment(p *powerfs.Player, i int) error {
	hist := e.rec.until(i)
	for n, s := range e.states(p) {
		if !time.Now().Before(e.until) {
			return nil
		}
		if n == 0 {
			e.moments++
		}
		img, err := p.Image(s)
		if err != nil {
			return err
		}
		c := crash{i, s, img, hist}
		if e.known[c.known()] {
			e.earlier(c)
			continue
		}
		e.known[c.known()] = true
		e.work <- c
	}
	return nil
}

// earlier takes down that the state that was found broken is left by an earlier crash as well.
func (e *explorer) earlier(c crash) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.worst; w != nil && c.moment < w.moment && c.known() == w.known() {
		w.crash = c
	}
}

// states returns what a crash may leave.
func (e *explorer) states(p *powerfs.Player) (all []powerfs.State) {
	if !e.rec.mapped {
		all = p.Killed(e.rng)
	}
	if !e.KillsAlone {
		all = append(all, p.States(powerfs.Ordered, e.rng)...)
	}
	if e.Strict && !e.KillsAlone {
		all = append(all, p.States(powerfs.Strict, e.rng)...)
	}
	return all
}

// judge judges states until there are no more.
func (e *explorer) judge() {
	j := judge{rig: e.rig}
	defer j.close()
	for c := range e.work {
		v := j.state(c.img, c.hist)
		e.mu.Lock()
		switch {
		case v.err != nil:
			e.err = errors.Join(e.err, v.err)
		case v.late:
			e.late++
		case v.broken != "":
			e.broken++
			if e.worst == nil || c.moment < e.worst.moment {
				e.worst = &failure{crash: c, what: v.broken, rec: e.rec}
			}
		}
		e.mu.Unlock()
	}
}

func (e *explorer) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = errors.Join(e.err, err)
}

// summary says how much was tried.
func (e *explorer) summary() string {
	text := fmt.Sprintf("crashtest: %d changes in %d operations of the disk; at %d of %d moments %d distinct states were judged, %d broken",
		e.Changes, len(e.rec.steps), e.moments, len(e.rec.steps)+1, len(e.known)-e.late, e.broken)
	if e.late > 0 {
		text += fmt.Sprintf("; %d gave no answer within %v and count for nothing", e.late, patience)
	}
	switch {
	case e.rec.mapped && e.KillsAlone:
		text += "; NOTHING WAS TRIED: the store writes through memory maps, of which no kill can be modelled"
	case e.rec.mapped:
		text += "; no kill was modelled: the store writes through memory maps"
	}
	return text
}

// verdict is what came of a state.
type verdict struct {
	broken string // "" is nothing
	late   bool   // it gave no answer in time: the machine may be slow
	err    error  // the rig failed
}

// judge keeps a process that opens and checks states.
type judge struct {
	*rig
	p    *child.Process
	used int
}

// A process judges so many states: stores that fail to open may leave memory and goroutines behind.
const mostUsed = 100

// moreChanges are made in a store that was found whole.
const moreChanges = 3

// state judges an image.
func (j *judge) state(img *powerfs.Image, h History) verdict {
	dir, err := os.MkdirTemp(j.dir, "state-*")
	if err != nil {
		return verdict{err: err}
	}
	defer func() { _ = os.RemoveAll(dir) }() // what remains goes with the folder of all
	if err := img.Export(dir); err != nil {
		return verdict{err: err}
	}
	return j.ask(request{Judge: dir, History: h, More: moreChanges})
}

// ask has a folder judged. A process that crashes says that the state is broken.
func (j *judge) ask(r request) verdict {
	if j.p == nil {
		var err error
		if j.p, err = j.start(); err != nil {
			return verdict{err: err}
		}
		j.used = 0
	}
	var m message
	err := j.p.Call(j.t.Context(), "judge", r, &m, patience)
	if j.used++; err != nil || j.used >= mostUsed {
		j.close()
	}
	var gone *child.Error
	switch {
	case errors.As(err, &gone) && gone.Hung:
		return verdict{late: true}
	case errors.As(err, &gone):
		return verdict{broken: gone.Text}
	case err != nil:
		return verdict{err: err}
	case m.Ended == nil:
		return verdict{err: errors.New("the process told of changes while it judged")}
	}
	return verdict{broken: *m.Ended}
}

func (j *judge) close() {
	if j.p != nil {
		_ = j.p.End(time.Second) // its answers are in
		j.p = nil
	}
}
