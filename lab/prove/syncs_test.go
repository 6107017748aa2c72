package prove

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
)

// A sync is shared by the commits that began before it and are acknowledged behind it, before the
// next one's end; such a one fails among the first.
func TestSyncsThatSeveralCommitsWaitFor(t *testing.T) {
	var r recording
	at := func() int64 { return int64(10 * len(r.steps)) }
	step := func(s powerfs.Step) {
		s.Path, s.Monotonic = "log", at()
		r.steps = append(r.steps, s)
	}
	r.ledger.acks = make([][]ack, 3)
	for _, together := range []int{1, 3, 1} { // commits that meet in each of three syncs
		began := at() - 1
		for range together {
			step(powerfs.Step{Kind: powerfs.OnWrite, Bytes: 1})
		}
		step(powerfs.Step{Kind: powerfs.OnSync, Until: 1})
		step(powerfs.Step{Done: true})
		for w := range together {
			r.ledger.acks[w] = append(r.ledger.acks[w], ack{W: w, Began: began, Done: at() - 1})
		}
	}
	var got []int
	for i, is := range r.shared() {
		if is {
			got = append(got, i)
		}
	}
	if want := []int{6}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	c := course{steps: r.steps, shared: r.shared()}
	if first := order([]course{c}, failing, rand.New(rand.NewPCG(1, 1)))[0]; first.step != 6 {
		t.Errorf("step %d fails first", first.step)
	}
}

// Then come those within commits of many pairs, of which a part may be certain, and then those
// behind an acknowledgement and the end. Of the others one of each kind has its turn.
func TestMomentsWithinLargeCommitsComeNext(t *testing.T) {
	r := recording{scene: scene{work: work{Batch: 40}}}
	for range 2 {
		r.ledger.acks = append(r.ledger.acks, nil)
	}
	at := func() int64 { return int64(10 * len(r.steps)) }
	for n := uint64(1); n <= 4; n++ {
		began := at()
		for range 2 {
			r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log", Bytes: 1, Monotonic: at()})
			r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnSync, Path: "log", Monotonic: at()})
		}
		r.ledger.acks[0] = append(r.ledger.acks[0], ack{N: n, Began: began - 1, Done: at() - 1})
	}
	if got, want := r.syncs(), []int{9, 11, 5, 13, 16, 15, 1, 3, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.inside(); len(got) == 0 || got[0] != 9 {
		t.Errorf("got %v, want those of the third commit first", got)
	}
}

// What a sync of a table may show is there before the first sync behind the acknowledgement, which
// has the table's turn.
func TestARareSyncBehindAnAcknowledgementComesFirst(t *testing.T) {
	var r recording
	r.ledger.acks = make([][]ack, 1)
	at := func() int64 { return int64(10 * len(r.steps)) }
	sync := func(path string) {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnSync, Path: path, Monotonic: at()})
	}
	first, table := 0, 0
	for n := range uint64(9) {
		began := at() - 1
		sync("log")
		r.ledger.acks[0] = append(r.ledger.acks[0], ack{N: n + 1, Began: began, Done: at() - 1})
		sync("values")
		sync("registry")
		if n == 6 {
			first, table = len(r.steps)-2, len(r.steps)
			sync("table")
		}
	}
	got := r.syncs()
	if slices.Index(got, first) > 2 || slices.Index(got, table) < slices.Index(got, len(r.steps)) {
		t.Errorf("got %v, want %d among the first three, of which each is of another file, and %d behind the end", got,
			first, table)
	}
}

// The moments behind a sync amid which its own file was written come first, as a commit that
// trusted it is lost there; a write to another file is none of its business.
func TestMomentsBehindASyncThatWasWrittenAmidComeFirst(t *testing.T) {
	begin := func(path string) powerfs.Step { return powerfs.Step{Kind: powerfs.OnSync, Path: path, Until: 1} }
	end := func(path string) powerfs.Step { return powerfs.Step{Path: path, Done: true} }
	write := func(path string) powerfs.Step { return powerfs.Step{Kind: powerfs.OnWrite, Path: path, Bytes: 1} }
	r := recording{steps: []powerfs.Step{
		write("log"), begin("log"), write("table"), end("log"), // 3
		write("log"), begin("log"), write("log"), end("log"), // 7
		begin("log"), end("log"), // 9, behind the one amid which was written
		begin("log"), end("log"), // 11
		{Kind: powerfs.OnSync, Path: "log"}, // 12, at once
	}}
	if got, want := r.syncs(), []int{9, 13, 3, 12, 7, 11}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Behind a removal that comes once is looked before the tenth of another file.
func TestMomentsBehindChangesOfNames(t *testing.T) {
	var r recording
	for _, path := range []string{"log1", "log2", "log3", "table4", "log5"} {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnWrite, Path: path},
			powerfs.Step{Kind: powerfs.OnRemove, Path: path})
	}
	if got, want := r.renamed(), []int{8, 2, 4, 6, 10}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A short write that crosses the end of a sector may be torn: the first of each file comes before
// the second of any. One that fills pages, or lies within a sector, does not count.
func TestMomentsBehindRecordsThatMayBeTorn(t *testing.T) {
	var r recording
	for _, s := range []powerfs.Step{
		{Path: "log1", Off: 500, Bytes: 100}, {Path: "log1", Off: 600, Bytes: 100},
		{Path: "log1", Off: 1000, Bytes: 100}, {Path: "table1", Bytes: 8192},
		{Path: "manifest1", Off: 100, Bytes: 412}, {Path: "manifest1", Off: 511, Bytes: 2},
		{Path: "log2", Off: 1000, Bytes: 100}, {Kind: powerfs.OnSync, Path: "log2", Off: 500, Bytes: 100},
	} {
		if s.Kind == 0 {
			s.Kind = powerfs.OnWrite
		}
		r.steps = append(r.steps, s)
	}
	if got, want := r.crossing(), []int{6, 1, 3, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
