package queue

import "slices"

// head is the beginning of the ready jobs in memory: all of them up to a bound, in the order of
// claims. So a claim need not search from where the queue began: on engines that merge later,
// everything deleted there is still in the way.
type head struct {
	list  []entry // list[first:] are all ready jobs up to bound
	first int
	bound place
	begun bool // bound is set; otherwise list is empty, and is of no jobs
	whole bool // there are no ready jobs beyond list
	next  int  // how many to read next
}

// Of the head at most mostHead jobs are kept, and 1 to mostRead are read at once: the more often a
// queue is changed by others, which makes the head void, the less is read in vain.
const (
	mostHead = 8192
	mostRead = 512
)

// While the head has at most mostHeadShort jobs, what is published with up to mostShort bytes is
// kept in it.
const (
	mostHeadShort = 256
	mostShort     = 4 << 10
)

func (h *head) reset() {
	clear(h.list)
	*h = head{list: h.list[:0]}
}

// peek returns the first ready job.
func (h *head) peek(b *kvBackend, q *kvQueue) (e entry, ok bool, err error) {
	if h.first == len(h.list) && !h.whole {
		if err := h.read(b, q); err != nil {
			return e, false, err
		}
	}
	if h.first == len(h.list) {
		return e, false, nil
	}
	return h.list[h.first], true, nil
}

// read reads more jobs beyond the bound. The list is empty.
func (h *head) read(b *kvBackend, q *kvQueue) error {
	h.next = min(max(1, 4*h.next), mostRead)
	var after *place
	if h.begun {
		after = &h.bound
	}
	list, more, err := readReady(b.tx.Snapshot, &q.keys, &q.stats, after, h.next)
	if err != nil {
		return err
	}
	h.list, h.first, h.whole = list, 0, !more
	if len(list) > 0 {
		h.bound, h.begun = list[len(list)-1].place, true
	}
	return nil
}

// pop removes the first job, which peek returned.
func (h *head) pop() {
	h.list[h.first] = entry{}
	if h.first++; h.first == len(h.list) {
		h.list, h.first = h.list[:0], 0
	}
}

// add tells of a job that became ready, whose value it copies.
func (h *head) add(e entry) {
	if !h.whole && (!h.begun || h.bound.less(e.place)) {
		return
	}
	if e.value != nil && len(e.value) <= mostShort && len(h.list)-h.first < mostHeadShort {
		e.value = slices.Clone(e.value)
	} else {
		e.value = nil
	}
	if n := len(h.list); n == h.first || h.list[n-1].less(e.place) {
		h.append(e)
	} else {
		i, _ := slices.BinarySearchFunc(h.list[h.first:], e, compareEntries)
		h.list = slices.Insert(h.list, h.first+i, e)
	}
	if !h.begun || h.bound.less(e.place) {
		h.bound, h.begun = e.place, true
	}
	if n := len(h.list); n-h.first > mostHead {
		h.list = h.list[:h.first+mostHead/2]
		h.bound, h.whole = h.list[len(h.list)-1].place, false
	}
}

// append adds e at the end, in the space before the first job rather than in more memory.
func (h *head) append(e entry) {
	if len(h.list) == cap(h.list) && h.first > len(h.list)/2 {
		h.list = append(h.list[:0], h.list[h.first:]...)
		h.first = 0
	}
	h.list = append(h.list, e)
}
