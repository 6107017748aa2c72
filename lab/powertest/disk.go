package powertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// Disk is a disk of a test that fails when it is told to, and of which images can be taken as if
// power had been cut.
//
//	disk := powertest.NewDisk(t, nil)
//	... open an engine below disk.Dir(), in the test itself, and commit
//	disk.Fail(3, syscall.EIO) // the third call from here
//	... go on
//	left := disk.Cut(t) // open another engine there
//
// A process of its own serves it, so that the test may map files of it into memory: it would wait
// for itself for ever if it served them too. What goes wrong with the disk itself ends the test.
type Disk struct {
	Rule powerfs.Rule // what the next cut leaves; the zero value is what was synced, and nothing else
	Seed uint64       // of the choices of the rule

	t   testing.TB
	dir string
	mu  sync.Mutex
	p   *child.Process
}

// DiskOptions say what a Disk is; nil is an empty one.
type DiskOptions struct {
	From  string // a folder: what is in it is on the disk at first, and durable
	Space int64  // bytes of file data that fit before ENOSPC; 0 is 64 GiB
}

// NewDisk mounts a disk until the test ends. What the test opened there must be closed by then: a
// Cleanup that it calls after NewDisk is early enough. Where no disk can be mounted, the test is
// skipped with the reason.
func NewDisk(t testing.TB, o *DiskOptions) *Disk {
	t.Helper()
	mustMount(t)
	d := &Disk{t: t, dir: t.TempDir()}
	var request diskRequest
	if o != nil {
		request.From, request.Space = o.From, o.Space
	}
	request.Mount = d.dir
	d.p = startChild(t, []string{diskRole})
	t.Cleanup(func() { _ = d.p.End(0) }) // it has unmounted, or the test has failed
	d.ask(request)
	t.Cleanup(func() { d.ask(diskRequest{End: true}) })
	return d
}

// Dir returns the folder on which the disk is mounted.
func (d *Disk) Dir() string { return d.dir }

// Fail lets the nth call from now on fail with err, which is or wraps a syscall.Errno; the first is
// 1. Calls are those that change the disk, of every kind: see Arm for some kinds, and for a failure
// that stays.
func (d *Disk) Fail(n int, err error) {
	d.t.Helper()
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		d.t.Fatalf("a disk cannot fail with %v: no error of the system", err)
	}
	d.Arm(powerfs.Fault{Nth: uint64(max(n, 0)), Err: errno})
}

// Arm tells the disk of a failure to come, beside those that it was told of before: which kinds of
// calls count, which of them fails, with what, and whether all later ones do too. It is counted
// from now on.
func (d *Disk) Arm(f powerfs.Fault) {
	d.t.Helper()
	d.ask(diskRequest{Fail: &f})
}

// Heal lets the disk forget the failures to come, and those that stay.
func (d *Disk) Heal() {
	d.t.Helper()
	d.ask(diskRequest{Heal: true})
}

// Calls returns how many calls have changed the disk so far, or tried to.
func (d *Disk) Calls() int {
	d.t.Helper()
	return d.CallsOf(powerfs.OnAny)
}

// CallsOf returns how many of them were of some kinds. Where files are mapped into memory, the
// system itself writes, and how often it does so differs from run to run.
func (d *Disk) CallsOf(kinds powerfs.FaultOp) int {
	d.t.Helper()
	return int(d.ask(diskRequest{Count: kinds}).Calls)
}

// Failed returns how many calls have failed so far because the disk was told so.
func (d *Disk) Failed() int {
	d.t.Helper()
	return int(d.ask(diskRequest{}).Failed)
}

// CutBefore lets the next Cut return what was there before the nth call from now on. Of what is
// mapped into memory, it has only what the system has written back by then.
func (d *Disk) CutBefore(n int) {
	d.t.Helper()
	d.ask(diskRequest{CutBefore: uint64(max(n, 1)), Rule: d.Rule, Seed: d.Seed})
}

// Cut returns a folder, on the real disk, with what is left if the power fails now. Rule and Seed
// say what that is. The power of the disk itself stays on, so that what was opened there can go on,
// and be closed: only the folder has seen the cut.
func (d *Disk) Cut(t testing.TB) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "left")
	d.ask(diskRequest{Cut: left, Rule: d.Rule, Seed: d.Seed})
	return left
}

// ask has the disk's process do something.
func (d *Disk) ask(r diskRequest) diskAnswer {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var a diskAnswer
	// Not the test's context: it has ended when its Cleanups run, in which a disk may be healed.
	if err := d.p.Call(context.Background(), "the disk", r, &a, patience); err != nil {
		d.t.Fatal(err)
	}
	if a.Err != "" {
		d.t.Fatal(a.Err)
	}
	return a
}
