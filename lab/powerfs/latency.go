package powerfs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// Latency is a model of a slow disk behind a page cache. Writes and cached reads cost nothing. A
// sync pays for each run of pages that it writes (a seek and the transfer), for the journal if it
// has something to commit (one more), and for the flush of the disk's own cache; a read of what is
// not cached pays a seek and the transfer. The disk has one arm: what is asked at the same time
// queues. Zero is no latency.
type Latency struct {
	Name           string
	Seek           time.Duration // to another place than where the last transfer ended
	Sync           time.Duration // flush of the disk's cache
	Hiccup         time.Duration // every fourth flush, if that is longer
	BytesPerSecond float64       // transfer; 0 is unlimited
	// Amid is for how long, at most, a sync in the background goes on until somebody writes to its
	// file, so that one meets the other.
	Amid time.Duration
}

// quietTime is for how long nobody has written to a file whose changes are synced in the
// background: who syncs what it has written itself does so at once.
const quietTime = 20 * time.Millisecond

// hiccupEvery is how many flushes there are for one Hiccup.
const hiccupEvery = 4

// Profiles returns models of typical disks, the fastest first. The figures are what makers and
// reviewers publish for the class.
func Profiles() []Latency {
	return []Latency{
		// A consumer drive: 4 KiB random access some 60 µs at queue depth 1, 3 GB/s; a flush of its
		// volatile cache about half a millisecond.
		{Name: "nvme", Seek: 60 * time.Microsecond, Sync: 500 * time.Microsecond, BytesPerSecond: 3e9},
		// SATA: 100 µs random access, 500 MB/s of the 600 that the bus allows, flushes of 1 to 3
		// ms.
		{Name: "ssd", Seek: 100 * time.Microsecond, Sync: 2 * time.Millisecond, BytesPerSecond: 500e6},
		// 7200 rpm: 8.5 ms average seek and 4.2 ms for half a turn are 12.7 ms by specification;
		// near the last place about half of that. 150 MB/s; a flush waits about one turn of 8.3 ms.
		{Name: "hdd", Seek: 6 * time.Millisecond, Sync: 8 * time.Millisecond, BytesPerSecond: 150e6},
		// Application class A1: at least 500 random writes a second, so 2 ms each; 10 MB/s
		// sequential; a flush programs a block.
		{Name: "sd-card", Seek: 2 * time.Millisecond, Sync: 10 * time.Millisecond, BytesPerSecond: 10e6},
	}
}

// ParseLatency returns the profile of that name.
func ParseLatency(name string) (Latency, error) {
	var names []string
	for _, l := range Profiles() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Latency{}, &driver.Error{Op: "latency", Path: name, Kind: driver.Invalid,
		Hint: "the profiles are " + strings.Join(names, ", ")}
}

// String returns the name and the parameters.
func (l Latency) String() string {
	if l.Seek == 0 && l.Sync == 0 && l.BytesPerSecond == 0 {
		return "no latency"
	}
	rate := "unlimited transfer"
	if l.BytesPerSecond > 0 {
		rate = fmt.Sprintf("%g MB/s", l.BytesPerSecond/1e6)
	}
	parameters := fmt.Sprintf("seek %v, %s, flush %v", l.Seek, rate, l.Sync)
	if l.Hiccup > l.Sync {
		parameters += fmt.Sprintf(", every fourth %v", l.Hiccup)
	}
	if l.Amid > 0 {
		parameters += fmt.Sprintf(", in the background up to %v until it is written amid", l.Amid)
	}
	if l.Name == "" {
		return parameters
	}
	return l.Name + " (" + parameters + ")"
}

func (l *Latency) none() bool { return l.Seek == 0 && l.Sync == 0 && l.BytesPerSecond == 0 }

func (l *Latency) transfer(bytes int64) time.Duration {
	if l.BytesPerSecond == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / l.BytesPerSecond * float64(time.Second))
}

// arm is where the disk's head is, and until when it is busy.
type arm struct {
	file    *inode
	next    int64 // page behind the last transfer
	flushes int
	until   time.Time
}

// run moves the arm over pages pages from first and returns what that costs.
func (a *arm) run(l *Latency, n *inode, first, pages int64) time.Duration {
	cost := l.transfer(pages * pageSize)
	if a.file != n || a.next != first {
		cost += l.Seek
	}
	a.file, a.next = n, first+pages
	return cost
}

// read returns when a read is done: the pages of it that are as durable are not cached, or the
// kernel would not have asked for them.
func (a *arm) read(l *Latency, n *inode, off, bytes int64) time.Time {
	if l.none() || bytes == 0 {
		return time.Time{}
	}
	var cost time.Duration
	for _, r := range runs(slices.DeleteFunc(n.live.between(off, off+bytes), func(index int64) bool {
		_, dirty := n.dirty[index]
		return dirty
	})) {
		cost += a.run(l, n, r.first, r.pages)
	}
	return a.book(cost)
}

// sync returns when a sync of n is done.
func (a *arm) sync(l *Latency, n *inode, journal bool) time.Time {
	if l.none() {
		return time.Time{}
	}
	dirty := make([]int64, 0, len(n.dirty))
	for index := range n.dirty {
		if n.live.pages[index] != nil {
			dirty = append(dirty, index)
		}
	}
	cost := l.Sync
	if a.flushes++; a.flushes%hiccupEvery == 0 {
		cost = max(cost, l.Hiccup)
	}
	for _, r := range runs(dirty) {
		cost += a.run(l, n, r.first, r.pages)
	}
	if journal || n.sized {
		a.file = nil
		cost += l.Seek + l.transfer(pageSize)
	}
	return a.book(cost)
}

// book queues the arm's work and returns when it is done.
func (a *arm) book(cost time.Duration) time.Time {
	if cost == 0 {
		return time.Time{}
	}
	if now := time.Now(); a.until.Before(now) {
		a.until = now
	}
	a.until = a.until.Add(cost)
	return a.until
}

type run struct{ first, pages int64 }

// runs sorts the indexes and joins neighbours.
func runs(indexes []int64) []run {
	slices.Sort(indexes)
	var found []run
	for _, index := range indexes {
		if k := len(found) - 1; k >= 0 && found[k].first+found[k].pages == index {
			found[k].pages++
			continue
		}
		found = append(found, run{index, 1})
	}
	return found
}

// meet lets the lock go until somebody writes to n, the power goes, or so long has passed.
func (d *Disk) meet(n *inode, most time.Duration) {
	if n.amid == nil {
		n.amid = make(chan struct{})
	}
	amid := n.amid
	d.mu.Unlock()
	defer d.mu.Lock()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-amid:
	case <-t.C:
	case <-d.down:
	}
}

// wait lets the lock go until the time done, and fails if the power goes first. It is called last,
// when what was asked is in its place in the order.
func (d *Disk) wait(done time.Time) error {
	if done.IsZero() {
		return nil
	}
	d.mu.Unlock()
	t := time.NewTimer(time.Until(done))
	select {
	case <-t.C:
	case <-d.down:
		t.Stop()
	}
	d.mu.Lock()
	return d.enterRead()
}
