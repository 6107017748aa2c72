package queue

import (
	"math"
	"slices"

	"github.com/assaydb/assay/kv"
)

// entry is a ready job. What was published never changes, so that it may be read long before the claim.
type entry struct {
	place
	value   []byte // the body, nil if it was not read yet
	payload []byte // of 'j', nil if there is none or it was not read yet
}

// head is the beginning of the ready jobs in memory: all of them up to a bound, in the order of claims. So a claim need
// not search from where the queue began: on engines that merge later, everything deleted there is still in the way.
type head struct {
	list  []entry // list[first:] are all ready jobs up to bound
	first int
	bound place
	begun bool // bound is set; otherwise list is empty, and is of no jobs
	whole bool // there are no ready jobs beyond list
	next  int  // how many to read next
}

// Of the head at most mostHead jobs are kept, and 1 to mostRead are read at once: the more often a queue is
// changed by others, which makes the head void, the less is read in vain.
const (
	mostHead = 8192
	mostRead = 512
)

// While the head has at most mostHeadShort jobs, what is published is kept in it, with payloads up to mostShort bytes.
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
	r := kv.Prefix(q.ready)
	if h.begun {
		r.Start = append(slices.Clone(q.readyAt(h.bound)), 0)
	}
	h.list, h.first = h.list[:0], 0
	for key, value := range b.tx.Scan(r) {
		p, err := q.parseReady(key)
		if err != nil {
			return err
		}
		if q.hasSlot(p.id) {
			continue
		}
		if h.list = append(h.list, entry{place: p, value: slices.Clone(value)}); len(h.list) == h.next {
			break
		}
	}
	if h.whole = len(h.list) < h.next; len(h.list) > 0 {
		h.bound, h.begun = h.list[len(h.list)-1].place, true
	}
	if err := b.tx.Err(); err != nil {
		return err
	}
	return h.readPayloads(b, q)
}

// mostPayloads is how many bytes of payloads are read ahead at most.
const mostPayloads = 1 << 20

// readPayloads reads the large payloads of the list, as far as they lie side by side: on engines that merge later a walk
// costs much less than to look for each.
func (h *head) readPayloads(b *kvBackend, q *kvQueue) error {
	at := make(map[uint64]int)
	first, last := uint64(math.MaxUint64), uint64(0)
	for i, e := range h.list {
		if job, err := parseBody(q.job, e.value); err == nil && job.large {
			at[e.id] = i
			first, last = min(first, e.id), max(last, e.id)
		}
	}
	if len(at) < 2 {
		return nil
	}
	r := kv.Range{Start: slices.Clone(q.with(q.job, first)), End: slices.Clone(q.with(q.job, last+1))}
	steps, size := 2*len(h.list), 0
	for key, value := range b.tx.Scan(r) {
		id, err := idOf(key, q.job)
		if err != nil {
			return err
		}
		if i, ok := at[id]; ok {
			h.list[i].payload = slices.Clone(value)
			size += len(value)
		}
		if steps--; steps == 0 || size > mostPayloads {
			break
		}
	}
	return b.tx.Err()
}

// readEntry completes an entry, and returns its body.
func (q *kvQueue) readEntry(b *kvBackend, e *entry) (job body, err error) {
	key := q.readyAt(e.place)
	if e.value == nil {
		if e.value, err = getBody(&b.tx.Snapshot, key, e.id); err != nil {
			return job, err
		}
	}
	if job, err = parseBody(key, e.value); err == nil && job.large && e.payload == nil {
		e.payload, err = getBody(&b.tx.Snapshot, q.with(q.job, e.id), e.id)
	}
	return job, err
}

// pop removes the first job, which peek returned.
func (h *head) pop() {
	h.list[h.first] = entry{}
	if h.first++; h.first == len(h.list) {
		h.list, h.first = h.list[:0], 0
	}
}

// add tells of a job that became ready. What it keeps of the value and payload it copies.
func (h *head) add(e entry) {
	if !h.whole && (!h.begun || h.bound.less(e.place)) {
		return
	}
	if len(h.list)-h.first < mostHeadShort {
		e.value = slices.Clone(e.value)
	} else {
		e.value, e.payload = nil, nil
	}
	if len(e.payload) <= mostShort {
		e.payload = slices.Clone(e.payload)
	} else {
		e.payload = nil
	}
	if n := len(h.list); n == h.first || h.list[n-1].less(e.place) {
		h.append(e)
	} else {
		i, _ := slices.BinarySearchFunc(h.list[h.first:], e, func(a, b entry) int {
			if a.less(b.place) {
				return -1
			}
			return 1
		})
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
