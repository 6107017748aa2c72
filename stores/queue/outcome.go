package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Never makes err the end of a job: when its function returns it, the job is dead at once, whatever
// its attempts. It can be requeued.
func Never(err error) error { return &neverError{err} }

type neverError struct{ error }

func (e *neverError) Unwrap() error { return e.error }

func isNever(err error) bool {
	var never *neverError
	return errors.As(err, &never)
}

// Later is what a function returns whose job's time has not come: the job is ready again after
// delay, at most 100 years, and the attempt does not count.
func Later(delay time.Duration) error { return laterError(min(max(0, delay), maxDelay)) }

type laterError time.Duration

func (e laterError) Error() string { return "try again in " + time.Duration(e).String() }

// Exponential returns a [Settings.Backoff] that waits for first after the first attempt, twice as
// long after each further one, and at most for longest; each time a tenth more or less, by chance,
// so that what failed together does not come back together. Both are positive.
func Exponential(first, longest time.Duration) func(Job, error) time.Duration {
	return func(job Job, _ error) time.Duration {
		wait := longest
		if doublings := max(0, job.Attempts-1); doublings < 62 && first <= longest>>doublings {
			wait = first << doublings
		}
		return wait - wait/10 + time.Duration(rand.Int64N(int64(wait/5)+1))
	}
}

// Result is how an attempt ended.
type Result uint8

// The results.
const (
	Done     Result = iota // the job was acknowledged
	Retried                // it failed and will be tried again
	Buried                 // it failed and is dead
	Snoozed                // it asked for Later
	Released               // the program ended first
	Lost                   // when it ended the job was no longer this worker's
)

var resultNames = [...]string{"done", "retried", "buried", "snoozed", "released", "lost"}

func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("result(%d)", uint8(r))
}

// Outcome is how an attempt of a worker ended: see [Options.Ended].
type Outcome struct {
	Queue  string
	Job    Job // as it was claimed
	Result Result
	Err    error         // that its function returned, or a [*PanicError]
	Wait   time.Duration // from when the job was ready until its function was called
	Run    time.Duration // until that returned
}

// Stats counts what workers of this program did: see [Queue.Stats].
type Stats struct {
	Done, Retried, Buried, Snoozed, Released, Lost int64

	Wait time.Duration // of all of them together, as in Outcome
	Run  time.Duration // likewise
}

// Ended returns how many attempts ended, however they did.
func (s Stats) Ended() int64 {
	return s.Done + s.Retried + s.Buried + s.Snoozed + s.Released + s.Lost
}

// tally is the Stats of a line as they grow.
type tally struct {
	results   [len(resultNames)]atomic.Int64
	wait, run atomic.Int64
}

func (t *tally) count(o *Outcome) {
	t.results[o.Result].Add(1)
	t.wait.Add(int64(o.Wait))
	t.run.Add(int64(o.Run))
}

// Stats returns what Work and Workers of this Store did with jobs of this queue since the Store was
// opened, whichever value of the queue they used.
func (q *Queue) Stats() Stats {
	t := &q.line.tally
	of := func(r Result) int64 { return t.results[r].Load() }
	return Stats{Done: of(Done), Retried: of(Retried), Buried: of(Buried), Snoozed: of(Snoozed), Released: of(Released),
		Lost: of(Lost), Wait: time.Duration(t.wait.Load()), Run: time.Duration(t.run.Load())}
}
