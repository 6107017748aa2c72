package prove

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// faultDamage is the task of an engine whose files go bad. It has no cells: nothing is promised.
const faultDamage = "damage"

// damageTries bounds what is tried of an engine, with stores of so many recordings.
const (
	damageTries   = 400
	damagedStores = 2
)

// damaged is a job: of stores that were written and left in peace, one bit is changed, or one read
// fails. What the engine then says is told, and held against nobody.
func (l *lane) damaged(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	for first := true; j.made < damageTries && (first || time.Now().Before(until)); first = false {
		k := j.made*j.of + j.number
		j.made++
		if i := len(j.written); i < damagedStores {
			rec, err := l.recording(ctx, j.task, i)
			if err != nil {
				return false, err
			}
			img, err := rec.end(everything)
			if err != nil {
				return false, err
			}
			j.written = append(j.written, candidate{rec: rec, img: img})
		}
		c := j.written[k%len(j.written)]
		rng := rand.New(rand.NewPCG(mix(l.Seed, "damage", k), l.Seed))
		if err := l.damage(ctx, j, c.rec, c.img, k%4 < 2, rng); err != nil {
			return false, err
		}
	}
	return j.made < damageTries, nil
}

// damage makes one try.
func (l *lane) damage(ctx context.Context, j *job, rec *recording, img *powerfs.Image, flips bool,
	rng *rand.Rand) error {
	try := l.failRead
	d := &j.readErrors
	if flips {
		try, d = l.flipBit, &j.flippedBits
	}
	o, done, err := try(ctx, j.task, rec, img, rng)
	if err != nil || !done {
		return err
	}
	lost, _ := rec.trial(len(rec.steps)).lost(o.N)
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Tries++
	switch {
	case o.Ended || o.Late:
		d.Ended++
	case o.Gone || noticed(o.Broken):
		d.Noticed++
	case o.Broken != "" || o.Torn != "":
		d.Wrong++
		d.What = cmp.Or(d.What, o.Broken, o.Torn)
	case lost > 0:
		d.Missing++
	}
	return nil
}

// noticed reports whether what is broken was said by the engine.
func noticed(broken string) bool {
	for _, by := range []string{"did not open: ", "could not be read: ", "check: ", "close: "} {
		if strings.HasPrefix(broken, by) {
			return true
		}
	}
	return false
}

// flipBit changes one bit of what is no hole.
func (l *lane) flipBit(ctx context.Context, t *task, rec *recording, img *powerfs.Image, rng *rand.Rand) (o outcome,
	done bool, err error) {
	dir := l.fastFolder("image")
	defer discard(dir)
	if err := img.Export(dir); err != nil {
		return o, false, err
	}
	where, ok, err := somewhere(img, rng)
	if err != nil || !ok {
		return o, false, err
	}
	f, err := os.OpenFile(filepath.Join(dir, where.path), os.O_RDWR, 0)
	if err != nil {
		return o, false, err
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], where.at)
	b[0] ^= 1 << rng.IntN(8)
	if err == nil {
		_, err = f.WriteAt(b[:], where.at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return o, false, err
	}
	o, err = l.verify(ctx, t, rec.toVerify(dir), l.Hang)
	return o, err == nil, err
}

// failRead lets every read of one page fail. It is not done if nobody reads it.
func (l *lane) failRead(ctx context.Context, t *task, rec *recording, img *powerfs.Image, rng *rand.Rand) (o outcome,
	done bool, err error) {
	where, ok, err := somewhere(img, rng)
	if err != nil || !ok {
		return o, false, err
	}
	f := powerfs.Fault{Op: powerfs.OnRead, Nth: 1, Sticky: true, Match: where.path, At: where.at, Err: syscall.EIO}
	g, err := l.newRig(powerfs.Options{From: img, Faults: []powerfs.Fault{f}})
	if err != nil {
		return o, false, err
	}
	o, err = l.verify(ctx, t, rec.toVerify(g.dir), l.Hang)
	done = len(g.disk.Struck()) > 0
	return o, done, errors.Join(err, g.close())
}

// place is a byte of a file that is in no hole.
type place struct {
	path string
	at   int64
}

// somewhere returns a place in an image, if there is one.
func somewhere(img *powerfs.Image, rng *rand.Rand) (p place, ok bool, err error) {
	var all []place
	err = img.Walk(func(f powerfs.File) error {
		for _, at := range f.Pages() {
			all = append(all, place{f.Path, min(at+rng.Int64N(4096), f.Size-1)})
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return p, false, err
	}
	return all[rng.IntN(len(all))], true, nil
}

// toVerify returns what to ask of a store that was left in peace.
func (r *recording) toVerify(dir string) verifySpec {
	spec := verifySpec{Store: r.store, Past: r.past}
	spec.Store.Dir = dir
	return spec
}

// damages returns what was found of a task.
func (t *task) damages() (found []result.Damage) {
	for _, d := range []result.Damage{t.flippedBits, t.readErrors} {
		if d.Tries > 0 {
			found = append(found, d)
		}
	}
	return found
}
