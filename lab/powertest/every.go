package powertest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
)

// EveryCut has c's work done once, on a disk that keeps all that is done to it, and then what a
// power cut may leave checked: before every operation behind so many acknowledgements, and at the
// end. Of each change that is not durable there are states without it and with it alone; of many
// changes some are chosen, the same ones each time. It returns how many states were checked, those
// that are alike once for as many changes that were done, and of each that Check objects to which
// it is and why. Like [Run], it is called in every process.
func EveryCut[R any](t *testing.T, c Case[R], after int) (states int, objections []string) {
	t.Helper()
	serve(c)
	r := newRig(t, c)
	w := r.work(cut{records: true})
	if len(w.history.Done) < after {
		t.Fatalf("%d changes were done, want %d", len(w.history.Done), after)
	}
	p, err := w.tape.Play()
	r.must("play the tape", err)
	rng := rand.New(rand.NewPCG(1, 1))
	type checked struct {
		image [32]byte
		done  int
	}
	steps, known := w.tape.Steps(), map[checked]bool{}
	for i := range len(steps) + 1 {
		before, moment := "at the end", int64(math.MaxInt64)
		if i < len(steps) {
			before, moment = "before "+steps[i].String(), steps[i].Monotonic
		}
		h := w.before(moment)
		if len(h.Done) < after {
			continue
		}
		r.must("play the tape", p.Forward(i))
		for _, s := range p.States(powerfs.Ordered, rng) {
			image, err := p.Image(s)
			r.must("make an image", err)
			what := checked{image.Sum(), len(h.Done)}
			if known[what] {
				continue
			}
			known[what] = true
			if err := r.inspect(image, h); errors.As(err, new(found)) {
				objections = append(objections, fmt.Sprintf("%s, %v: %v", before, s, err))
			} else {
				r.must("check", err)
			}
		}
	}
	return len(known), objections
}
