package queuetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// model is a queue as a list of jobs: what an implementation is compared with.
type model struct {
	settings queue.Settings
	now      time.Time
	jobs     []*modelJob        // by id
	keys     map[string]holding // by key
}

// modelJob is a job as the model has it: all that can be asked of one.
type modelJob struct {
	ID          uint64
	State       queue.State
	Payload     []byte
	Priority    int8
	Attempts    int
	CreatedAt   time.Time
	VisibleAt   time.Time
	ReadyAt     time.Time
	Receipt     queue.Receipt
	MaxAttempts int
	Timeout     time.Duration
	Key         string
	KeyUntil    time.Time
	Failures    []queue.Failure
}

// asModel returns a job as the model would have it.
func asModel(j queue.Job) modelJob {
	key, until := j.Key()
	return modelJob{j.ID, j.State, j.Payload, j.Priority, j.Attempts, j.CreatedAt, j.VisibleAt, j.ReadyAt(), j.Receipt,
		j.MaxAttempts(), j.Timeout(), key, until, j.Failures()}
}

// holding tells who has a key: a job as long as it is there and not dead, and in any case until a
// time.
type holding struct {
	job   *modelJob
	until time.Time
}

// isHeld reports whether another than job holds the key.
func (m *model) isHeld(key string, job *modelJob) bool {
	h, ok := m.keys[key]
	return ok && h.job != job && (h.until.After(m.now) || slices.Contains(m.jobs, h.job) && h.job.State != queue.Dead)
}

// fail ends an attempt, and reports whether the job is dead now.
func (m *model) fail(job *modelJob, cause string, never bool) bool {
	if cause != "" {
		all := append(job.Failures, queue.Failure{At: m.now, Attempt: job.Attempts, Error: cause})
		job.Failures = slices.Clone(all[max(0, len(all)-queue.MostFailures):])
	}
	if !never && !m.settings.Exhausted(job.MaxAttempts, job.Attempts) {
		return false
	}
	job.State, job.VisibleAt = queue.Dead, m.now
	return true
}

// readyNow makes ready what is due.
func (m *model) readyNow() {
	for _, job := range m.jobs {
		due := (job.State == queue.Delayed || job.State == queue.Claimed) && !job.VisibleAt.After(m.now)
		switch {
		case due && job.State == queue.Claimed && m.fail(job, queue.LeaseEnded, false):
		case due:
			job.State = queue.Ready
		}
	}
}

// in returns the jobs in a state, in the order of List.
func (m *model) in(state queue.State) (jobs []*modelJob) {
	for _, job := range m.jobs {
		if job.State == state {
			jobs = append(jobs, job)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *modelJob) int {
		switch state {
		case queue.Ready:
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.VisibleAt.Compare(b.VisibleAt),
				cmp.Compare(a.ID, b.ID))
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

func (m *model) drop(gone *modelJob) {
	m.jobs = slices.DeleteFunc(m.jobs, func(job *modelJob) bool { return job == gone })
}

// testModel does what chance says to a queue and to the model of it.
func testModel(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b := s.bench(queue.Settings{MaxAttempts: 3, Lease: 5 * time.Second})
	m := &model{settings: queue.Settings{MaxAttempts: 3}, now: start, keys: map[string]holding{}}
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
		got, err := b.List(s.Ctx(), state, 1e6)
		s.Must("list", err)
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
	case n < 97:
		p.requeueOne()
	case n < 99:
		p.deleteOne()
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
		switch p.IntN(6) {
		case 0:
			d.MaxAttempts = p.IntN(5) - 1
			d.Timeout = time.Duration(p.IntN(3)) * time.Second
		case 1:
			d.Key = fmt.Sprint("key ", p.IntN(12))
			d.KeyFor = time.Duration(p.IntN(2)*p.IntN(20)) * time.Second
		}
		drafts = append(drafts, d)
	}
	for i, id := range p.publishDrafts(drafts...) {
		d := drafts[i]
		if held := d.Key != "" && p.isHeld(d.Key, nil); held || id == 0 {
			if !held || id != 0 {
				p.Fatalf("job of the key %q: id %d, held: %t", d.Key, id, held)
			}
			continue
		}
		job := &modelJob{ID: id, Payload: d.Payload, Priority: d.Priority, CreatedAt: p.model.now,
			VisibleAt:   p.model.now.Add(d.Delay),
			MaxAttempts: d.MaxAttempts, Timeout: d.Timeout, Key: d.Key}
		if d.Delay > 0 {
			job.State = queue.Delayed
		}
		if d.KeyFor > 0 {
			job.KeyUntil = p.model.now.Add(d.KeyFor)
		}
		if d.Key != "" {
			p.keys[d.Key] = holding{job, p.model.now.Add(d.KeyFor)}
		}
		p.jobs = append(p.jobs, job)
	}
}

func (p *play) claimSome(limit int) {
	got, err := p.Claim(p.Ctx(), p.Class, limit)
	p.Must("claim", err)
	p.wereClaimed(got, limit)
}

// wereClaimed claims in the model, which must give the same.
func (p *play) wereClaimed(got []queue.Job, limit int) {
	p.readyNow()
	want := p.in(queue.Ready)
	want = want[:min(limit, len(want))]
	for i, job := range want {
		job.ReadyAt = job.VisibleAt
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
	i := slices.IndexFunc(p.jobs, func(job *modelJob) bool {
		return job.State == queue.Claimed &&
			job.Receipt == receipt
	})
	var err error
	var swapped []queue.Job
	after := time.Duration(p.IntN(2)*p.IntN(3000)) * time.Millisecond
	verb, limit := p.IntN(6), 1+p.IntN(4)*p.IntN(2)
	cause, never := fmt.Sprint("failure ", p.IntN(100)), p.IntN(5) == 0
	switch verb {
	case 0:
		err = p.Ack(p.Ctx(), p.Class, receipt)
	case 1:
		err = p.Nack(p.Ctx(), p.Class, after, receipt)
	case 2:
		after += time.Millisecond
		err = p.Extend(p.Ctx(), p.Class, after, receipt)
	case 3:
		swapped, err = p.Swap(p.Ctx(), p.Class, limit, receipt)
	case 4:
		if after == 0 {
			err = p.Release(p.Ctx(), p.Class, receipt)
		} else {
			err = p.Snooze(p.Ctx(), p.Class, after, receipt)
		}
	case 5:
		failed := errors.New(cause)
		if never {
			failed = queue.Never(failed)
		}
		err = p.Fail(p.Ctx(), p.Class, failed, after, receipt)
	}
	if i < 0 {
		p.wantStale("with a stale receipt", err, receipt)
		p.claimed = slices.DeleteFunc(p.claimed, func(r queue.Receipt) bool { return r == receipt })
		return
	}
	p.Must("settle", err)
	job := p.jobs[i]
	switch verb {
	case 0:
		p.drop(job)
	case 1:
		if !p.fail(job, "", false) {
			p.giveBack(job, after)
		}
	case 2:
		job.VisibleAt = p.model.now.Add(after)
	case 3:
		p.drop(job)
		p.wereClaimed(swapped, limit)
	case 4:
		job.Attempts--
		p.giveBack(job, after)
	case 5:
		if !p.fail(job, cause, never) {
			p.giveBack(job, after)
		}
	}
}

func (m *model) giveBack(job *modelJob, after time.Duration) {
	job.State, job.VisibleAt = queue.Ready, m.now.Add(after)
	if after > 0 {
		job.State = queue.Delayed
	}
}

func (p *play) requeueOne() {
	dead := p.in(queue.Dead)
	if len(dead) == 0 {
		return
	}
	job := dead[p.IntN(len(dead))]
	err := p.Requeue(p.Ctx(), p.Class, job.ID)
	if job.Key != "" {
		if p.isHeld(job.Key, job) {
			p.WantKind("requeue of a job whose key is held", err, kv.Conflict)
			return
		}
		p.keys[job.Key] = holding{job, job.KeyUntil}
	}
	p.Must("requeue", err)
	job.State, job.Attempts, job.VisibleAt, job.Failures = queue.Ready, 0, p.model.now, nil
}

// deleteOne finds a job, which may be due, and deletes it.
func (p *play) deleteOne() {
	if len(p.jobs) == 0 {
		return
	}
	if _, err := p.Sweep(p.Ctx(), p.Class); err != nil { // so that states are equal
		p.Fatalf("sweep: %v", err)
	}
	p.readyNow()
	job := p.jobs[p.IntN(len(p.jobs))]
	got, err := p.Find(p.Ctx(), job.ID)
	p.Must("find", err)
	p.same("find", []queue.Job{got}, []*modelJob{job})
	p.WantKind("delete of a job that is not there, and one that is", p.Delete(p.Ctx(), p.Class, job.ID, 1), kv.NotFound)
	p.Must("delete", p.Delete(p.Ctx(), p.Class, job.ID))
	p.drop(job)
	_, err = p.Find(p.Ctx(), job.ID)
	p.WantKind("find", err, kv.NotFound)
}

func (p *play) purgeOne() {
	if _, err := p.Sweep(p.Ctx(), p.Class); err != nil { // so that states are equal
		p.Fatalf("sweep: %v", err)
	}
	p.readyNow()
	state := queue.States[p.IntN(len(queue.States))]
	gone := p.in(state)
	n, err := p.Purge(p.Ctx(), p.Class, state)
	if n != len(gone) || err != nil {
		p.Fatalf("purge of %v: %d, %v, want %d", state, n, err, len(gone))
	}
	for _, job := range gone {
		p.drop(job)
	}
}

func (p *play) same(what string, got []queue.Job, want []*modelJob) {
	p.Helper()
	if len(got) != len(want) {
		p.Fatalf("%s: got %d jobs, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := asModel(got[i]), *want[i]
		if g.State != queue.Claimed {
			w.Receipt = g.Receipt
		} else if g.Receipt.Token == w.Receipt.Token {
			w.Receipt = g.Receipt // of an extended claim, it tells when it ends now
		}
		if what == "claim" {
			w.Failures = nil
		} else {
			w.ReadyAt = time.Time{}
		}
		if fmt.Sprint(g) != fmt.Sprint(w) {
			p.Fatalf("%s, job %d of %d:\ngot  %+v\nwant %+v", what, i, len(got), g, w)
		}
	}
}
