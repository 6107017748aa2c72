package queue

import (
	"cmp"
	"fmt"
	"time"
)

// Options is how a Store works. A nil *Options is the zero Options.
type Options struct {
	// Poll is how often, at least, a worker that waits looks for what other processes did; 0 is 100
	// ms. Right after there was a job it looks every millisecond, then ever less often. What the
	// Store itself does wakes workers at once.
	Poll time.Duration

	// Clock tells the time; nil is time.Now. With another one, workers that wait still sleep in
	// real time. A time before 1970 counts as 1970.
	Clock func() time.Time

	// Ended is told, by [Queue.Work] and [Workers], how each attempt ended, once that is committed:
	// to log and measure. It is called by the worker, which waits for it, and by several at once.
	// nil tells nobody.
	Ended func(Outcome)
}

// Settings is how one queue works. A nil *Settings is the zero Settings. They are not stored: every
// program that claims from the queue should give the same.
type Settings struct {
	// Lease is how long a claim lasts; 0 is 30 s.
	Lease time.Duration

	// MaxAttempts is after how many attempts without an Ack a job is dead; 0 is 5, NoLimit is
	// never.
	MaxAttempts int

	// Backoff tells after what time a job that failed in [Queue.Work] is ready again; job is as it
	// was claimed. nil is Exponential(DefaultRetry, DefaultLongestRetry).
	Backoff func(job Job, err error) time.Duration

	// Timeout is after what time the context of a function in [Queue.Work] ends, unless its job has
	// its own; 0 is never.
	Timeout time.Duration

	// Retention is at what age a job is not given out any more; 0 is never. Age counts from
	// publishing. A job that is claimed is left to its worker. See Outdated for what becomes of it,
	// and Sweep for when.
	Retention time.Duration

	// Outdated is what becomes of a job older than Retention.
	Outdated Outdated

	// DeadRetention is how long jobs are kept after they died; 0 is until they are purged or
	// requeued.
	DeadRetention time.Duration
}

// NoLimit as Settings.MaxAttempts gives a job out until it is acknowledged.
const NoLimit = -1

// Outdated is what becomes of a job that is too old.
type Outdated uint8

// What becomes of jobs that are too old.
const (
	Bury Outdated = iota // it is dead, and can be listed and requeued
	Drop                 // it is deleted
)

// Defaults of Settings and Options.
const (
	DefaultLease        = 30 * time.Second
	DefaultMaxAttempts  = 5
	DefaultRetry        = time.Second
	DefaultLongestRetry = time.Hour
	DefaultPoll         = 100 * time.Millisecond
)

// earliest is what the clock says at least: where times are kept, 0 and what is below have other
// meanings.
var earliest = time.UnixMilli(1)

func (o *Options) complete() error {
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	clock := o.Clock
	o.Clock = func() time.Time {
		if now := clock(); now.After(earliest) {
			return now
		}
		return earliest
	}
	if o.Poll < time.Millisecond {
		return invalid("open queues", fmt.Errorf("option Poll %v", o.Poll),
			"give at least a millisecond, or 0 for the default")
	}
	return nil
}

func (s *Settings) complete() error {
	if s.Lease == 0 {
		s.Lease = DefaultLease
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = DefaultMaxAttempts
	}
	if s.Backoff == nil {
		s.Backoff = Exponential(DefaultRetry, DefaultLongestRetry)
	}
	for name, d := range map[string]time.Duration{"Lease": s.Lease, "Timeout": s.Timeout, "Retention": s.Retention,
		"DeadRetention": s.DeadRetention} {
		if d < 0 || d > maxDelay || d > 0 && d < time.Millisecond {
			return invalid("open queue", fmt.Errorf("setting %s %v", name, d),
				"give a millisecond to 100 years, or 0 for the default")
		}
	}
	if s.MaxAttempts < NoLimit || s.MaxAttempts > maxAttempts {
		return invalid("open queue", fmt.Errorf("setting MaxAttempts %d", s.MaxAttempts),
			fmt.Sprintf("give 1 to %d, 0 for the default, or NoLimit", maxAttempts))
	}
	if s.Outdated > Drop {
		return invalid("open queue", fmt.Errorf("setting Outdated %d", s.Outdated), "give Bury or Drop")
	}
	return nil
}

const (
	maxDelay    = 100 * 365 * 24 * time.Hour
	maxAttempts = 1 << 30
)

// Exhausted reports whether a job that was tried so often, and whose [Draft.MaxAttempts] is own, is
// dead. It is for backends.
func (s *Settings) Exhausted(own, attempts int) bool {
	most := cmp.Or(own, s.MaxAttempts)
	return most != NoLimit && attempts >= most
}

// TooOld reports whether a job published at created, in milliseconds, is older than Retention. It
// is for backends.
func (s *Settings) TooOld(created, now int64) bool {
	return s.Retention > 0 && now-created > s.Retention.Milliseconds()
}
