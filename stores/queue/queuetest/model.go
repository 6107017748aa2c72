package queuetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/stores/queue"
)

// model is a queue as a list of jobs: what an implementation is compared with.
type model struct {
	settings queue.Settings
	now      time.Time
	jobs     []*queue.Job // by id
}

// readyNow makes ready what is due.
func (m *model) readyNow() {
	for _, job := range m.jobs {
		due := (job.State == queue.Delayed || job.State == queue.Claimed) && !job.VisibleAt.After(m.now)
		switch {
		case due && job.State == queue.Claimed && m.settings.Exhausted(job.Attempts):
			job.State, job.VisibleAt = queue.Dead, m.now
		case due:
			job.State = queue.Ready
		}
	}
}

// in returns the jobs in a state, in the order of List.
func (m *model) in(state queue.State) (jobs []*queue.Job) {
	for _, job := range m.jobs {
		if job.State == state {
			jobs = append(jobs, job)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *queue.Job) int {
		switch state {
		case queue.Ready:
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.VisibleAt.Compare(b.VisibleAt), cmp.Compare(a.ID, b.ID))
		case queue.Dead:
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Or(a.VisibleAt.Compare(b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	return jobs
}

func (m *model) counts() (c queue.Counts) {
	for _, job := range m.jobs {
		if (job.State == queue.Delayed || job.State == queue.Claimed) && !job.VisibleAt.After(m.now) {
			c.Ready++
		} else {
			*c.Of(job.State)++
		}
	}
	return c
}

func (m *model) drop(gone *queue.Job) {
	m.jobs = slices.DeleteFunc(m.jobs, func(job *queue.Job) bool { return job == gone })
}

// testModel does what chance says to a queue and to the model of it.
func testModel(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b := s.bench(queue.Settings{MaxAttempts: 3, Lease: 5 * time.Second})
	m := &model{settings: queue.Settings{MaxAttempts: 3}, now: start}
	steps := 600
	if testing.Short() {
		steps = 150
	}
	p := &play{bench: b, model: m, Rand: r}
	for range steps {
		p.step()
		if r.IntN(8) == 0 {
			d := time.Duration(r.IntN(1500)) * time.Millisecond
			b.pass(d)
			m.now = m.now.Add(d)
		}
		b.wantCounts(m.counts())
	}
	for _, state := range queue.States {
		got, err := b.List(s.ctx(), state, 1e6)
		s.must("list", err)
		p.same("list "+state.String(), got, m.in(state))
	}
}

type play struct {
	*bench
	*model
	*rand.Rand
	claimed []queue.Receipt // some are stale
	serial  int
}

func (p *play) step() {
	switch n := p.IntN(100); {
	case n < 35:
		p.publishSome()
	case n < 65:
		p.claimSome(1 + p.IntN(8)*p.IntN(2))
	case n < 95:
		p.settleOne()
	case n < 98:
		p.requeueOne()
	default:
		p.purgeOne()
	}
}

func (p *play) publishSome() {
	var drafts []queue.Draft
	for range 1 + p.IntN(4) {
		p.serial++
		d := queue.Draft{Payload: fmt.Append(nil, p.serial), Priority: int8(p.IntN(3))}
		if p.IntN(4) == 0 {
			d.Delay = time.Duration(p.IntN(4000)) * time.Millisecond
		}
		drafts = append(drafts, d)
	}
	for i, id := range p.publishDrafts(drafts...) {
		job := &queue.Job{ID: id, Payload: drafts[i].Payload, Priority: drafts[i].Priority, CreatedAt: p.model.now, VisibleAt: p.model.now.Add(drafts[i].Delay)}
		if drafts[i].Delay > 0 {
			job.State = queue.Delayed
		}
		p.jobs = append(p.jobs, job)
	}
}

func (p *play) claimSome(limit int) {
	got, err := p.Claim(p.ctx(), p.class, limit)
	p.must("claim", err)
	p.wereClaimed(got, limit)
}

// wereClaimed claims in the model, which must give the same.
func (p *play) wereClaimed(got []queue.Job, limit int) {
	p.readyNow()
	want := p.in(queue.Ready)
	want = want[:min(limit, len(want))]
	for i, job := range want {
		job.State, job.VisibleAt = queue.Claimed, p.model.now.Add(5*time.Second)
		job.Attempts++
		if i < len(got) {
			job.Receipt = got[i].Receipt
			p.claimed = append(p.claimed, job.Receipt)
		}
	}
	p.same("claim", got, want)
}

// settleOne uses a receipt, which may be stale.
func (p *play) settleOne() {
	if len(p.claimed) == 0 {
		return
	}
	receipt := p.claimed[p.IntN(len(p.claimed))]
	i := slices.IndexFunc(p.jobs, func(job *queue.Job) bool { return job.State == queue.Claimed && job.Receipt == receipt })
	var err error
	var swapped []queue.Job
	after := time.Duration(p.IntN(2)*p.IntN(3000)) * time.Millisecond
	verb, limit := p.IntN(4), 1+p.IntN(4)*p.IntN(2)
	switch verb {
	case 0:
		err = p.Ack(p.ctx(), p.class, receipt)
	case 1:
		err = p.Nack(p.ctx(), p.class, after, receipt)
	case 2:
		after += time.Millisecond
		err = p.Extend(p.ctx(), p.class, after, receipt)
	case 3:
		swapped, err = p.Swap(p.ctx(), p.class, limit, receipt)
	}
	if i < 0 {
		p.wantStale("with a stale receipt", err, receipt)
		p.claimed = slices.DeleteFunc(p.claimed, func(r queue.Receipt) bool { return r == receipt })
		return
	}
	p.must("settle", err)
	job := p.jobs[i]
	switch {
	case verb == 0:
		p.drop(job)
	case verb == 3:
		p.drop(job)
		p.wereClaimed(swapped, limit)
	case verb == 1 && p.model.settings.Exhausted(job.Attempts):
		job.State, job.VisibleAt = queue.Dead, p.model.now
	case verb == 1:
		job.State, job.VisibleAt = queue.Ready, p.model.now.Add(after)
		if after > 0 {
			job.State = queue.Delayed
		}
	default:
		job.VisibleAt = p.model.now.Add(after)
	}
}

func (p *play) requeueOne() {
	dead := p.in(queue.Dead)
	if len(dead) == 0 {
		return
	}
	job := dead[p.IntN(len(dead))]
	p.must("requeue", p.Requeue(p.ctx(), p.class, job.ID))
	job.State, job.Attempts, job.VisibleAt = queue.Ready, 0, p.model.now
}

func (p *play) purgeOne() {
	if _, err := p.Sweep(p.ctx(), p.class); err != nil { // so that states are equal
		p.Fatalf("sweep: %v", err)
	}
	p.readyNow()
	state := queue.States[p.IntN(len(queue.States))]
	gone := p.in(state)
	n, err := p.Purge(p.ctx(), p.class, state)
	if n != len(gone) || err != nil {
		p.Fatalf("purge of %v: %d, %v, want %d", state, n, err, len(gone))
	}
	for _, job := range gone {
		p.drop(job)
	}
}

func (p *play) same(what string, got []queue.Job, want []*queue.Job) {
	p.Helper()
	if len(got) != len(want) {
		p.Fatalf("%s: got %d jobs, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := got[i], *want[i]
		if g.State != queue.Claimed {
			w.Receipt = g.Receipt
		} else if g.Receipt.Token == w.Receipt.Token {
			w.Receipt = g.Receipt // of an extended claim, it tells when it ends now
		}
		if fmt.Sprint(g) != fmt.Sprint(w) {
			p.Fatalf("%s, job %d of %d:\ngot  %+v\nwant %+v", what, i, len(got), g, w)
		}
	}
}
