package powertest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// patience is how long a process may say nothing before it counts as hung. No test is meant to come
// near it.
const patience = 5 * time.Minute

// rig is where the work of a case is done and checked.
type rig[R any] struct {
	t       *testing.T
	checker *child.Process
}

func newRig[R any](t *testing.T, _ Case[R]) *rig[R] {
	t.Helper()
	mustMount(t)
	return &rig[R]{t: t}
}

// mustMount skips the test where no disk can be mounted.
func mustMount(t testing.TB) {
	t.Helper()
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
	if err := clean(); err != nil {
		t.Fatal(err)
	}
}

// cut is when power fails: before an operation of the disk, after a number of acknowledgements, or,
// if both are 0, when all work is done.
type cut struct {
	op      uint64
	acks    int
	records bool // all that is done, so that the disk has a tape
}

// worked is what came of one process.
type worked[R any] struct {
	crash   *powerfs.Crash
	tape    *powerfs.Tape
	ops     uint64
	history History[R]
	done    []int64 // when, of each change in history
	release func()  // lets go of the disk, which else lasts as long as the test
}

// before returns the history until a moment.
func (w *worked[R]) before(moment int64) History[R] {
	h := History[R]{Tried: w.history.Tried}
	for i, at := range w.done {
		if at < moment {
			h.Done = append(h.Done, w.history.Done[i])
		}
	}
	return h
}

// work has a process work on a disk of its own until the power fails.
func (r *rig[R]) work(at cut) worked[R] {
	r.t.Helper()
	disk, err := powerfs.New(powerfs.Options{SpillDir: r.t.TempDir(), Record: at.records})
	r.must("make a disk", err)
	release := sync.OnceFunc(func() {
		r.must("close the disk", disk.Close())
		disk = nil
	})
	r.t.Cleanup(release)
	dir := r.t.TempDir()
	mount, err := disk.Mount(dir)
	r.must("mount", err)
	defer func() { r.must("unmount", mount.Unmount()) }()
	p := r.start()
	settle := func() {
		if err := mount.Settle(p.PID()); err != nil {
			r.t.Error(err)
		}
	}
	if at.op > 0 {
		disk.CutBefore(at.op, settle)
	}
	watch := time.AfterFunc(patience, p.Kill)
	defer watch.Stop()
	r.must("tell the process to work", p.Send(request[R]{Work: dir, Hold: at.acks}))

	said := make(chan message[R])
	go listen(p, said)
	heard := r.hear(said, disk.Down(), func(done int) {
		if done == at.acks {
			settle()
			disk.Cut()
		}
	})
	_, failed := disk.CutAt()
	w := worked[R]{ops: disk.Ops(), crash: disk.Crash(), tape: disk.Tape(), release: release}
	p.Kill()
	for m := range said {
		heard = append(heard, m)
	}
	ended := p.Ended() // killed, or by itself
	moment, _ := disk.CutAt()
	complete := false
	for _, m := range heard {
		switch {
		case m.Tried != nil:
			w.history.Tried = append(w.history.Tried, *m.Tried)
		case m.Done != nil && m.At < moment:
			w.history.Done, w.done = append(w.history.Done, *m.Done), append(w.done, m.At)
		case m.Ended != nil && !failed:
			if complete = *m.Ended == ""; !complete {
				r.t.Fatalf("work, before any cut: %s", *m.Ended)
			}
		}
	}
	if !failed && !complete {
		r.t.Fatalf("work, before any cut: %v", ended)
	}
	return w
}

// listen passes on what a process says until its output ends, so that it never waits for us.
func listen[R any](p *child.Process, said chan<- message[R]) {
	defer close(said)
	for {
		var m message[R]
		if p.Receive(&m) != nil {
			return
		}
		said <- m
	}
}

// hear collects what is said until the work has ended or the power is off. It calls acknowledged
// with the number of changes that were done, at each.
func (r *rig[R]) hear(said <-chan message[R], down <-chan struct{}, acknowledged func(done int)) (heard []message[R]) {
	for done := 0; ; {
		select {
		case m, ok := <-said:
			if !ok {
				return heard
			}
			if heard = append(heard, m); m.Ended != nil {
				return heard
			}
			if m.Done != nil {
				done++
				acknowledged(done)
			}
		case <-down:
			return heard
		}
	}
}

// check looks at what each rule leaves, and returns at how many different images.
func (r *rig[R]) check(w worked[R], what string, rules []powerfs.Rule, seed uint64) int {
	r.t.Helper()
	known := map[[32]byte]bool{}
	for i, rule := range rules {
		image := w.crash.Image(rule, seed+uint64(i))
		if known[image.Sum()] {
			continue
		}
		known[image.Sum()] = true
		if err := r.inspect(image, w.history); err != nil {
			r.t.Errorf("%s, %d changes done, image %d, %v: %v", what, len(w.history.Done), i, rule, err)
		}
	}
	return len(known)
}

// inspect checks an image on the real disk.
func (r *rig[R]) inspect(image *powerfs.Image, h History[R]) error {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "left")
	r.must("make a folder", os.Mkdir(dir, 0o700))
	r.must("export", image.Export(dir))
	err := r.ask(dir, h)
	r.must("remove", os.RemoveAll(dir))
	return err
}

// ask has a folder checked in another process, which stays for the next. If it crashes, that is
// what is wrong with the folder.
func (r *rig[R]) ask(dir string, h History[R]) error {
	r.t.Helper()
	if r.checker == nil {
		r.checker = r.start()
	}
	var m message[R]
	err := r.checker.Call(r.t.Context(), "check", request[R]{Check: dir, History: h}, &m, patience)
	if err != nil {
		r.checker = nil
		return err
	}
	if m.Ended == nil {
		r.t.Fatal("the check told of changes")
	}
	if *m.Ended != "" {
		return found(*m.Ended)
	}
	return nil
}

// found is what a check returned.
type found string

func (f found) Error() string { return string(f) }

// start starts a child, which ends with the test.
func (r *rig[R]) start() *child.Process {
	r.t.Helper()
	p := startChild(r.t, child.TestArgs(r.t.Name(), role))
	r.t.Cleanup(func() { _ = p.End(0) }) // it has ended, or is idle
	return p
}

// startChild starts this test binary.
func startChild(t testing.TB, args []string) *child.Process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	p, err := child.Start(append([]string{binary}, args...))
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return p
}

func (r *rig[R]) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}
