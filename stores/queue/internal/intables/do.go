package intables

import "github.com/assaydb/assay/stores/queue"

// Tables is what a database does within one transaction.
type Tables interface {
	// Due returns what is known of a queue.
	Due(queue string) *Due

	// MakeReady makes ready, or dead, the jobs whose delay or lease has ended, and returns how
	// many.
	MakeReady(op *queue.Op) (moved int, err error)

	// Publish does a Publish.
	Publish(op *queue.Op) error

	// ClaimSome claims up to n jobs, and returns them in the order of claims.
	ClaimSome(op *queue.Op, n int) ([]queue.Job, error)

	// Settle does what takes receipts: all, or nothing if one is stale. Of a Claim they are
	// acknowledged.
	Settle(op *queue.Op) error

	// Old returns some ready jobs that were published before a time, or dead ones that died before
	// it. Of dead ones see queue.Sweep for how many it looks at; it sets op.Last.
	Old(op *queue.Op, state queue.State, before int64) ([]Place, error)

	// Bury makes a job dead, and Drop deletes it.
	Bury(op *queue.Op, p Place) error
	Drop(op *queue.Op, p Place) error

	// DeleteID deletes a job in whatever state, and Purge up to op.Limit jobs in op.State. They
	// return how many.
	DeleteID(op *queue.Op, id uint64) (int, error)
	Purge(op *queue.Op) (int, error)

	// ReadDead returns the special of a dead job, if there is that job. Hold gives a key to a job,
	// unless another holds it. Requeue makes a dead job ready.
	ReadDead(op *queue.Op, id uint64) (special []byte, found bool, err error)
	Hold(op *queue.Op, key string, id uint64, until int64) (bool, error)
	Requeue(op *queue.Op, id uint64) error

	// ReadTick returns the last tick of a schedule, and SetTick makes it op.At.
	ReadTick(op *queue.Op) (int64, error)
	SetTick(op *queue.Op) error

	// Savepoint runs one of the statements on savepoints.
	Savepoint(s Savepoint) error
}

// Savepoint is a statement on savepoints: to make one, to go back to it, to end it.
type Savepoint int

// The statements, in this order.
const (
	Save Savepoint = iota
	Undo
	Release
)

// Place is where a job is in its table, and how often it was tried.
type Place struct {
	State    queue.State
	Rank, At int64
	ID       int64
	Attempts int
}

// Do does one operation.
func Do(t Tables, op *queue.Op) (err error) {
	switch op.Verb {
	case queue.Publish:
		return t.Publish(op)
	case queue.Claim:
		return claim(t, op)
	case queue.Ack, queue.Nack, queue.Release, queue.Extend:
		return t.Settle(op)
	case queue.Tick:
		return tick(t, op)
	case queue.Requeue:
		return forIDs(t, op, requeue)
	case queue.Delete:
		return forIDs(t, op, deleteID)
	case queue.Purge:
		op.Done, err = t.Purge(op)
		return err
	default:
		return sweep(t, op)
	}
}

// claim claims jobs, after it acknowledged the receipts, and puts aside those that turn out to be
// too old.
func claim(t Tables, op *queue.Op) error {
	if len(op.Receipts) > 0 {
		if err := t.Settle(op); err != nil || op.Err != nil {
			return err
		}
	}
	moved, err := t.MakeReady(op)
	if err != nil {
		return err
	}
	for want := op.Limit; want > 0 && op.Done < queue.MostDue; want = min(op.Limit-len(op.Jobs), queue.MostDue) {
		jobs, err := t.ClaimSome(op, want)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if !op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
				op.Jobs = append(op.Jobs, job)
				continue
			}
			p := Place{queue.Claimed, 0, op.Until, int64(job.ID), job.Attempts - 1}
			if err := outdate(t, op, p); err != nil {
				return err
			}
		}
		if len(jobs) < want {
			break
		}
	}
	if len(op.Jobs) > 0 {
		t.Due(op.Queue).Add(op.Until)
	}
	if len(op.Jobs) == op.Limit {
		op.Ready = max(1, moved)
	}
	return nil
}

func tick(t Tables, op *queue.Op) (err error) {
	if op.Last, err = t.ReadTick(op); err != nil || op.Last != op.From {
		return err
	}
	if err := t.SetTick(op); err != nil {
		return err
	}
	if op.Last = op.At; len(op.Drafts) == 0 {
		return nil
	}
	return t.Publish(op)
}

// forIDs calls fn for each of op.IDs: all, or none if it sets op.Err.
func forIDs(t Tables, op *queue.Op, fn func(Tables, *queue.Op, uint64) error) error {
	if err := t.Savepoint(Save); err != nil {
		return err
	}
	for _, id := range op.IDs {
		if err := fn(t, op, id); err != nil {
			return err
		}
		if op.Err != nil {
			op.Ready = 0
			if err := t.Savepoint(Undo); err != nil {
				return err
			}
			break
		}
	}
	return t.Savepoint(Release)
}

func deleteID(t Tables, op *queue.Op, id uint64) error {
	n, err := t.DeleteID(op, id)
	if n == 0 && err == nil {
		op.Err = queue.NoJob(op.Verb.String(), op.Queue, id)
	}
	return err
}

func requeue(t Tables, op *queue.Op, id uint64) error {
	dead := queue.Job{ID: id}
	special, found, err := t.ReadDead(op, id)
	if err == nil {
		err = dead.SetSpecial(special)
	}
	if err != nil {
		return err
	}
	if !found {
		op.Err = queue.NotDead(op.Queue, id)
		return nil
	}
	if key, until := dead.Key(); key != "" {
		ours, err := t.Hold(op, key, id, max(0, until.UnixMilli()))
		if err != nil {
			return err
		}
		if !ours {
			op.Err = queue.KeyTaken(op.Queue, id, key)
			return nil
		}
	}
	op.Ready++
	return t.Requeue(op, id)
}

func sweep(t Tables, op *queue.Op) error {
	if _, err := t.MakeReady(op); err != nil {
		return err
	}
	if age := op.Settings.Retention.Milliseconds(); age > 0 {
		if err := forOld(t, op, queue.Ready, op.Now-age, outdate); err != nil {
			return err
		}
	}
	age := op.Settings.DeadRetention.Milliseconds()
	switch {
	case age > 0 && op.Done < op.Limit:
		return forOld(t, op, queue.Dead, op.Now-age, drop)
	case age > 0:
		op.Last = op.From
	}
	return nil
}

// forOld calls fn with the jobs in a state that are from before a time.
func forOld(t Tables, op *queue.Op, state queue.State, before int64, fn func(Tables, *queue.Op, Place) error) error {
	list, err := t.Old(op, state, before)
	for _, p := range list {
		if err == nil {
			err = fn(t, op, p)
		}
	}
	return err
}

// outdate does what the settings say to a job that is too old.
func outdate(t Tables, op *queue.Op, p Place) error {
	if op.Settings.Outdated == queue.Drop {
		return drop(t, op, p)
	}
	op.Done++
	return t.Bury(op, p)
}

func drop(t Tables, op *queue.Op, p Place) error {
	op.Done++
	return t.Drop(op, p)
}
