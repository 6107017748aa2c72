// Package intables is what backends that keep queues in tables of a database have in common.
package intables

import (
	"math"

	"github.com/assaydb/assay/stores/queue"
)

// Dues are those of queues by name.
type Dues map[string]*Due

// Of returns the due of a queue, of which nothing is known if it is new.
func (d Dues) Of(queue string) *Due {
	due, ok := d[queue]
	if !ok {
		due = new(Due)
		d[queue] = due
	}
	return due
}

// Due is when delays and leases of a queue end, as far as this process knows, in milliseconds. What
// other processes add it learns by looking now and then.
type Due struct {
	At     int64 // no delay or lease that is known ends before; math.MaxInt64 if none is
	Looked int64 // when the table was last asked
}

// lookEvery is after how many milliseconds a claim asks the table again.
const lookEvery = 100

// Add adds the end of a delay or lease.
func (d *Due) Add(at int64) { d.At = min(d.At, at) }

// MustLook reports whether the table is to be asked.
func (d *Due) MustLook(now int64) bool {
	return now >= d.At || now-d.Looked >= lookEvery || now < d.Looked
}

// Next returns what [queue.Op] wants as its Due.
func (d *Due) Next() int64 {
	if d.At == math.MaxInt64 {
		return 0
	}
	return d.At
}

// DeadAt returns at how many attempts a job is dead.
func DeadAt(s *queue.Settings) int64 {
	if s.MaxAttempts == queue.NoLimit {
		return math.MaxInt64
	}
	return int64(s.MaxAttempts)
}

// Looking takes the dead jobs that Old looks at, by their ids.
type Looking struct {
	Op     *queue.Op
	List   []Place // those that are too old
	looked int
}

// Take takes the next job. It sets Op.Last with the last one that Op may look at, and takes no more
// then.
func (l *Looking) Take(p Place, old bool) {
	if l.Op.Last != 0 {
		return
	}
	if old {
		l.List = append(l.List, p)
	}
	if l.looked++; l.looked == queue.MostLooked || l.Op.Done+len(l.List) == l.Op.Limit {
		l.Op.Last = p.ID
	}
}
