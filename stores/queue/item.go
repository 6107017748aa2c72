package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
)

// ItemKind says what a Item is. Dump gives those of a queue in the order of their kinds.
type ItemKind uint8

// The kinds of items.
const (
	HeadItem     ItemKind = iota // of every queue; ID is the last that was given out
	JobItem                      // Job, Special, Extended; by state, and in each as List has them
	KeyItem                      // the unique key Name is held by the job ID, or by none if that is 0, and until At
	ScheduleItem                 // the schedule Name has published its tick of At
)

// Item is one of the things that a store of queues holds, whatever keeps it: what is moved between
// a key-value store and SQL tables. Package stores/pairs makes pairs of them. Times are in
// milliseconds since 1970.
type Item struct {
	Kind  ItemKind
	Queue string

	Job      Job    // its Receipt.Until is when the lease ends
	Special  []byte // what [Draft.Special] returned, nil for nothing
	Extended bool   // the claim was extended: its receipt tells an earlier end

	Name string
	ID   uint64
	At   int64
}

// Dump gives fn all items of the queues in s, by queue, each until fn returns. Counters that are
// not those of the jobs, and jobs that are in no state, are Corrupt.
func Dump(s *kv.Snapshot, fn func(*Item) error) error {
	names, err := queuesIn(s)
	for _, name := range names {
		if err == nil {
			err = (&dump{s: s, keys: newKeys(name), name: name, fn: fn}).queue()
		}
	}
	return err
}

// dump is the part of a Dump that is of one queue.
type dump struct {
	keys
	s    *kv.Snapshot
	name string
	fn   func(*Item) error
	stored,
	counted stats
}

func (d *dump) queue() error {
	v, err := d.s.Get(d.keys.queue)
	if err != nil {
		return err
	}
	if d.stored, err = parseStats(d.keys.queue, v); err != nil {
		return err
	}
	if err := d.fn(&Item{Kind: HeadItem, Queue: d.name, ID: d.stored.last}); err != nil {
		return err
	}
	for _, step := range []func() error{d.jobs, d.check, d.uniqueKeys, d.schedules} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) job(state State, f found) error {
	v, err := d.s.Get(d.at(d.keys.job, f.claim.place))
	if err != nil {
		return missing(err, f.claim.id)
	}
	p := Item{Kind: JobItem, Queue: d.name, Extended: f.claim.extended || f.claim.kind == timerExtended}
	if isSpecial(v) {
		if p.Special, _, err = cutSpecial(f.claim.id, v[jobHeader:]); err != nil {
			return err
		}
		p.Special = slices.Clone(p.Special)
	}
	if p.Job, err = readFound(d.s, &d.keys, state, f); err != nil {
		return err
	}
	if *d.counted.counts.Of(state)++; state == Ready && !f.ready.fresh {
		d.counted.readies++
	}
	return d.fn(&p)
}

func (d *dump) jobs() (err error) {
	for _, state := range States {
		scan := scanState(d.s, &d.keys, &d.stored, state, mostRead, func(f found) bool {
			err = d.job(state, f)
			return err == nil
		})
		if err = cmp.Or(err, scan); err != nil {
			return err
		}
	}
	return nil
}

// check compares what was found with what the queue says, and with how many jobs there are.
func (d *dump) check() error {
	jobs := 0
	for range d.s.Keys(kv.Prefix(d.keys.job)) {
		jobs++
	}
	if err := d.s.Err(); err != nil {
		return err
	}
	switch found, said := d.counted, d.stored; {
	case found.counts != said.counts || found.readies != said.readies:
		return corrupt("queue %q says that it has %+v, %d of them apart, and has %+v and %d", d.name, said.counts,
			said.readies, found.counts, found.readies)
	case found.counts.Total() != jobs:
		return corrupt("queue %q has %d jobs, of which %d are in a state", d.name, jobs, found.counts.Total())
	}
	return nil
}

func (d *dump) uniqueKeys() error {
	for key, v := range d.s.Scan(kv.Prefix(d.key)) {
		if len(v) != 16 {
			return corrupt("key %q: %d bytes instead of a unique key", key, len(v))
		}
		p := Item{Kind: KeyItem, Queue: d.name, Name: string(key[len(d.key):]), ID: be64(v), At: int64(be64(v[8:]))}
		if err := d.fn(&p); err != nil {
			return err
		}
	}
	return d.s.Err()
}

func (d *dump) schedules() error {
	for key, v := range d.s.Scan(kv.Prefix(d.schedule)) {
		if len(v) != 8 {
			return corrupt("key %q: %d bytes instead of a tick", key, len(v))
		}
		p := Item{Kind: ScheduleItem, Queue: d.name, Name: string(key[len(d.schedule):]), At: int64(be64(v))}
		if err := d.fn(&p); err != nil {
			return err
		}
	}
	return d.s.Err()
}

// Restore writes an item that Dump gave, of the same store or another, into the queues in tx, which
// are not open elsewhere. A queue gets its items in the order of Dump, in as many transactions as
// one likes; as long as items are missing it is not to be used. What is there already is a
// Conflict.
func Restore(tx *kv.Tx, p *Item) error {
	k := newKeys(p.Queue)
	switch p.Kind {
	case HeadItem:
		if there, err := tx.Has(k.queue); there || err != nil {
			return errors.Join(err, isThere("queue %q", p.Queue))
		}
		return tx.Put(k.queue, (&stats{last: p.ID}).append(nil))
	case JobItem:
		return restoreJob(tx, &k, p)
	case KeyItem:
		err := tx.Put(k.named(k.key, p.Name), put64(put64(nil, p.ID), uint64(p.At)))
		if err == nil && p.ID == 0 {
			err = tx.Put(k.keyEndAt(p.At, p.Name), nil)
		}
		return err
	}
	return tx.Put(k.named(k.schedule, p.Name), put64(nil, uint64(p.At)))
}

func isThere(text string, values ...any) error {
	return &kv.Error{Op: "restore", Kind: kv.Conflict, Err: fmt.Errorf(text+" is there already", values...),
		Hint: "restore into empty queues"}
}

// restoreJob writes a job as one that was published, and is not given out by that alone.
func restoreJob(tx *kv.Tx, k *keys, p *Item) error {
	v, err := tx.Get(k.queue)
	if err != nil {
		return err
	}
	q, err := parseStats(k.queue, v)
	if err != nil {
		return err
	}
	job := &p.Job
	home := place{keyPriority(job.Priority), 0, job.ID}
	if there, err := tx.Has(k.at(k.job, home)); there || err != nil {
		return errors.Join(err, isThere("job %d", job.ID))
	}
	created := job.CreatedAt.UnixMilli()
	if err := tx.Put(k.at(k.job, home), append(appendJob(nil, created, p.Special), job.Payload...)); err != nil {
		return err
	}
	at, t := job.VisibleAt.UnixMilli(), tried{job.Attempts, p.Special != nil}
	c := timer{kind: timerDelay, tried: t, priority: home.priority}
	switch job.State {
	case Ready:
		q.readies++
		err = tx.Put(k.at(k.ready, place{home.priority, at, job.ID}), put64(t.append(nil), 0))
	case Delayed:
		err = tx.Put(k.timerAt(at, job.ID), c.append(nil))
	case Claimed:
		if c.kind, c.token = timerClaim, job.Receipt.Token; p.Extended {
			c.kind = timerExtended
			err = tx.Put(k.with(k.extended, job.ID), put64(nil, uint64(at)))
		}
		err = errors.Join(err, tx.Put(k.timerAt(at, job.ID), c.append(nil)))
	default:
		err = tx.Put(k.with(k.dead, job.ID), put64(append(t.append(put64(nil, uint64(at))), home.priority), 0))
	}
	if failures := job.Failures(); err == nil && len(failures) > 0 {
		var text []byte
		if text, err = FailuresText(failures); err == nil {
			err = tx.Put(k.with(k.failure, job.ID), text)
		}
	}
	if err != nil {
		return err
	}
	*q.counts.Of(job.State)++
	q.version++
	return tx.Put(k.queue, q.append(nil))
}

// FailuresText returns failures as [Job.SetFailures] reads them.
func FailuresText(failures []Failure) ([]byte, error) {
	stored := make([]storedFailure, len(failures))
	for i, f := range failures {
		stored[i] = storedFailure{At: f.At.UnixMilli(), Attempt: f.Attempt, Error: f.Error}
	}
	return json.Marshal(stored)
}
