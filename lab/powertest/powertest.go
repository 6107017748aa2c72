// Package powertest tries what a store keeps when the power fails: it has a process work in the
// store, on a disk that loses power (lab/powerfs), and has another one look at what is left.
//
//	func TestPower(t *testing.T) {
//		powertest.Run(t, powertest.Case[string]{
//			Work: func(dir string, log *powertest.Log[string]) error {
//				... open a store below dir; before each change log.Try(change), and once it has returned log.Done(change)
//			},
//			Check: func(dir string, h powertest.History[string]) error {
//				... open the store; all of h.Done must be there, and nothing that is not in h.Tried
//			},
//		})
//	}
//
// The test binary is its own child: [Run] starts it again for the same test. Power fails before a
// random operation of the disk, so also while the store is being created or closed. Everything
// random comes from a seed, which is logged and can be given in the environment:
// ASSAY_POWERTEST_SEED=7. ASSAY_POWERTEST_CUTS=100 tries more cuts.
//
// A test that wants to choose the moment itself, or which call fails, mounts a [Disk] and opens its
// engine there.
//
// Where no disk can be mounted the tests are skipped, with the reason.
package powertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
)

// Case is a store, what is done in it, and what must be left. R is what a process tells of one
// change; it must survive JSON.
type Case[R any] struct {
	// Work opens a new store below dir, works in it and closes it, and returns the first error. It
	// ends by itself, after some dozens of changes, and does about the same each time, so that a
	// cut can be placed within it.
	Work func(dir string, log *Log[R]) error
	// Check opens what a power cut left below dir and returns what breaks the store's promises. It
	// should go on working there, and look again: what a recovery left behind may only then come to
	// light. It must object if something was done and the folder is empty; Run tries that.
	Check func(dir string, h History[R]) error
}

// History is what a process did until the power failed, in the order in which it said so.
type History[R any] struct {
	Tried []R // begun: may be there, or not
	Done  []R // returned before the cut
}

// Log tells of a process's changes. Its methods may be called concurrently.
type Log[R any] struct{ say func(message[R]) }

// Try tells that a change is about to be tried.
func (l *Log[R]) Try(r R) { l.say(message[R]{Tried: &r}) }

// Done tells that a change has returned without an error: what it promises holds from now on.
func (l *Log[R]) Done(r R) { l.say(message[R]{Done: &r, At: powerfs.Now()}) }

// The number of cuts, and the rules by which images are made of each. Images that are alike are
// looked at once.
const (
	cuts      = 6
	shortCuts = 2
)

var (
	rules = survivors(powerfs.Sectors, powerfs.Sectors, powerfs.Pages, powerfs.Prefix, powerfs.Nothing,
		powerfs.Everything)
	shortRules = survivors(powerfs.Sectors, powerfs.Prefix, powerfs.Nothing)
)

// survivors returns the rules with entries in order, as ext4 and xfs have them: claims of stores
// are of those.
func survivors(list ...powerfs.Survivors) (rules []powerfs.Rule) {
	for _, s := range list {
		rules = append(rules, powerfs.Rule{Entries: powerfs.Ordered, Survivors: s})
	}
	return rules
}

// Run has c's work done once without a cut, and then with some cuts, and each time what may be left
// checked. The test that calls it must do so in every process, and may do nothing costly before. No
// process, mount or file is left behind.
func Run[R any](t *testing.T, c Case[R]) {
	t.Helper()
	serve(c)
	r := newRig(t, c)
	n, chosen := cuts, rules
	if testing.Short() {
		n, chosen = shortCuts, shortRules
	}
	n = fromEnvironment(t, "ASSAY_POWERTEST_CUTS", n)
	seed := fromEnvironment(t, "ASSAY_POWERTEST_SEED", rand.Uint64()>>32)
	t.Logf("seed %d", seed)

	whole := r.work(cut{})
	r.check(whole, "after all of the work", survivors(powerfs.Nothing), seed)
	if err := r.ask(t.TempDir(), whole.history); len(whole.history.Done) == 0 || !errors.As(err, new(found)) {
		t.Fatalf("an empty folder, after %d changes: the check must object, and returned %v", len(whole.history.Done),
			err)
	}
	images := 0
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		from, to := whole.ops*uint64(i)/uint64(n), whole.ops*uint64(i+1)/uint64(n)
		at := 1 + from + rng.Uint64N(max(to-from, 1))
		w := r.work(cut{op: at})
		images += r.check(w, fmt.Sprintf("seed %d, power cut before operation %d of %d", seed, at, whole.ops), chosen,
			rng.Uint64())
		w.release()
	}
	t.Logf("%d operations, %d changes, %d cuts, %d images", whole.ops, len(whole.history.Done), n, images)
}

// MustFail shows that the check of c can fail: power fails after so many acknowledgements, nothing
// that was not synced is left, and Check must object. It is for a store that is opened for, or
// asked for, less than it should promise.
func MustFail[R any](t *testing.T, c Case[R], after int) {
	t.Helper()
	serve(c)
	r := newRig(t, c)
	w := r.work(cut{acks: after})
	if len(w.history.Done) < after {
		t.Fatalf("%d changes were done, want %d", len(w.history.Done), after)
	}
	image := w.crash.Image(survivors(powerfs.Nothing)[0], 0)
	err := r.inspect(image, w.history)
	if !errors.As(err, new(found)) { // a crash is not it
		t.Fatalf("%d changes that were not synced were lost: the check must object, and returned %v",
			len(w.history.Done), err)
	}
	t.Logf("found, as it must: %.300v", err)
}

// clean detaches, once in each process, what an earlier run that was killed could not unmount.
var clean = sync.OnceValue(func() error {
	_, err := powerfs.DetachStale(os.TempDir())
	return err
})

func fromEnvironment[N int | uint64](t *testing.T, name string, n N) N {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return n
	}
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s=%s is no number below 2^32", name, text)
	}
	return N(value)
}
