package queue

import (
	"context"
	"sync"
	"time"
)

// heartbeat calls beat again and again, until it is stopped or the claim is lost.
type heartbeat struct {
	every time.Duration
	beat  func() error
	lose  context.CancelCauseFunc

	mu      sync.Mutex // held during a beat
	timer   *time.Timer
	stopped bool
}

func (h *heartbeat) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.every, h.ring)
}

func (h *heartbeat) ring() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if err := h.beat(); isStale(err) {
		h.lose(err)
		return
	}
	h.timer.Reset(h.every) // after another error, too: the lease lasts for two more beats
}

// stop waits for a beat that is running: nothing must follow that makes its receipt stale.
func (h *heartbeat) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}
