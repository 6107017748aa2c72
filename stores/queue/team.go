package queue

import (
	"context"
	"sync"
)

// team is what workers have in common that are shut down together. A nil *team is that of one who
// works alone.
type team struct {
	places chan struct{} // one for each job that may run at once, nil for any number

	mu      sync.Mutex
	running map[Receipt]running
	taken   map[Receipt]bool // given back by the team while their functions ran on
}

// running is a job whose function runs.
type running struct {
	worker *worker
	job    Job
}

// enter waits for a place, and reports whether there was one before claims ended.
func (t *team) enter(claims context.Context, w *worker, job Job) bool {
	if t == nil {
		return true
	}
	if claims.Err() != nil {
		return false
	}
	if t.places != nil {
		select {
		case t.places <- struct{}{}:
		case <-claims.Done():
			return false
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[job.Receipt] = running{w, job}
	return true
}

func (t *team) leave(job Job) {
	if t == nil {
		return
	}
	if t.places != nil {
		<-t.places
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, job.Receipt)
}

// wasTaken reports whether the team gave a job back that has now ended.
func (t *team) wasTaken(o *Outcome) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taken[o.Job.Receipt]
}

// takeAll returns the jobs that are running, which are the caller's to give back.
func (t *team) takeAll() []running {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []running
	for receipt, r := range t.running {
		t.taken[receipt] = true
		all = append(all, r)
	}
	return all
}
