package prove

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
)

const (
	maxGenerations = 3   // how often one store is killed and goes on
	maxKillAcks    = 200 // acknowledgements, at most, before a process is killed
	// killsPart: one part in so many of a job's time is for real kills, of which each takes a
	// process and leaves one state.
	killsPart = 4
)

// kill is a job: a writer process is killed (kill -9) at some moment, the store opened and
// compared, and a writer goes on in it, with other values, to be killed again. Beside, kills are
// modelled: before every operation of recorded runs, and between the pages of every write; where
// the disk does not hear of all that is written, at moments at which the process was stopped.
func (l *lane) kill(ctx context.Context, j *job, until time.Time) (bool, error) {
	began := time.Now()
	for l.killsLeft(j) && (l.Rounds > 0 || l.unavailable != nil && time.Now().Before(until) ||
		killsPart*(j.killing+time.Since(began)) <= j.spent+time.Since(began)) {
		k := j.turns*j.of + j.number
		j.turns++
		l.begun(j.task)
		seed := l.Seed
		if k > 0 {
			seed = mix(l.Seed, "round", k)
		}
		if err := l.killRound(ctx, j.task, seed); err != nil {
			return false, err
		}
	}
	j.killing += time.Since(began)
	if l.unavailable != nil || l.Rounds > 0 {
		return l.killsLeft(j), nil
	}
	_, err := l.explorers(ctx, j, until, func(rec *recording) (*explorer, error) {
		if rec.mapped {
			return l.frozen(ctx, j, rec)
		}
		x := newExplorer(rec, 0, "kill")
		x.loose = nil
		l.counts(j, x)
		if err := l.tryEach(ctx, j, x, j.only(powerfs.Everything)); err != nil {
			return nil, err
		}
		x.later = []pass{{left: x.left, weight: 3,
			states: func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return p.Killed(rng) }}}
		x.pass = pass{left: append(rec.inside(), len(rec.steps)), weight: 1, states: j.only(powerfs.Everything)}
		return x, nil
	})
	return true, err
}

func (l *lane) killsLeft(j *job) bool { return l.anotherBehind(j, j.turns) }

func (l *lane) killRound(ctx context.Context, t *task, seed uint64) error {
	rng, p := rand.New(rand.NewPCG(mix(seed, "kill"), seed)), newPast(seed, l.writers(t.pair, seed))
	dir := l.folder("kill")
	defer discard(dir)
	tr := trial{seed: seed, past: p}
	from := make([]uint64, len(p.Chains))
	tr.ledger.acks = make([][]ack, len(from))
	generations := 1 + rng.IntN(maxGenerations)
	for g := range generations {
		fresh, err := l.writeAndKill(ctx, writeSpec{Store: t.store(dir), Past: tr.past, From: from, Legs: []leg{{}}},
			rng, g == 0)
		if err != nil {
			return err
		}
		tr.ledger.add(fresh.ledger)
		tr.at = clock()
		left, err := t.leftBy(tr, dir, g)
		if err != nil {
			return err
		}
		c := t.cells[0]
		l.mu.Lock()
		c.crash(tr)
		c.Kills++
		if fresh.trouble != nil {
			c.record(tr, wentWrong(tr, fresh.trouble))
		}
		l.mu.Unlock()
		spec := verifySpec{Store: t.store(dir), Past: tr.past, Salt: mix(seed, "salt", g+1)}
		if g == generations-1 {
			spec.More = moreCommits
		}
		o, err := l.verify(ctx, t, spec, l.patience())
		if err != nil {
			return err
		}
		l.count(t, left, o)
		if fresh.trouble != nil || o.Late || o.Broken != "" || o.Torn != "" {
			return nil
		}
		from = o.N
		for w, n := range o.N {
			tr.past.Chains[w] = tr.past.Chains[w].next(n, spec.Salt)
			tr.ledger.forget(w, n)
		}
	}
	return nil
}

// killed is what a writer process said until it was killed, and what went wrong with it before.
type killed struct {
	ledger  ledger
	trouble error
}

// writeAndKill has a process commit and kills it. A store's first process is killed while it
// creates the store, now and then.
func (l *lane) writeAndKill(ctx context.Context, spec writeSpec, rng *rand.Rand, first bool) (killed, error) {
	early, target := first && rng.IntN(4) == 0, 1+rng.IntN(maxKillAcks)
	w, err := startWriter(l.Child, spec, target, nil)
	if err != nil {
		return killed{}, err
	}
	event := w.enough
	delay := time.Duration(rng.IntN(3000)) * time.Microsecond // somewhere within a commit
	if early {
		event, delay = w.opening, time.Duration(rng.IntN(30_000))*time.Microsecond
	}
	limited, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	d, err := w.wait(limited, event)
	if err == nil && d == nil {
		d, err = w.wait(limited, after(delay))
	}
	ended := w.ended()
	k := killed{ledger: w.stop()}
	switch {
	case ctx.Err() != nil:
		return k, ctx.Err()
	case err != nil:
		k.trouble = &lateError{l.patience()}
	default:
		k.trouble = trouble(d, k.ledger, ended)
	}
	return k, nil
}

// after returns a channel that is closed once d has passed.
func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// add appends what a further process said. What was acknowledged before it and was not there when
// it began died with another process, which is in order for what that had not given to the system.
func (l *ledger) add(o ledger) {
	for _, r := range o.resumed {
		l.forget(r.W, r.After)
	}
	for w, list := range o.acks {
		l.acks[w] = append(l.acks[w], list...)
	}
	l.failed = append(l.failed, o.failed...)
	l.resumed = append(l.resumed, o.resumed...)
	l.opened = append(l.opened, o.opened...)
	l.copies = append(l.copies, o.copies...)
}

// forget drops the acknowledgements of w that follow commit n: they were found to be lost, and are
// made again.
func (l *ledger) forget(w int, n uint64) {
	list := l.acks[w]
	for len(list) > 0 && list[len(list)-1].N > n {
		list = list[:len(list)-1]
	}
	l.acks[w] = slices.Clip(list)
}

// leftBy returns what the g-th process of a store has left when it was killed. Who looks at the
// store changes it: this is a copy, for those who look again.
func (t *task) leftBy(tr trial, dir string, g int) (evidence, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil { // it may have been killed before it made one
		return evidence{}, err
	}
	img, err := powerfs.Import(dir)
	if err != nil {
		return evidence{}, err
	}
	tr.past.Chains, tr.ledger.acks = slices.Clone(tr.past.Chains), slices.Clone(tr.ledger.acks)
	rec := &recording{seed: mix(tr.seed, "killed", g), store: t.store(""), past: tr.past}
	return evidence{rec: rec, state: powerfs.Random(everything, 0), img: img, trial: tr}, nil
}

// count adds the store that a kill has left to a task.
func (l *lane) count(t *task, left evidence, o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := t.cells[0]
	c.found(t, left, &verified{outcome: o}, false)
	if o.Late {
		t.wasLate(c, left, o)
	} else {
		t.count(c) // each is of another history
		l.images++
	}
}
