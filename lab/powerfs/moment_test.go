package powerfs

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAnImageOfADiskThatGoesOn wants the images of a moment, and of the next operation, to be those
// of a cut at that moment, or right before that operation, whatever is done to the disk after it.
// Between the two a file without a name may be let go, which is no operation.
func TestAnImageOfADiskThatGoesOn(t *testing.T) {
	spill := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 15, 40).Draw(t, "steps")
		moment := rapid.IntRange(0, len(steps)).Draw(t, "moment")
		goesOn, cut, later := newWorld(t, spill), newWorld(t, spill), newWorld(t, spill)
		for _, s := range steps[:moment] {
			goesOn.do(s)
			cut.do(s)
			later.do(s)
		}
		var now []*Image
		var next []<-chan *Image
		for _, r := range Rules() {
			now = append(now, goesOn.d.Image(r, 7))
			next = append(next, goesOn.d.ImageBefore(goesOn.d.Ops()+1, r, 7))
		}
		ops := goesOn.d.Ops()
		for _, s := range steps[moment:] {
			if goesOn.do(s); goesOn.d.Ops() == ops {
				later.do(s)
			}
		}
		if err := goesOn.d.Sync(Root); err != nil {
			t.Fatal(err)
		}
		crash, crashLater := cut.d.Crash(), later.d.Crash()
		for i, r := range Rules() {
			want := crash.Image(r, 7)
			if now[i].Sum() != want.Sum() || now[i].err != nil {
				t.Errorf("%v: the image of the moment is not that of the cut, %v", r, now[i].err)
			}
			if got := <-next[i]; got.Sum() != crashLater.Image(r, 7).Sum() {
				t.Errorf("%v: the image before operation %d is not that of the cut", r, ops+1)
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
	if len(order)+1 != len(faultOps) { // reads change nothing
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

func TestCallsComeBeforeTheirOperationsOnce(t *testing.T) {
	b := newBench(t, Options{})
	var called []string
	b.d.CallBefore(3, func() { called = append(called, "third") })
	b.d.CallBefore(2, func() { called = append(called, "second") })
	for i, want := range []int{0, 1, 2, 2} {
		b.create(fmt.Sprint("f", i))
		if len(called) != want {
			t.Errorf("behind operation %d: %v", i+1, called)
		}
	}
	if strings.Join(called, " ") != "second third" {
		t.Errorf("got %v", called)
	}
}

// However many operations come before the one that fails.
func TestCallsBehindAFaultCountFromIt(t *testing.T) {
	for before := range 3 {
		b := newBench(t, Options{Faults: []Fault{{Op: OnMkdir, Nth: 1}, {Op: OnMkdir, Nth: 2}}})
		var called []string
		b.d.CallBehindFault(2, func() { called = append(called, "second") })
		b.d.CallBehindFault(0, func() { called = append(called, "at once") })
		for i := range before {
			b.create(fmt.Sprint("f", i))
		}
		for i, want := range []int{1, 1, 2, 2} {
			if _, err := b.d.Mkdir(Root, fmt.Sprint("d", i), 0o700, Owner{}); (err != nil) != (i < 2) {
				t.Fatalf("folder %d: %v", i, err)
			}
			if len(called) != want {
				t.Errorf("%d operations behind the fault: %v", i, called)
			}
		}
		if strings.Join(called, " ") != "at once second" {
			t.Errorf("got %v", called)
		}
	}
}

func TestReadsOfOneBytesPageFail(t *testing.T) {
	b := newBench(t, Options{})
	for _, name := range []string{"f", "g"} {
		b.create(name)
		b.write(name, 0, strings.Repeat("x", 2*pageSize))
	}
	b.must(b.d.Fail(Fault{Op: OnRead, Nth: 1, Sticky: true, Match: "f", At: pageSize + 7}))
	buf := make([]byte, pageSize)
	for _, one := range []struct {
		file string
		off  int64
		want error
	}{{"f", 0, nil}, {"f", pageSize, syscall.EIO}, {"f", 8, syscall.EIO}, {"f", pageSize + 8, nil},
		{"g", pageSize, nil}} {
		if _, err := b.d.Read(b.id(one.file), one.off, buf); err != one.want {
			t.Errorf("%s at %d: %v, want %v", one.file, one.off, err, one.want)
		}
	}
	b.write("f", 0, "y") // is no read
	if n := len(b.d.Struck()); n != 2 {
		t.Errorf("%d strikes, want 2", n)
	}
	if err := b.d.Fail(Fault{Op: OnWrite, Nth: 1, At: 5}); err == nil {
		t.Error("a fault of a write at an offset was taken")
	}
}

func TestSyncOfASlowDiskSaysWhenItIsDone(t *testing.T) {
	b := newBench(t, Options{Record: true, Latency: Latency{Sync: 3 * time.Millisecond}})
	b.create("f")
	b.write("f", 0, "x")
	b.sync("f")
	steps := b.d.Tape().Steps()
	slow, end := steps[len(steps)-2], steps[len(steps)-1]
	if took := slow.Until - slow.Monotonic; slow.Kind != OnSync || took < int64(2*time.Millisecond) ||
		!end.Done || end.Kind != 0 || end.Monotonic < slow.Until {
		t.Errorf("got %+v and %+v", slow, end)
	}
	if steps[0].Until != 0 {
		t.Errorf("an operation that takes no time: %+v", steps[0])
	}
}

func TestSyncsOfSomePagesFail(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.create("f")
	b.must(b.d.Fail(Fault{Op: OnSync, Nth: 2, Pages: 2}))
	for i, pages := range []int{1, 2, 1, 3, 2} {
		b.write("f", 0, strings.Repeat(string(rune('a'+i)), pages*pageSize))
		err := b.d.Sync(b.id("f"))
		if want := i == 3; (err != nil) != want {
			t.Errorf("the sync of %d pages, after %d others: %v", pages, i, err)
		}
	}
	if err := b.d.Fail(Fault{Op: OnWrite, Nth: 1, Pages: 2}); err == nil {
		t.Error("a fault of a write by pages is taken")
	}
}
