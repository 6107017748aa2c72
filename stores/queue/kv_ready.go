package queue

import (
	"slices"

	"github.com/assaydb/assay/kv"
)

// entry is a ready job. What was published never changes, so that it may be read long before the
// claim.
type entry struct {
	place // in the order of claims
	tried
	home  int64  // at of 'j'
	fresh bool   // it is ready by its 'j', and has no 'r'
	value []byte // of 'j', nil if it was not read yet
}

func (e entry) homePlace() place { return place{e.priority, e.home, e.id} }

// freshEntry returns the entry of a job that is ready by its 'j'.
func freshEntry(p place, value []byte) entry {
	return entry{place: p, tried: tried{special: isSpecial(value)}, home: p.at, fresh: true, value: value}
}

// mostAhead is how many bytes of jobs are read at once, roughly.
const mostAhead = 1 << 20

// readReady returns up to n ready jobs after a place, or from the first if it is nil, in the order
// of claims, and whether there may be more.
func readReady(s *kv.Snapshot, k *keys, q *stats, after *place, n int) (list []entry, more bool, err error) {
	size := 0
	err = scanFresh(s, k, q, after, func(p place, value []byte) bool {
		list = append(list, freshEntry(p, slices.Clone(value)))
		size += len(value)
		return len(list) < n && size < mostAhead
	})
	if err != nil || q.readies == 0 {
		return list, len(list) == n || size >= mostAhead, err
	}
	more = len(list) == n || size >= mostAhead
	fresh := len(list)
	err = scanReady(s, k, after, func(e entry) bool {
		if more && list[fresh-1].less(e.place) { // its turn is after what was not read
			return false
		}
		list = append(list, e)
		return len(list)-fresh < n
	})
	if len(list)-fresh == n { // what follows the last 'r' may be before a fresh one
		more = true
	}
	slices.SortFunc(list, compareEntries)
	if len(list) > n {
		list, more = list[:n], true
	}
	return list, more, err
}

func compareEntries(a, b entry) int {
	switch {
	case a.less(b.place):
		return -1
	case b.less(a.place):
		return 1
	}
	return 0
}

// scanFresh calls yield with the jobs that are ready by their 'j', after a place or from the first,
// in order, until it returns false.
func scanFresh(s *kv.Snapshot, k *keys, q *stats, after *place, yield func(place, []byte) bool) error {
	from := q.mark(0)
	if after != nil {
		if from = q.mark(after.priority); from.less(*after) {
			from = *after
		}
	}
	for again := true; again; {
		again = false
		r := kv.Prefix(k.job)
		r.Start = append(slices.Clone(k.at(k.job, from)), 0)
		for key, value := range s.Scan(r) {
			p, err := parsePlace(key, k.job)
			if err != nil {
				return err
			}
			if p.priority != from.priority && !q.isFresh(p) { // what is before the mark may be much
				from, again = q.mark(p.priority), true
				break
			}
			if from = p; !yield(p, value) {
				return nil
			}
		}
	}
	return s.Err()
}

// scanReady calls yield with the other ready jobs.
func scanReady(s *kv.Snapshot, k *keys, after *place, yield func(entry) bool) error {
	r := kv.Prefix(k.ready)
	if after != nil {
		r.Start = append(slices.Clone(k.at(k.ready, *after)), 0)
	}
	for key, value := range s.Scan(r) {
		p, err := parsePlace(key, k.ready)
		if err != nil {
			return err
		}
		e := entry{place: p}
		if e.tried, e.home, err = parseReady(key, value); err != nil {
			return err
		}
		if !yield(e) {
			return nil
		}
	}
	return s.Err()
}
