package sqlqueue

import (
	"errors"

	"github.com/assaydb/assay/stores/queue"
)

// held is the ids of a queue that this backend alone gives out, up to most, for as long as the row
// in queues says so. It takes more of them at a time than it needs, ahead of the clock, so that not
// each job that is published costs a change of that row.
type held struct {
	last, most uint64
	ahead      int // how many were taken for later
}

// mostAhead is how many ids are taken for later at most: those of 100 ms.
const mostAhead = 100_000

// errNotHeld says that ids are another's, as far as is known, and that nothing was published.
var errNotHeld = errors.New("the ids are held by another")

// next returns the id of the next job.
func (h *held) next(now int64) uint64 {
	h.last = queue.NextID(h.last, now)
	return h.last
}

// holds reports whether the ids that op needs are held, unless another took them meanwhile.
func (b *backend) holds(op *queue.Op) bool {
	h := b.held[op.Queue]
	return h != nil && queue.NextID(h.last, op.Now)+uint64(len(op.Drafts))-1 <= h.most
}

// hold takes the ids that op needs, in a transaction.
func (b *backend) hold(op *queue.Op) error {
	h := b.held[op.Queue]
	if h == nil {
		h = new(held)
		b.held[op.Queue] = h
	}
	var holder, last int64
	if err := b.write.holder.each(func(r row) { holder, last = r.integer(0), r.integer(1) }, op.Queue); err != nil {
		return err
	}
	if holder != b.self || h.most == 0 {
		h.last, h.ahead = max(h.last, uint64(last)), 0
	} else {
		h.ahead = min(max(1000, 2*h.ahead), mostAhead)
	}
	h.most = max(queue.NextID(h.last, op.Now)+uint64(len(op.Drafts))-1, queue.NextID(0, op.Now)+uint64(h.ahead))
	return run(b.write.hold, op.Queue, b.self, int64(h.most))
}
