package powerfs

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowly begins a sync, has others do what they do while it goes on, and ends it.
func (b bench) slowly(path string, meanwhile func()) {
	b.t.Helper()
	n := b.d.inodes[b.id(path)]
	b.d.mu.Lock()
	b.must(b.d.enter(OnSync, n, ""))
	number := b.d.beginSync(n, b.d.commits(n, false))
	b.d.mu.Unlock()
	meanwhile()
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.d.seq++
	b.d.begin(0, n, "", false)
	b.d.endSync(number)
}

func TestASyncIsForWhatWasThereWhenItBegan(t *testing.T) {
	for _, c := range []struct {
		name      string
		do        func(b bench)
		meanwhile func(b bench)
		during    string // of which nothing unsynced is left
		after     string
	}{
		{"writes", func(b bench) { b.write("old", 0, "BEF") }, func(b bench) { b.write("old", 2, "xy") },
			"d/ old=before", "d/ old=BEFore"},
		{"growth", func(b bench) { b.write("old", 6, "!") }, func(b bench) { b.write("old", 7, "?") },
			"d/ old=before", "d/ old=before!"},
		{"a truncation", func(b bench) { b.write("old", 0, "B") }, func(b bench) { b.truncate("old", 2) },
			"d/ old=before", "d/ old=Before"},
		{"entries", func(b bench) {
			b.create("f")
			b.write("old", 6, "!")
		}, func(b bench) { b.create("g") }, "d/ old=before", "d/ f= old=before!"},
		{"a sync that begins later, and comes with it", func(b bench) { b.write("old", 0, "B") }, func(b bench) {
			b.write("old", 1, "E")
			b.sync("old")
			b.write("old", 2, "F")
		}, "d/ old=BEfore", "d/ old=BEfore"},
		{"a sync that begins later, and fails", func(b bench) { b.write("old", 0, "B") }, func(b bench) {
			b.write("old", 1, "E")
			b.must(b.d.Fail(Fault{Op: OnSync, Nth: 1}))
			if err := b.d.Sync(b.id("old")); err != syscall.EIO {
				b.t.Errorf("got %v", err)
			}
		}, "d/ old=Before", "d/ old=Before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{From: startingImage(t), Record: true})
			c.do(b)
			nothing := Rule{Ordered, Nothing}
			b.slowly("old", func() {
				c.meanwhile(b)
				if got := tree(t, b.d.Image(nothing, 0)); got != c.during {
					t.Errorf("while it goes on:\n got %s\nwant %s", got, c.during)
				}
			})
			img, err := playedTo(b, -1).Image(Random(nothing, 0))
			b.must(err)
			for _, got := range []string{tree(t, b.d.Crash().Image(nothing, 0)), tree(t, img)} {
				if got != c.after {
					t.Errorf("when it is done:\n got %s\nwant %s", got, c.after)
				}
			}
		})
	}
}

// What is written while a sync goes on may reach the disk before what the sync is for.
func TestAWriteDuringASyncMayBeThereWithoutWhatTheSyncIsFor(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.write("f", 0, strings.Repeat("o", 2*pageSize))
	b.sync("f")
	b.write("f", 0, strings.Repeat("x", pageSize))
	b.slowly("f", func() { b.write("f", pageSize, strings.Repeat("y", pageSize)) })
	end := len(b.d.Tape().Steps()) - 1
	for moment, want := range map[int]map[string]bool{
		end:     {"f=8192×o": true, "f=4096×x4096×o": true, "f=4096×o4096×y": true, "f=4096×x4096×y": true},
		end + 1: {"f=8192×o": false, "f=4096×x4096×o": true, "f=4096×o4096×y": false, "f=4096×x4096×y": true},
	} {
		found := map[string]bool{}
		p := playedTo(b, moment)
		for _, s := range p.States(Ordered, rand.New(rand.NewPCG(1, 1))) {
			img, err := p.Image(s)
			b.must(err)
			found[tree(t, img)] = true
		}
		for state, there := range want {
			if found[state] != there {
				t.Errorf("before step %d: %s is among the states: %v, want %v", moment, state, found[state], there)
			}
		}
	}
}

// A sync that fails takes its time, too: what is written meanwhile is lost with the rest, or is
// written by the next sync, with no more of what was lost than stands in the same pages.
func TestASlowSyncThatFailsLosesWhatComesLaterOrNot(t *testing.T) {
	for _, later := range []bool{false, true} {
		b := newBench(t, Options{Record: true, Latency: Latency{Sync: time.Millisecond}})
		b.create("f")
		b.write("f", 0, strings.Repeat("o", 2*pageSize))
		b.sync("f")
		b.write("f", 0, "x")
		b.must(b.d.Fail(Fault{Op: OnSync, Nth: 1, Later: later}))
		failed := make(chan error)
		began := b.d.Calls(OnSync)
		id := b.id("f")
		go func() { failed <- b.d.Sync(id) }()
		for b.d.Calls(OnSync) == began {
			time.Sleep(time.Microsecond)
		}
		b.write("f", pageSize, "y")
		if err := <-failed; err != syscall.EIO {
			t.Fatalf("got %v", err)
		}
		b.sync("f")
		steps := b.d.Tape().Steps()
		during := false
		for i, s := range steps {
			if s.Kind == OnSync && s.Failed {
				during = steps[i+1].Kind == OnWrite
			}
		}
		want := "f=4096×oy4095×o"
		if later && during {
			want = "f=8192×o"
		}
		if got := tree(t, b.d.Crash().Image(Rule{Ordered, Nothing}, 0)); got != want {
			t.Errorf("later %v, written meanwhile %v:\n got %s\nwant %s", later, during, got, want)
		}
	}
	if err := (Fault{Op: OnWrite, Nth: 1, Later: true}).check(); err == nil {
		t.Error("a write that loses what comes later is taken")
	}
}

// A page that was durable and is written again, and not synced, is the old one or the new one, or
// torn, whatever is synced of other files; and what is written beside it may be there without it.
func TestAPageWrittenAgainMayBeOldWhateverElseIsSynced(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.create("g")
	b.write("f", 0, strings.Repeat("o", 2*pageSize))
	b.sync("f")
	b.sync("")
	b.write("f", 0, strings.Repeat("n", pageSize))
	for _, letter := range []string{"a", "b", "c"} {
		b.write("g", 0, letter)
		b.sync("g")
	}
	b.write("f", pageSize, strings.Repeat("m", pageSize))
	found, torn := map[string]bool{}, 0
	p := playedTo(b, -1)
	for _, s := range p.States(Ordered, rand.New(rand.NewPCG(1, 1))) {
		img, err := p.Image(s)
		b.must(err)
		state := tree(t, img)
		found[state] = true
		if first, _, _ := strings.Cut(state, "m"); strings.Contains(first, "n") && strings.Count(first, "o") > 0 {
			torn++
		}
	}
	for _, want := range []string{"f=8192×o g=c", "f=4096×n4096×o g=c", "f=4096×o4096×m g=c", "f=4096×n4096×m g=c"} {
		if !found[want] {
			t.Errorf("%s is not among %d states", want, len(found))
		}
	}
	if torn < 3 {
		t.Errorf("%d states have a torn page, want several", torn)
	}
}

// A sync in the background goes on until somebody writes to its file, and no other: so each commit
// that may come amid it does. Who has just written syncs for himself, and waits for nobody.
func TestASyncInTheBackgroundGoesOnUntilItsFileIsWritten(t *testing.T) {
	b := newBench(t, Options{Record: true, Latency: Latency{Sync: time.Millisecond, Amid: time.Hour}})
	b.create("f")
	b.create("g")
	b.sync("")
	b.write("f", 0, "x")
	id := b.id("f")
	written := func(at time.Time) {
		b.d.mu.Lock()
		defer b.d.mu.Unlock()
		b.d.inodes[id].modified = at
	}
	written(time.Now().Add(time.Hour)) // however slow this machine is
	b.sync("f")
	written(time.Now().Add(-time.Hour))
	began, synced := b.d.Calls(OnSync), make(chan error)
	go func() { synced <- b.d.Sync(id) }()
	for b.d.Calls(OnSync) == began {
		time.Sleep(time.Microsecond)
	}
	b.write("g", 0, "y")
	b.write("f", 0, "z")
	b.must(<-synced)
	steps := b.d.Tape().Steps()
	got := ""
	for _, s := range steps[len(steps)-4:] {
		got += s.String() + "; "
	}
	if want := "sync f; write 1 bytes of g; write 1 bytes of f; end of the sync of f; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if began, end := steps[len(steps)-4], steps[len(steps)-1]; end.Monotonic < began.Until {
		t.Errorf("it was done at %d, before %d", end.Monotonic, began.Until)
	}
	if got := tree(t, b.d.Crash().Image(Rule{Ordered, Nothing}, 0)); got != "f=x g=" {
		t.Errorf("got %s: what comes amid a sync is not durable by it", got)
	}
}

// Power fails however long a sync in the background may wait.
func TestPowerFailsAmidASyncThatWaits(t *testing.T) {
	b := newBench(t, Options{Latency: Latency{Sync: time.Millisecond, Amid: time.Hour}})
	b.create("f")
	b.write("f", 0, "x")
	id, synced := b.id("f"), make(chan error)
	b.d.inodes[id].modified = time.Time{}
	began := b.d.Calls(OnSync)
	go func() { synced <- b.d.Sync(id) }()
	for b.d.Calls(OnSync) == began {
		time.Sleep(time.Microsecond)
	}
	b.d.Cut()
	if err := <-synced; err != syscall.EIO {
		t.Errorf("got %v", err)
	}
}
