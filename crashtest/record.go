package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/workdir"
)

// patience is how long a process may say nothing before it counts as hung. No test is meant to come
// near it.
const patience = 2 * time.Minute

// rig is where a test has its processes work.
type rig struct {
	Options
	t   *testing.T
	dir string // for the states
}

// newRig makes the folder for the states, in memory if there is room: there, a sync costs nothing.
func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{Options: o, t: t, dir: t.TempDir()}
	if memory := workdir.Memory(); memory != "" {
		d, err := workdir.New(memory)
		r.must("make a folder", err)
		t.Cleanup(func() { r.must("remove the states", d.Remove()) })
		r.dir = d.Path
	}
	return r
}

func (r *rig) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("crashtest: %s: %v", what, err)
	}
}

// start starts this test binary for the same test.
func (r *rig) start() (*child.Process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return child.Start(append([]string{binary}, child.TestArgs(r.t.Name(), role)...))
}

// recording is one run of the store.
type recording struct {
	tape   *powerfs.Tape
	steps  []powerfs.Step
	said   []message // in order
	mapped bool      // it wrote through memory maps, of which the disk hears late
}

// record has a process make all changes on a disk that keeps everything that is done to it.
func (r *rig) record() *recording {
	r.t.Helper()
	disk, err := powerfs.New(powerfs.Options{SpillDir: r.t.TempDir(), Record: true})
	r.must("make a disk", err)
	r.t.Cleanup(func() { r.must("close the disk", disk.Close()) })
	dir := r.t.TempDir()
	mount, err := disk.Mount(dir)
	r.must("mount", err)
	defer func() { r.must("unmount", mount.Unmount()) }()
	p, err := r.start()
	r.must("start", err)
	defer func() { _ = p.End(0) }() // it has ended, or is idle
	var hung atomic.Bool
	watch := time.AfterFunc(patience, func() { hung.Store(true); p.Kill() })
	defer watch.Stop()
	r.must("tell the process to work", p.Send(request{Work: dir, Changes: r.Changes, Reopen: r.Reopen}))
	rec := &recording{}
	for ended := false; !ended; {
		var m message
		if p.Receive(&m) != nil {
			if hung.Load() {
				r.t.Fatalf("crashtest: the work, without any crash: it said nothing for %v: %s", patience, rec.last())
			}
			r.t.Fatalf("crashtest: the work, without any crash: %v", p.Ended())
		}
		if watch.Reset(patience); m.Ended == nil {
			rec.said = append(rec.said, m)
			continue
		}
		if ended = true; *m.Ended != "" {
			r.t.Fatalf("crashtest: the work, without any crash: %s", *m.Ended)
		}
	}
	r.must("settle the process", mount.Settle(p.PID()))
	rec.tape = disk.Tape() // cuts the power
	rec.steps = rec.tape.Steps()
	for _, s := range rec.steps { // in SQLite's -shm is what whoever opens the store first makes anew
		rec.mapped = rec.mapped || s.Cache && s.Bytes > 0 && !strings.HasSuffix(s.Path, "-shm")
	}
	r.must("play the record", rec.faithful(disk.Crash()))
	return rec
}

// last says how far the work came.
func (rec *recording) last() string {
	h := rec.until(len(rec.steps))
	return fmt.Sprintf("done %s, begun %s", numbers(h.Done), numbers(h.Maybe))
}

// faithful is a control: played again, the record must lead to the files that the process had.
func (rec *recording) faithful(crash *powerfs.Crash) error {
	p, err := rec.tape.Play()
	if err == nil {
		err = p.Forward(len(rec.steps))
	}
	if err != nil {
		return err
	}
	img, err := p.Image(powerfs.Random(everything, 0))
	if err == nil && img.Sum() != crash.Image(everything, 0).Sum() {
		err = errors.New("it leads to other files than the process had")
	}
	return err
}

var everything = powerfs.Rule{Entries: powerfs.Ordered, Survivors: powerfs.Everything}

// until returns what was said before the operation at index i.
func (rec *recording) until(i int) History {
	var h History
	for _, m := range rec.said {
		if i < len(rec.steps) && m.At >= rec.steps[i].Monotonic {
			break
		}
		if m.Began != nil {
			h.Maybe = append(h.Maybe, *m.Began)
		} else {
			h.Done, h.Maybe = append(h.Done, *m.Done), nil
		}
	}
	return h
}

// control makes sure that the check can pass, and that it can fail.
func (r *rig) control(rec *recording) {
	r.t.Helper()
	j := judge{rig: r}
	defer j.close()
	all := rec.until(len(rec.steps))
	p, err := rec.tape.Play()
	r.must("play the record", err)
	r.must("play the record", p.Forward(len(rec.steps)))
	img, err := p.Image(powerfs.Random(everything, 0))
	r.must("make the state", err)
	if v := j.state(img, all); v.broken != "" {
		r.t.Fatalf("crashtest: after the work, without any crash: %s", v.broken)
	}
	empty := filepath.Join(r.t.TempDir(), "empty")
	r.must("make a folder", os.Mkdir(empty, 0o700))
	if v := j.ask(request{Judge: empty, History: all}); v.broken == "" && !v.late {
		r.t.Fatalf("crashtest: %d changes were done, and the check has nothing against an empty store: it cannot fail",
			len(all.Done))
	}
}
