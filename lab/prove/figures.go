package prove

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/lab/powerfs"
)

// Commits, of all writers together, of a run on a disk that can lose power.
const (
	warmCommits  = 40  // before syncs and bytes per commit are counted
	spanCommits  = 480 // within which power fails
	shortCommits = 24  // within which it fails when every operation has its turn
	mostCommits  = 8 * spanCommits
)

// figures are counts of a pair's operations, on a disk that nothing happens to.
type figures struct {
	created  map[int]uint64 // operations until the first commit of each writer is made, by the number of writers
	total    map[int]uint64 // operations of spanCommits
	short    uint64         // operations of shortCommits of one writer
	writes   uint64         // of spanCommits of one writer and of closing
	syncs    uint64
	used     int64 // bytes that its files take in the end
	per      powerfs.Counters
	perCount int
}

// figures measures the pair, once.
func (l *lane) figures(ctx context.Context, p *pair) (*figures, error) {
	p.measuring.Lock()
	defer p.measuring.Unlock()
	if p.measured != nil {
		return p.measured, nil
	}
	f := &figures{created: map[int]uint64{}, total: map[int]uint64{}}
	writers := []int{1, defaultWriters}
	switch {
	case p.caps.Log:
		writers = []int{1}
	case l.Writers > 0:
		writers = []int{1, l.Writers}
	}
	for _, n := range writers {
		if f.total[n] > 0 {
			continue
		}
		if err := l.measure(ctx, p, n, f); err != nil {
			return nil, fmt.Errorf("on a disk that nothing happens to: %w", err)
		}
	}
	p.measured = f
	return f, nil
}

// measure counts the operations of a run of a number of writers.
func (l *lane) measure(ctx context.Context, p *pair, writers int, f *figures) (err error) {
	g, err := l.newRig(powerfs.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := g.close(); err == nil {
			err = cerr
		}
	}()
	per := func(all int) uint64 { return uint64(max(all/writers, 1)) }
	spec := writeSpec{Store: p.store(g.dir), Past: newPast(l.Seed, writers), From: make([]uint64, writers), Commits: 1}
	w, err := startWriter(l.Child, spec, 0, nil)
	if err != nil {
		return err
	}
	defer w.stop()
	limited, cancel := context.WithTimeout(ctx, l.Hang)
	defer cancel()
	d, err := w.wait(limited, nil)
	step := func(commits uint64) {
		if err == nil {
			err = w.trouble(d)
		}
		if err == nil {
			spec.Commits = commits
			d, err = w.more(limited, spec)
		}
	}
	f.created[writers] = g.disk.Ops()
	step(per(shortCommits))
	short := g.disk.Ops()
	step(per(warmCommits))
	before := g.disk.Counters()
	step(per(spanCommits - warmCommits - shortCommits))
	after := g.disk.Counters()
	f.total[writers] = g.disk.Ops()
	spec.Close = true
	step(1)
	if err == nil {
		err = w.trouble(d)
	}
	if writers == 1 {
		end := g.disk.Counters()
		f.short, f.writes, f.syncs = short, uint64(end.Writes), uint64(end.Syncs)
		f.used, _ = g.disk.Usage()
		f.per, f.perCount = after.Sub(before), spanCommits-warmCommits-shortCommits
	}
	return err
}

// trouble returns what went wrong in a process that answered d, or ended.
func (w *writer) trouble(d *doneMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return trouble(d, w.ledger, w.ended())
}
