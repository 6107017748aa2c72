package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/child"
)

// lane does one thing after the other: tasks run in as many lanes as there are processors. It keeps
// a verifier process.
type lane struct {
	*runner
	number   int
	folders  int // made so far, for their names
	verifier *child.Process
	used     int // images that this verifier has seen
}

// maxUsed is how many images a verifier sees before another takes its place: engines that fail to
// open leave memory and goroutines behind. One whose memory is full is replaced earlier.
const maxUsed = 50

// shortHang is how long a verifier gets once another was late in the same task, which no longer can
// prove anything.
const shortHang = 5 * time.Second

// patience is how long a process gets whose store lies on the machine's own disk, which may stand
// still for longer than a process that works in memory does.
func (l *lane) patience() time.Duration { return 3 * l.Hang }

// moreCommits is how many commits each writer makes in a store that was found whole.
const moreCommits = 3

// folder returns the path of a new folder of the run. It does not exist yet.
func (l *lane) folder(what string) string {
	l.folders++
	return filepath.Join(l.dir.Path, fmt.Sprintf("%s-%d-%d", what, l.number, l.folders))
}

// fastFolder is folder, in memory if this machine has room there: what is in it is only opened and
// compared.
func (l *lane) fastFolder(what string) string {
	if l.fast == "" {
		return l.folder(what)
	}
	l.folders++
	return filepath.Join(l.fast, fmt.Sprintf("%s-%d-%d", what, l.number, l.folders))
}

// verify is ask. If the answer is late, the engine may hang: later ones are not waited for as long.
func (l *lane) verify(ctx context.Context, t *task, spec verifySpec, limit time.Duration) (outcome, error) {
	o, err := l.ask(ctx, t, spec, limit)
	if o.Late {
		t.hung.Store(true)
	}
	return o, err
}

// ask has the verifier examine the store that spec names. That it crashes, or takes longer than
// limit, is an outcome; an error is that there is none.
func (l *lane) ask(ctx context.Context, t *task, spec verifySpec, limit time.Duration) (outcome, error) {
	if l.verifier == nil {
		p, err := child.Start(l.Child)
		if err != nil {
			return outcome{}, err
		}
		l.verifier, l.used = p, 0
	}
	spec.Store.Entry.Options = verifiers(spec.Store.Entry.Engine, spec.Store.Entry.Options)
	if t.hung.Load() {
		limit = min(limit, shortHang)
	}
	var m message
	err := l.verifier.Call(ctx, "verify", request{Verify: &spec}, &m, limit)
	if l.used++; err != nil || l.used >= maxUsed || m.Done != nil && m.Done.Full {
		l.close()
	}
	var gone *child.Error
	switch {
	case errors.As(err, &gone) && gone.Hung: // or the machine is slow, which nobody can tell from here
		return outcome{Late: true}, nil
	case late(err): // nor does a process tell anything that somebody else has killed
		return outcome{Late: true}, nil
	case errors.As(err, &gone):
		return outcome{N: make([]uint64, len(spec.Past.Chains)), Gone: true, Ended: true, Broken: saidLast(gone)}, nil
	case err != nil:
		return outcome{}, err
	case m.Done == nil || m.Done.Outcome == nil:
		return outcome{}, fmt.Errorf("the verifier did not answer: %+v", m)
	}
	return *m.Done.Outcome, nil
}

// saidLast returns how a verifier ended: what the engine said, if it panicked.
func saidLast(e *child.Error) string {
	for _, start := range []string{"panic: ", "fatal error: "} {
		if i := strings.Index(e.Text, start); i >= 0 {
			return e.Text[i:]
		}
	}
	return e.Text
}

func (l *lane) close() {
	if l.verifier != nil {
		_ = l.verifier.End(time.Second) // its answers are in
		l.verifier = nil
	}
}

// discard removes a folder that is no longer needed. What cannot be removed now goes with the run's
// folder.
func discard(dir string) { _ = os.RemoveAll(dir) }
