package queuetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// Event is what happened to a job.
type Event string

// The events. Those that end in "ing" are reported before the call, the others when it has
// succeeded.
const (
	Publishing Event = "publishing" // of Payload, together with all others of Batch
	Published  Event = "published"  // as ID
	Claimed    Event = "claimed"    // as ID, until Until
	Acking     Event = "acking"
	Acked      Event = "acked"
	Nacking    Event = "nacking"
	Crashed    Event = "crashed" // all that was not as durable as Class may be undone, and every program ended
)

// Record is one line of a ledger. It can be sent as JSON from the process that did it to the one
// that judges.
type Record struct {
	Event   Event
	At      time.Time // by the clock of the machine, which all processes share; of a claim, when its lease began
	Until   time.Time `json:",omitzero"` // of a claim, when its lease ends
	Given   time.Time `json:",omitzero"` // of a claim, when its worker had it, which may be long after its lease began
	ID      uint64    `json:",omitempty"`
	Token   uint64    `json:",omitempty"`
	Payload string    `json:",omitempty"` // no two jobs have the same
	Batch   string    `json:",omitempty"` // of Publishing: the same for what is published together
	Class   kv.Durability
}

// Ledger collects what programs did with one queue and judges it: what was published is not lost,
// what was acknowledged does not come back, and no job has two live claims. It may be used
// concurrently.
type Ledger struct {
	delivers map[kv.Durability]kv.Durability

	mu      sync.Mutex
	records []Record
}

// NewLedger returns an empty ledger of a queue whose store delivers each class that is asked for as
// delivers tells.
func NewLedger(delivers map[kv.Durability]kv.Durability) *Ledger { return &Ledger{delivers: delivers} }

// Add adds a record.
func (l *Ledger) Add(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
}

// Crash notes that every process that used the queue was killed (survives is kv.Flushed) or lost
// power (kv.Synced) before now, and none was started again yet: what was committed as durable as
// that, or more, is to be there.
func (l *Ledger) Crash(survives kv.Durability) {
	l.Add(Record{Event: Crashed, At: time.Now(), Class: survives})
}

// Len returns the number of records.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.records)
}

// fate is what is known of a job.
type fate struct {
	payload   string
	batch     string
	class     kv.Durability // of its publishing
	published bool          // acknowledged, and not undone
	acking    bool          // an acknowledgement was tried: the job may be gone
	seen      bool          // it was claimed, or is in the queue
	left      bool          // it is in the queue
	claims    []span        // until an acknowledgement or nack was tried, or the lease ended
	acks      []span        // from the acknowledgement on, until a crash undid it
}

// span is a claim, or the time in which an acknowledgement holds.
type span struct {
	from, until time.Time
	given       time.Time // of a claim
	called      bool      // until is when a call to end it was made, not the end of its lease
	token       uint64
	class       kv.Durability
}

// forever is the end of a span that nothing ends.
var forever = time.Unix(1<<40, 0)

// Check judges all records, and what is left in q, which nobody uses at the moment. It changes
// nothing.
func (l *Ledger) Check(ctx context.Context, q *queue.Queue) error {
	l.mu.Lock()
	records := slices.Clone(l.records)
	l.mu.Unlock()
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	j := judge{delivers: l.delivers, jobs: map[string]*fate{}}
	for _, r := range records {
		if r.Event == Publishing {
			j.jobs[r.Payload] = &fate{payload: r.Payload, batch: r.Batch, class: l.delivers[r.Class]}
		}
	}
	// A claim is told with when it began, to the millisecond: so an end can stand before its
	// beginning here.
	for _, r := range records {
		if r.Event == Claimed {
			j.record(r)
		}
	}
	for _, r := range records {
		if r.Event != Claimed && r.Event != Publishing {
			j.record(r)
		}
	}
	if err := j.left(ctx, q); err != nil {
		return err
	}
	for _, payload := range slices.Sorted(maps.Keys(j.jobs)) {
		j.verdict(j.jobs[payload])
	}
	j.batches()
	return errors.Join(j.faults...)
}

type judge struct {
	delivers map[kv.Durability]kv.Durability
	jobs     map[string]*fate // by payload
	faults   []error
}

func (j *judge) fault(format string, args ...any) {
	const most = 10
	if len(j.faults) < most {
		j.faults = append(j.faults, fmt.Errorf(format, args...))
	}
}

func (j *judge) record(r Record) {
	if r.Event == Crashed {
		for _, job := range j.jobs {
			job.crash(r)
		}
		return
	}
	job := j.jobs[r.Payload]
	if job == nil {
		j.fault("job %d, %q, is %s and was never published", r.ID, r.Payload, r.Event)
		return
	}
	class := j.delivers[r.Class]
	switch r.Event {
	case Published:
		job.published = true
	case Claimed:
		job.seen = true
		job.claims = append(job.claims, span{from: r.At, until: r.Until, given: r.Given, token: r.Token, class: class})
	case Acking, Nacking:
		job.acking = job.acking || r.Event == Acking
		for i := range job.claims {
			if c := &job.claims[i]; c.token == r.Token && r.At.Before(c.until) {
				c.until, c.called = r.At, true
			}
		}
	case Acked:
		job.acks = append(job.acks, span{from: r.At, until: forever, token: r.Token, class: class})
	}
}

// crash undoes what was not durable enough.
func (job *fate) crash(r Record) {
	for _, spans := range [][]span{job.claims, job.acks} {
		for i := range spans {
			if s := &spans[i]; s.class > r.Class && s.from.Before(r.At) && r.At.Before(s.until) {
				s.until = r.At
			}
		}
	}
	if job.class > r.Class {
		job.published, job.batch = false, "" // parts that were claimed and acknowledged may be gone
	}
}

// left looks at what is in the queue.
func (j *judge) left(ctx context.Context, q *queue.Queue) error {
	var counts queue.Counts
	for _, state := range queue.States {
		jobs, err := q.List(ctx, state, 1<<30)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		*counts.Of(state) = len(jobs)
		for _, job := range jobs {
			f := j.jobs[string(job.Payload)]
			if f == nil {
				j.fault("job %d, %q, is %v and was never published", job.ID, job.Payload, job.State)
				continue
			}
			if f.left {
				j.fault("job %q is in the queue twice", job.Payload)
			}
			f.seen, f.left = true, true
		}
	}
	got, err := q.Counts(ctx)
	if got.Total() != counts.Total() || got.Dead != counts.Dead {
		j.fault("counted are %+v, listed %+v", got, counts)
	}
	return err
}

// verdict finds what is wrong with a job.
func (j *judge) verdict(job *fate) {
	if job.published && !job.acking && !job.left {
		j.fault("job %q was published, nobody acknowledged it, and it is lost", job.payload)
	}
	now := time.Now()
	for i, ack := range job.acks {
		if job.left && ack.until.After(now) {
			j.fault("job %q was acknowledged and is in the queue", job.payload)
		}
		for _, c := range job.claims {
			if c.from.After(ack.from) && c.from.Before(ack.until) {
				j.fault("job %q was acknowledged and then given out", job.payload)
			}
		}
		for _, other := range job.acks[:i] {
			if other.until.After(ack.from) {
				j.fault("job %q was acknowledged twice", job.payload)
			}
		}
	}
	slices.SortFunc(job.claims, func(a, b span) int { // two may begin in one millisecond
		return cmp.Or(a.from.Compare(b.from), a.until.Compare(b.until))
	})
	for i, c := range job.claims {
		for _, before := range job.claims[:i] {
			began := c.from.Add(time.Millisecond)
			// leases may begin before their claims are committed: only a worker that has the job
			// has a claim
			if before.called {
				began = c.given
			}
			// Where nobody waits in turns the later one may have looked at its clock first.
			if began.Before(before.until) && before.given.Before(c.until) {
				j.fault("job %q has two live claims: one from %v to %v, one from %v", job.payload, before.from,
					before.until, c.from)
			}
		}
	}
}

// batches finds what was published together and is not there as a whole.
func (j *judge) batches() {
	some := map[string]bool{}
	for _, job := range j.jobs {
		some[job.batch] = some[job.batch] || job.seen
	}
	for _, job := range j.jobs {
		if job.batch != "" && some[job.batch] && !job.seen {
			j.fault("job %q is missing, though others published with it are there", job.payload)
		}
	}
}
