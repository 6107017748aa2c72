package powerfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
)

// playedTo returns a player of what was done on b, before the step at index i; -1 is the end.
func playedTo(b bench, i int) *Player {
	b.t.Helper()
	tape := b.d.Tape()
	p, err := tape.Play()
	b.must(err)
	if i < 0 {
		i = len(tape.Steps())
	}
	b.must(p.Forward(i))
	return p
}

func TestTapeHoldsFailedSyncs(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.write("f", 0, strings.Repeat("a", pageSize))
	b.sync("f")
	b.write("f", 0, strings.Repeat("b", pageSize))
	b.must(b.d.Fail(Fault{Op: OnSync, Nth: 1}))
	if err := b.d.Sync(b.id("f")); err != syscall.EIO {
		t.Fatalf("got %v, want a failed sync", err)
	}
	b.sync("f")
	p := playedTo(b, -1)
	for survivors, want := range map[Survivors]string{Nothing: "f=4096×a", Everything: "f=4096×b"} {
		img, err := p.Image(State{Rule: Rule{Ordered, survivors}})
		b.must(err)
		if got := tree(t, img); got != want {
			t.Errorf("%v: got %s, want %s", survivors, got, want)
		}
	}
	if steps := p.tape.Steps(); !steps[4].Failed || steps[4].Kind != OnSync || steps[3].Failed ||
		steps[3].Bytes != pageSize {
		t.Errorf("got %+v", steps)
	}
}

func TestKillLeavesAnyPagesOfAWriteFromItsStart(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.write("f", 100, strings.Repeat("x", 2*pageSize))
	p := playedTo(b, 1)
	found := map[string]bool{}
	for _, s := range p.Killed(rand.New(rand.NewPCG(1, 1))) {
		img, err := p.Image(s)
		b.must(err)
		found[tree(t, img)] = true
	}
	for _, want := range []string{"f=", "f=100×03996×x", "f=100×08092×x"} {
		if !found[want] {
			t.Errorf("%s is not left by a kill: %v", want, found)
		}
	}
	if len(found) != 3 {
		t.Errorf("got %v", found)
	}
	b.must(p.Forward(2))
	img, err := p.Image(State{Rule: Rule{Ordered, Everything}})
	b.must(err)
	if got := tree(t, img); got != "f=100×08192×x" {
		t.Errorf("a player that made images goes on to %s", got)
	}
}

func TestEverySingleChangeIsLeftOutAndKeptAlone(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.create("g")
	b.write("f", 0, strings.Repeat("o", 2*pageSize))
	b.sync("f")
	b.sync("")
	b.write("f", 0, strings.Repeat("x", 2*pageSize))
	b.write("g", 0, "y")
	b.unlink("f")
	p := playedTo(b, -1)
	found := map[string]bool{}
	for _, s := range p.States(Ordered, rand.New(rand.NewPCG(1, 1))) {
		img, err := p.Image(s)
		b.must(err)
		found[tree(t, img)] = true
	}
	for _, want := range []string{
		"f=8192×o g=",       // nothing
		"g=y",               // everything
		"f=8192×x g=y",      // all but the removal
		"f=8192×x g=",       // the first until some moment, or one file alone
		"f=8192×o g=y",      // the other alone
		"f=4096×x4096×o g=", // until some moment within a write, one page alone
		"g=0"} {             // a size without its bytes
		if !found[want] {
			t.Errorf("%s is not among %d states", want, len(found))
			for s := range found {
				if bytes.Count([]byte(s), []byte("×")) < 4 {
					t.Log(s)
				}
			}
		}
	}
}

// TestARecordIsTornWhereASectorEnds wants a short write that crosses the end of a sector torn
// there, in each way, whatever the seed, and no time spent on one within a sector, which a disk
// writes whole.
func TestARecordIsTornWhereASectorEnds(t *testing.T) {
	b := newBench(t, Options{Record: true})
	b.create("f")
	b.write("f", 0, strings.Repeat("o", 500))
	b.sync("f")
	b.sync("")
	b.write("f", 500, strings.Repeat("x", 12+20))
	b.sync("f")
	b.write("f", 532, strings.Repeat("y", 100))
	torn := func(p *Player, seed uint64) map[string]bool {
		found := map[string]bool{}
		for _, s := range p.States(Ordered, rand.New(rand.NewPCG(seed, 1))) {
			if s.Torn() {
				img, err := p.Image(s)
				b.must(err)
				found[tree(t, img)] = true
			}
		}
		return found
	}
	crossing, within := playedTo(b, 5), playedTo(b, -1)
	both := map[string]bool{}
	for seed := range uint64(20) {
		found := torn(crossing, seed)
		if !found["f=500×o12×x20×0"] {
			t.Errorf("seed %d: the first part alone is not among %v", seed, found)
		}
		maps.Copy(both, found)
		if found := torn(within, seed); len(found) > 0 {
			t.Errorf("seed %d: a sector is torn: %v", seed, found)
		}
	}
	if !both["f=500×o12×020×x"] || !both["f=500×o12×x"] || len(both) != 3 {
		t.Errorf("got %v", both)
	}
}
