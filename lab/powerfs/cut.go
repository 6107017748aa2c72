package powerfs

// CutBefore arms the disk: power fails before operation k, the first being 1, or at the next one if
// k is past. When operation k is reached, under the lock, the cut is decided: k and everything
// after it is not done. settle then runs once, in a goroutine of its own, while the write-backs of
// pages that the process had mapped and changed are still taken; with its return the power is off.
// What the process does meanwhile waits until Mount.Settle has stopped it, or settle has returned,
// and fails. A nil settle cuts at once.
func (d *Disk) CutBefore(k uint64, settle func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.settling = max(k, 1), settle
}

// Cut cuts the power now, or waits until it is off if a cut is under way.
func (d *Disk) Cut() {
	d.mu.Lock()
	if d.power == on {
		d.decide(nil)
	}
	d.mu.Unlock()
	<-d.down
}

// Down is closed when the power is off.
func (d *Disk) Down() <-chan struct{} { return d.down }

// CutAt returns when the cut was decided, in nanoseconds of the system's monotonic clock, which all
// processes share; ok is false before.
func (d *Disk) CutAt() (monotonic int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cutAt, d.power != on
}

// Now returns the time by the clock of CutAt. What a process stamped with less than that was before
// the cut.
func Now() int64 { return monotonicNow() }

// decide is the moment of the cut. It is called under the lock.
func (d *Disk) decide(settle func()) {
	d.cutAt = monotonicNow()
	if settle == nil {
		d.switchOff()
		return
	}
	d.power, d.held = settling, true
	go func() {
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.switchOff()
		}()
		settle()
	}()
}

func (d *Disk) switchOff() {
	d.power, d.held = off, false
	d.changed.Broadcast()
	close(d.down)
}

// letGo answers the operations that wait since the cut was decided. It is called once the process
// that does them is stopped, or about to be.
func (d *Disk) letGo() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = false
	d.changed.Broadcast()
}

// Crash is the moment of a cut: many images can be made from it, at the same time.
type Crash struct{ d *Disk }

// Crash returns the moment of the cut, and cuts the power if it is still on.
func (d *Disk) Crash() *Crash {
	d.Cut()
	return &Crash{d}
}

// Pending returns how many changes were not durable, entries under the strict rule. If it is 0, all
// images are alike.
func (c *Crash) Pending() int {
	n := len(c.d.journal)
	for _, e := range c.d.order {
		if !e.dead {
			n++
		}
	}
	for _, file := range c.d.inodes {
		n += len(file.base)
	}
	return n
}
