// Package crashtest runs a program's own store under recorded crashes, in the program's own tests.
// Three functions say what the store is:
//
//	func TestCrashes(t *testing.T) {
//		crashtest.Run(t, crashtest.Store[*cache.Cache]{
//			Open:  func(dir string) (*cache.Cache, error) { return cache.Open(dir) },
//			Do:    func(c *cache.Cache, i int) error { return c.Set(key(i), value(i)) },
//			Check: func(c *cache.Cache, h crashtest.History) error {
//				for _, i := range h.Done { ... key(i) must have value(i) }
//				for _, i := range h.Maybe { ... key(i) has value(i), or is not there }
//				...
//			},
//		}, nil)
//	}
//
// [Run] has a process make some dozens of changes on a disk that records every operation. Before
// each of them it makes the states that may be left there by a kill -9, also within a write, and by
// a power cut: nothing of what was not synced, everything, a part that ends somewhere, any pages or
// sectors, one file and not the other, names kept in the order in which ext4 and xfs keep them.
// Each state that differs from all others is opened and checked, by a process of the same test
// binary. A test that fails tells the smallest history that it found, and keeps what was on the
// disk:
//
//	go test -run '^TestCrashes$' -crashtest.replay=/tmp/crashtest-123
//
// judges that very state again. Flags of the test binary: -crashtest.budget=10m looks closer,
// -crashtest.seed=7 makes the same choices again.
//
// It needs Linux, and root or the right to open /dev/fuse. Elsewhere the test is skipped, with the
// reason. Stores that write through memory maps are tried with power cuts alone: the disk hears of
// mapped pages only when they are written back. docs/own.md tells more, and docs/durability.md how
// the disk is known to be right.
package crashtest

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
)

// Store is a program's store, in three functions. They run in processes of their own, which are
// this test binary, started again for the same test: what they share with each other is what is on
// disk, and what the test does before it calls Run. What they print to standard output goes to
// standard error.
type Store[S io.Closer] struct {
	// Open opens the store below dir, which exists, or makes it there if dir is empty. An error
	// means that a crash has broken the store.
	Open func(dir string) (S, error)

	// Do makes change i, the first being 0, and returns nil once the program may rely on it: the
	// change is acknowledged. What it does depends on i and on what the store holds, nothing else.
	// One call is made at a time.
	Do func(s S, i int) error

	// Check looks at a store that was opened after a crash, and returns what breaks its promises.
	// All changes of h.Done must be there, that of h.Maybe may be there as a whole or not at all,
	// and nothing else. It must object to a store that is empty although changes were done; Run
	// tries that. It changes nothing, and may be called several times: once it has let a change of
	// h.Maybe pass, Run asks it whether that is there, and goes on with a history that says so.
	Check func(s S, h History) error
}

// History is what was done until a crash.
type History struct {
	Done  []int // the changes that were acknowledged, in order; a number that is missing was never done
	Maybe []int // the one that had begun and was not acknowledged, if there is one
}

// Options says what to do and how closely to look. The zero value of a field is its default.
type Options struct {
	Changes int // how many changes the recorded run makes; 40
	Reopen  int // after so many the store is closed and opened again; 15

	// Budget is how long states are made and judged; 30 s, a tenth of it with -short. The recorded
	// run and the first look at it come on top.
	Budget time.Duration

	// KillsAlone leaves out power cuts: for a store that promises to survive the end of its
	// process, and no more.
	KillsAlone bool

	// Strict also holds the store to what POSIX promises: a file's name is durable once its own
	// folder was synced. Without it names are durable in the order in which they were made, as on
	// ext4 and xfs.
	Strict bool
}

var (
	replay   = flag.String("crashtest.replay", "", "judge the state in this `folder` again, which a test that failed has kept")
	budget   = flag.Duration("crashtest.budget", 0, "look for crashes that break a store for so long")
	seedFlag = flag.Uint64("crashtest.seed", 0, "make the choices of the run that logged this seed")
)

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Changes == 0 {
		d.Changes = 40
	}
	if d.Reopen == 0 {
		d.Reopen = 15
	}
	if d.Budget == 0 {
		d.Budget = 30 * time.Second
	}
	if testing.Short() {
		d.Budget /= 10
	}
	if *budget > 0 {
		d.Budget = *budget
	}
	return d
}

// Run fails the test if a crash breaks what s promises. Nil options are the defaults. It is called
// once in a test, or in a subtest, and what comes before it is done in every process: let that be
// cheap. No process, mount or file is left behind, but for the state that a failure has kept.
func Run[S io.Closer](t *testing.T, s Store[S], o *Options) {
	t.Helper()
	serve(s)
	if again(t.Name()) {
		t.Fatal("crashtest: call Run once in a test; for more stores use t.Run")
	}
	if err := available(); err != nil {
		t.Skipf("NOT TESTED: no crash can be recorded on this machine: %v", err)
	}
	r := newRig(t, o.withDefaults())
	if *replay != "" {
		r.replay(*replay)
		return
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() >> 32
	}
	t.Logf("crashtest: seed %d", seed)
	rec := r.record()
	r.control(rec)
	e := newExplorer(r, rec, seed)
	e.explore()
	t.Log(e.summary())
	if e.worst != nil {
		t.Fatal(e.worst.report(r))
	}
}

// runs are the tests that have called Run, which must do so once: a child would not know for which
// call it was started.
var runs sync.Map

func again(test string) bool {
	_, was := runs.LoadOrStore(test, true)
	return was
}

// available returns why no disk can be mounted here. Once in each process it detaches what an
// earlier run that was killed could not unmount.
var available = sync.OnceValue(func() error {
	if err := powerfs.Available(); err != nil {
		return err
	}
	if _, err := powerfs.DetachStale(os.TempDir()); err != nil {
		return fmt.Errorf("detach what was left: %w", err)
	}
	return nil
})
