package powerfs

import (
	"fmt"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestAnImageOfADiskThatGoesOn wants the images of a moment to be those of a cut at that moment,
// whatever is done to the disk after it.
func TestAnImageOfADiskThatGoesOn(t *testing.T) {
	spill := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 15, 40).Draw(t, "steps")
		moment := rapid.IntRange(0, len(steps)).Draw(t, "moment")
		goesOn, cut := newWorld(t, spill), newWorld(t, spill)
		for _, s := range steps[:moment] {
			goesOn.do(s)
			cut.do(s)
		}
		var now []*Image
		var next []<-chan *Image
		for _, r := range Rules() {
			now = append(now, goesOn.d.Image(r, 7))
			next = append(next, goesOn.d.ImageBefore(goesOn.d.Ops()+1, r, 7))
		}
		for _, s := range steps[moment:] {
			goesOn.do(s)
		}
		ops := goesOn.d.Ops()
		if err := goesOn.d.Sync(Root); err != nil {
			t.Fatal(err)
		}
		crash := cut.d.Crash()
		for i, r := range Rules() {
			want := crash.Image(r, 7)
			if now[i].Sum() != want.Sum() || now[i].err != nil {
				t.Errorf("%v: the image of the moment is not that of the cut, %v", r, now[i].err)
			}
			if got := <-next[i]; got.Sum() != want.Sum() {
				t.Errorf("%v: the image before the next of %d operations is not that of the cut", r, ops)
			}
		}
	})
}

// TestFaultsComeAndGo tells a disk of faults while it is used.
func TestFaultsComeAndGo(t *testing.T) {
	b := newBench(t, Options{})
	b.mkdir("d")
	b.create("f")
	calls := map[FaultOp]func(fresh string) error{
		OnWrite:  func(string) error { _, err := b.d.Write(b.id("f"), 0, []byte("x"), FromCall); return err },
		OnSync:   func(string) error { return b.d.Sync(b.id("f")) },
		OnCreate: func(fresh string) error { _, err := b.d.Create(Root, fresh, 0o600, Owner{}); return err },
		OnMkdir:  func(fresh string) error { _, err := b.d.Mkdir(Root, fresh, 0o700, Owner{}); return err },
		OnLink:   func(fresh string) error { _, err := b.d.Link(b.id("f"), Root, fresh); return err },
		OnRename: func(string) error { return b.d.Rename(Root, "d", Root, "d", Replace) },
		OnRemove: func(fresh string) error {
			b.mkdir(fresh)
			return b.d.Rmdir(Root, fresh)
		},
		OnTruncate: func(string) error { return b.d.Truncate(b.id("f"), 1) },
		OnAllocate: func(string) error { return b.d.Fallocate(b.id("f"), 0, 1, Extend) },
	}
	n := 0
	call := func(kind FaultOp) error {
		n++
		return calls[kind](fmt.Sprint("fresh", n))
	}
	order := []FaultOp{OnWrite, OnSync, OnCreate, OnMkdir, OnLink, OnRename, OnRemove, OnTruncate, OnAllocate}
	if len(order) != len(faultOps) {
		t.Fatalf("%d kinds are tried, of %d", len(order), len(faultOps))
	}
	for i, kind := range order {
		t.Run(kind.String(), func(t *testing.T) {
			both := kind | order[(i+1)%len(order)]
			before, all := b.d.Calls(both), b.d.Ops()
			for _, f := range []Fault{{Op: both, Nth: 2, Err: syscall.ENOSPC}, {Op: kind, Nth: 3}} {
				if err := b.d.Fail(f); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range []error{nil, syscall.ENOSPC, syscall.EIO, nil} {
				if err := call(kind); err != want {
					t.Errorf("call %d: %v, want %v", i+1, err, want)
				}
			}
			if n := b.d.Calls(both) - before; n != 4 {
				t.Errorf("%d calls of %v, want 4", n, both)
			}
			if b.d.Calls(OnAny)-all != b.d.Ops()-all {
				t.Errorf("%d calls of any kind, %d operations", b.d.Calls(OnAny)-all, b.d.Ops()-all)
			}
			if err := b.d.Fail(Fault{Op: kind, Nth: 1, Sticky: true}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := call(kind); err != syscall.EIO {
					t.Errorf("a fault that stays: %v", err)
				}
			}
			b.d.Heal()
			if err := call(kind); err != nil {
				t.Errorf("healed: %v", err)
			}
		})
	}
	if err := b.d.Fail(Fault{Op: 1 << len(faultOps), Nth: 1}); err == nil {
		t.Error("a fault of an unknown kind was taken")
	}
	if got := (OnWrite | OnSync).String(); got != "write|sync" {
		t.Errorf("got %s", got)
	}
}
