package queue

import (
	"errors"
	"fmt"
	"time"
)

// Draft is a job to be published.
type Draft struct {
	Payload  []byte        // what the job is about; may be empty, and comes back as nil then
	Delay    time.Duration // the job becomes ready so much later; 0 is at once, less is Invalid
	Priority int8          // jobs of a smaller number are claimed first

	// MaxAttempts is after how many attempts without an Ack this job is dead; 0 is what
	// [Settings.MaxAttempts] says, NoLimit is never.
	MaxAttempts int

	// Timeout is how long [Queue.Work] lets an attempt of this job run; 0 is what
	// [Settings.Timeout] says.
	Timeout time.Duration

	// Key makes the job unique in its queue, if it is not empty: while another job with this key is
	// ready, delayed or claimed, this one is not published, and its id is 0. KeyFor keeps the key
	// for that long from publishing even if the job is done, deleted or dead before. A key has at
	// most [MaxKey] bytes of UTF-8.
	Key    string
	KeyFor time.Duration
}

// Job is a job as it was when it was claimed or listed. Its bytes are the caller's.
type Job struct {
	ID        uint64 // unique in its queue; grows in the order of publishing
	State     State
	Payload   []byte
	Priority  int8
	Attempts  int       // how often it was claimed, this claim included, since it was published or requeued
	CreatedAt time.Time // when it was published
	// when it became or becomes ready; of a claimed job, when its lease ends; of a dead one, when
	// it died
	VisibleAt time.Time
	Receipt   Receipt // of the claim; zero unless the job is claimed

	readyAt int64 // in milliseconds since 1970, 0 in lists
	more    *more // nil for most
}

// more is what most jobs do not have. It is not in Job, which every claim makes.
type more struct {
	special  special
	failures []Failure
}

// ReadyAt returns since when a job was ready that was just claimed; of one from a list, the zero
// time.
func (job Job) ReadyAt() time.Time { return millisOrZero(job.readyAt) }

// MaxAttempts returns that of the job's Draft.
func (job Job) MaxAttempts() int { return job.own().MaxAttempts }

// Timeout returns that of the job's Draft.
func (job Job) Timeout() time.Duration { return time.Duration(job.own().Timeout) * time.Millisecond }

// Key returns that of the job's Draft, and until when its period keeps it, the zero time without
// one.
func (job Job) Key() (name string, until time.Time) {
	s := job.own()
	return s.Key, millisOrZero(s.KeyUntil)
}

// Failures returns the last attempts that failed, at most [MostFailures], the oldest first. They
// are known of jobs in lists and of those that Find returns, not of claims.
func (job Job) Failures() []Failure {
	if job.more == nil {
		return nil
	}
	return job.more.failures
}

func (job *Job) own() *special {
	if job.more == nil {
		return &special{}
	}
	return &job.more.special
}

func millisOrZero(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return Millis(ms)
}

// SetReadyAt sets ReadyAt, in milliseconds since 1970. It is for backends.
func (job *Job) SetReadyAt(ms int64) { job.readyAt = ms }

// SetSpecial sets what [Draft.Special] returned. It is for backends.
func (job *Job) SetSpecial(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	s, err := parseSpecial(job.ID, text)
	job.addMore().special = s
	return err
}

// SetFailures sets Failures to those that a backend keeps as a JSON array of objects with at, in
// milliseconds since 1970, attempt and error. It is for backends.
func (job *Job) SetFailures(text []byte) error {
	all, err := parseFailures(job.ID, text)
	if len(all) > 0 {
		job.addMore().failures = all
	}
	return err
}

func (job *Job) addMore() *more {
	if job.more == nil {
		job.more = &more{}
	}
	return job.more
}

// State is where a job is in its life.
type State uint8

// The states.
const (
	Ready   State = iota // may be claimed
	Delayed              // will be ready
	Claimed              // a worker has it
	Dead                 // given out no more
)

// States lists the states.
var States = []State{Ready, Delayed, Claimed, Dead}

var stateNames = [...]string{"ready", "delayed", "claimed", "dead"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Counts is how many jobs a queue has in each state.
type Counts struct {
	Ready, Delayed, Claimed, Dead int
}

// Total returns the number of all jobs.
func (c Counts) Total() int { return c.Ready + c.Delayed + c.Claimed + c.Dead }

// Of returns a pointer to the count of a state.
func (c *Counts) Of(s State) *int {
	return [...]*int{&c.Ready, &c.Delayed, &c.Claimed, &c.Dead}[s]
}

// Receipt tells a claim of a job from every other. It can be kept as text, to acknowledge from
// another process. It is good as long as the claim is live, however often it is extended.
type Receipt struct {
	ID    uint64 // of the job
	Until int64  // when the lease first was to end, in milliseconds since 1970
	Token uint64 // random, not 0
}

func (r Receipt) String() string { return fmt.Sprintf("%x-%x-%x", r.ID, r.Until, r.Token) }

// MarshalText returns the receipt as String does.
func (r Receipt) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText sets r to what MarshalText wrote. Other text is Invalid.
func (r *Receipt) UnmarshalText(text []byte) error {
	var got Receipt
	n, err := fmt.Sscanf(string(text), "%x-%x-%x", &got.ID, &got.Until, &got.Token)
	if n != 3 || err != nil || got.String() != string(text) {
		return invalid("receipt", fmt.Errorf("%q is not a receipt", text), "use what Receipt.String returned")
	}
	*r = got
	return nil
}

// errNoReceipt is the error of a receipt that no claim has.
var errNoReceipt = errors.New("an empty receipt")
