package sqlqueue

import (
	"errors"

	"github.com/assaydb/assay/stores/queue"
)

// held is the ids of a queue that this backend alone gives out, up to most, for as long as the row in queues says so. It
// takes more of them at a time than it needs, ahead of the clock, so that not each job that is published costs a
// change of that row.
type held struct {
	last, most uint64
	ahead      int   // how many were taken for later
	read       int64 // backend.began of the transaction that read or wrote the row
}

// mostAhead is how many ids are taken for later at most: those of 100 ms.
const mostAhead = 100_000

// errNotHeld says that the ids are another's now, and that nothing was published.
var errNotHeld = errors.New("the ids are held by another")

// next returns the id of the next job.
func (h *held) next(now int64) uint64 {
	h.last = queue.NextID(h.last, now)
	return h.last
}

// covers reports whether n more ids are held.
func (h *held) covers(now int64, n int) bool { return queue.NextID(h.last, now)+uint64(n)-1 <= h.most }

// holds reports whether the ids that op needs are held, as far as is known without looking.
func (b *backend) holds(op *queue.Op) bool {
	h, ok := b.held[op.Queue]
	return ok && h.covers(op.Now, len(op.Drafts))
}

// hold makes sure that the ids which op needs are held: by the row in a transaction, and as holds says outside of one.
func (b *backend) hold(op *queue.Op) (*held, error) {
	h, ok := b.held[op.Queue]
	if !ok {
		h = new(held)
		b.held[op.Queue] = h
	}
	n := len(op.Drafts)
	switch enough := h.covers(op.Now, n); {
	case enough && (!b.inside || h.read == b.began):
		return h, nil
	case !b.inside:
		return nil, errNotHeld
	}
	var holder, last int64
	if err := b.write.holder.each(func(r row) { holder, last = r.integer(0), r.integer(1) }, op.Queue); err != nil {
		return nil, err
	}
	h.read = b.began
	if holder != b.self || h.most == 0 {
		h.last, h.ahead = max(h.last, uint64(last)), 0
	} else if h.covers(op.Now, n) {
		return h, nil
	} else {
		h.ahead = min(max(1000, 2*h.ahead), mostAhead)
	}
	h.most = max(queue.NextID(h.last, op.Now)+uint64(n)-1, queue.NextID(0, op.Now)+uint64(h.ahead))
	return h, run(b.write.hold, op.Queue, b.self, int64(h.most))
}
