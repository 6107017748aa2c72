package workload

// KillConsumer lets the consumer process of a worker be killed when it reports its n-th job of
// those that follow.
func KillConsumer(r Runner, worker, n int) {
	p := r.(*processQueueRunner).consuming[worker]
	p.onAck = func(int) {
		if n--; n == 0 {
			p.kill()
		}
	}
}
