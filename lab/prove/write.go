package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// maxResumes is how often a writer goes on after an error.
const maxResumes = 4

// mostOpenings is how often a writer tries to open a store whose disk fails.
const mostOpenings = 3

// errWrong is that a transaction read what no commit wrote.
var errWrong = errors.New("wrong content")

// write commits what spec says and acknowledges each commit. Only what keeps the store from being
// opened is returned: failures of commits are messages of their own, and that of closing.
func (s *state) write(ctx context.Context, spec writeSpec) error {
	if s.subject == nil {
		n := len(spec.Past.Chains)
		s.chains, s.failed, s.doubt, s.acked = spec.Past.Chains, make([]bool, n), make([]bool, n),
			slices.Clone(spec.From)
		s.unsure, s.denied = make([]uint64, n), make([]failure, n)
		tried := spec.From
		if spec.Tried != nil {
			tried = spec.Tried
		}
		if err := s.open(ctx, spec, func(w int) uint64 { return tried[w] }); err != nil {
			return err
		}
		for w := range spec.Tried {
			if !spec.commits(w) {
				continue
			}
			s.failed[w], s.doubt[w] = true, true
			s.resume(ctx, w, spec.mayBeGone)
		}
	}
	for _, leg := range spec.Legs {
		if leg.First == reopen {
			if err := s.reopen(ctx, spec); err != nil {
				return err
			}
		}
		var all sync.WaitGroup
		var upkeep error
		if leg.First == compact || leg.First == backup {
			all.Go(func() { upkeep = s.subject.upkeep(ctx, leg.First, spec.Store.backup()) })
		}
		began, short := clock(), slices.Contains(s.failed, true) // see resume
		together := newGate(spec)
		release := func() error { return nil }
		if leg.First == hold {
			release = s.subject.hold(ctx)
		}
		for w := range s.chains {
			if spec.commits(w) {
				all.Go(func() {
					defer together.leave()
					s.writer(ctx, w, spec, leg, together)
				})
			}
		}
		all.Wait()
		if err := release(); err != nil {
			s.say(message{Failed: &failure{Denied: true, At: clock(), Text: err.Error(), Wrong: true}})
		}
		switch _, isLog := s.subject.(*messages); {
		case errors.Is(upkeep, kv.Unsupported) || isLog:
		case upkeep != nil:
			s.say(message{Upkeep: without(spec.Store.Dir, upkeep)})
		case leg.First == backup:
			s.say(message{Copied: &copied{began, clock(), short}})
		}
	}
	if spec.Close {
		err := s.subject.Close()
		s.subject = nil
		return err
	}
	return nil
}

// commits reports whether writer w is one of the process.
func (s writeSpec) commits(w int) bool { return s.Only == nil || slices.Contains(s.Only, w) }

// open opens the store, in which each writer goes on behind a commit.
func (s *state) open(ctx context.Context, spec writeSpec, from func(w int) uint64) error {
	s.say(message{Opening: clock()})
	opened, err := openSubject(ctx, spec.Store, spec.Past)
	for tries := 1; err != nil && spec.Resume && tries < mostOpenings; tries++ { // the disk may have failed once
		s.say(message{Opening: clock()})
		opened, err = openSubject(ctx, spec.Store, spec.Past)
	}
	if err != nil {
		return fmt.Errorf("%s", without(spec.Store.Dir, err))
	}
	s.subject, s.opened = opened, time.Now()
	for w, c := range s.chains {
		s.subject.seek(w, from(w), c)
	}
	return nil
}

// Commits linger from almost a second after the opening on, at steps, so that those which sync
// nothing do not end before what an engine does each second has come.
const (
	lingers    = 985 * time.Millisecond
	lingerStep = 2 * time.Millisecond
)

// linger waits until the store has been open for so long.
func (s *state) linger(ctx context.Context, open time.Duration) {
	select {
	case <-time.After(open - time.Since(s.opened)):
	case <-ctx.Done():
	}
}

// closing begins the name that a process looks for on the disk when it is to close a store.
const closing = ".closing-"

// reopen closes the store and opens it again. A writer of which a commit has returned an error asks
// what is there: a commit in doubt may be gone now. If closing failed all of them ask: it may have
// lost what was in memory. Nobody goes on then behind commits that are lost, as what follows would
// not be what a crash leaves.
func (s *state) reopen(ctx context.Context, spec writeSpec) error {
	last := make([]stamp, len(s.chains))
	for w := range last {
		last[w] = s.subject.last(w)
	}
	// For a fault that lasts until the store is closed; a name that nobody has looked for before.
	_, _ = os.Lstat(filepath.Join(spec.Store.Dir, fmt.Sprint(closing, clock())))
	unclosed := s.subject.Close()
	if unclosed != nil && !spec.Resume {
		return unclosed
	}
	if err := s.open(ctx, spec, func(w int) uint64 { return last[w].n }); err != nil {
		return err
	}
	for w := range last {
		if spec.commits(w) && (s.doubt[w] || unclosed != nil) {
			s.failed[w] = true
			s.resume(ctx, w, nobody)
		}
	}
	if unclosed != nil && slices.Contains(s.failed, true) {
		for w := range s.failed {
			s.failed[w] = true
		}
	}
	return nil
}

// writer makes the commits of writer w in a leg.
func (s *state) writer(ctx context.Context, w int, spec writeSpec, in leg, together *gate) {
	if s.failed[w] || in.First == await && w < len(s.chains)-1 {
		return
	}
	for made, resumes := uint64(0), 0; in.Commits == 0 || made < in.Commits; made++ {
		n := s.subject.last(w).n + 1
		class := spec.Past.Work.class(n, spec.Store.Class)
		s.wait(ctx, w, spec, in, made, together)
		began := clock()
		err := s.subject.next(ctx, w, s.chains[w].salt(n), class)
		if err == nil {
			s.acked[w] = n
			weak := class != spec.Store.Class
			s.say(message{Ack: &ack{W: w, N: n, Weak: weak, Began: began, Done: clock()}})
			if weak && len(s.chains) == 1 && spec.Past.covered(n) {
				s.cover(ctx, n, spec.Store.Class)
			}
			continue
		}
		f := failure{W: w, N: n, Salt: s.chains[w].salt(n), At: clock(), Text: without(spec.Store.Dir, err),
			Wrong: errors.Is(err, errWrong)}
		if f.Denied = s.denies(spec.Past, w, n, err); f.Denied {
			s.denied[w] = f
		}
		s.say(message{Failed: &f})
		s.failed[w], s.doubt[w] = true, true
		if resumes++; !spec.Resume || resumes > maxResumes || !s.resume(ctx, w, nobody) {
			return
		}
	}
}

// covered reports whether a synced commit that changes nothing follows the weaker commit n. Of
// loose ones it follows the last: amid them nothing holds.
func (p past) covered(n uint64) bool {
	return !p.Work.Bare && mix(p.Seed, "nothing", n)%3 == 0 && p.Work.class(n+1, kv.Synced) == kv.Synced
}

// cover makes a commit of a class that changes nothing behind the weaker commit n, which it makes
// as durable as itself. If it fails, the next commit does.
func (s *state) cover(ctx context.Context, n uint64, class kv.Durability) {
	began := clock()
	if err := s.subject.nothing(ctx, class); err == nil {
		s.say(message{Ack: &ack{N: n, Began: began, Done: clock()}})
	}
}

// denies reports whether by err, of commit n of writer w, nothing of that commit is there. One that
// only clears looks alike under each salt: if an earlier try is in doubt, that may be what is
// there.
func (s *state) denies(p past, w int, n uint64, err error) bool {
	if errors.Is(err, kv.InDoubt) {
		s.unsure[w] = n
		return false
	}
	if _, isLog := s.subject.(*messages); isLog {
		return false
	}
	earlier := s.unsure[w] == n || w < len(p.Unsure) &&
		slices.ContainsFunc(p.Unsure[w], func(u stampJSON) bool { return u.N == n })
	return !earlier || !p.Work.clears(n)
}

// wait waits until writer w is to make its next commit in a leg, in which it has made some. Where
// syncs take a while every other one is begun by all writers together: of those all but one meet in
// the sync behind the first. Between them writers pause, so that some come amid a sync.
func (s *state) wait(ctx context.Context, w int, spec writeSpec, in leg, made uint64, together *gate) {
	last := s.subject.last(w).n
	upTo := func(most time.Duration) time.Duration {
		return time.Duration(mix(spec.Past.Seed, "wait", w, last) % uint64(max(most, 1)))
	}
	switch most := spec.Pause; {
	case in.First == await:
		if spec.Past.Work.class(last, spec.Store.Class) != spec.Store.Class { // amid the sync at the next second
			second := time.Since(s.opened).Truncate(time.Second) + time.Second
			s.linger(ctx, second+upTo(amidTime/4)-syncTime/4)
		}
	case in.First == linger:
		s.linger(ctx, lingers+time.Duration(made)*lingerStep)
	case most > 0 && together.of > 1 && (spec.Level || made%2 == 1):
		together.wait()
	case w == 0:
		time.Sleep(upTo(3 * most))
	default:
		time.Sleep(upTo(most))
	}
}

// mayBeGone reports whether commit n may have died with the process that made it: nothing is
// promised of Buffered.
func (s writeSpec) mayBeGone(n uint64) bool {
	return s.Buffers && s.Past.Work.class(n, s.Store.Class) == kv.Buffered
}

// nobody is mayBeGone of a process that goes on.
func nobody(uint64) bool { return false }

// resume asks the store, after a commit that returned an error, how many commits it holds, and
// begins a segment behind them. It returns false if the store does not tell, or lacks an
// acknowledged commit that may not be gone: what is left of it will show that.
func (s *state) resume(ctx context.Context, w int, gone func(n uint64) bool) bool {
	at, err := s.subject.count(ctx, w)
	if err != nil || at.n > s.subject.last(w).n {
		return false
	}
	for n := at.n + 1; n <= s.acked[w]; n++ {
		if !gone(n) {
			return false
		}
	}
	s.acked[w] = min(s.acked[w], at.n)
	salt := s.chains[w][len(s.chains[w])-1].Salt + 1
	if at.salt == 0 && at.n > s.acked[w] {
		return false // a log does not tell under which salt the commit in doubt was made
	}
	if d := s.denied[w]; at.n > 0 && at.n == d.N && at.salt == d.Salt {
		s.say(message{Failed: &failure{W: w, N: at.n, Salt: at.salt, At: clock(), Wrong: true, Text: d.isThere()}})
	}
	r := resumption{W: w, After: at.n, Had: at.salt, Salt: salt}
	s.chains[w] = s.chains[w].resumed(r)
	s.subject.seek(w, at.n, s.chains[w])
	s.say(message{Resumed: &r})
	s.failed[w] = false
	return true
}

// resumed returns the chain of a writer that goes on. The last commit that is there may be one that
// returned an error, and was tried again under another salt since.
func (c chain) resumed(r resumption) chain {
	if r.After > 0 && r.Had != 0 && c.salt(r.After) != r.Had {
		c = c.from(r.After-1, r.Had)
	}
	return c.next(r.After, r.Salt)
}

// count reads the counter of writer w.
func (s *keys) count(ctx context.Context, w int) (at stamp, err error) {
	err = s.View(ctx, func(v *kv.Snapshot) error {
		value, err := v.Get([]byte(s.scripts[w].counterKey()))
		if errors.Is(err, kv.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if at, err = parseCounter(value); err != nil || !s.past.Work.clears(at.n+1) {
			return err
		}
		if _, err = v.Get([]byte(spareKey(w))); errors.Is(err, kv.NotFound) { // it tells no salt
			last := s.scripts[w].last
			if at = (stamp{n: at.n + 1}); last.n == at.n {
				at = last
			}
			return nil
		}
		return err
	})
	return at, err
}

// commit makes the script's next commit. The first writer reads what it changes and the others do
// not, except that one alone does both in turn.
func (s *keys) commit(ctx context.Context, sc *script, salt uint64, class kv.Durability, writers int) error {
	reads := sc.writer == 0 && (writers > 1 || sc.last.n%2 == 1)
	if !reads {
		ops := sc.ops(sc.play(salt))
		var b kv.Batch
		for _, o := range ops {
			switch {
			case o.until != "":
				b.DeleteRange(o.span())
			case o.value == nil:
				b.Delete([]byte(o.key))
			default:
				b.Put([]byte(o.key), o.value)
			}
		}
		return s.Write(ctx, class, &b)
	}
	c := sc.plan(sc.last.n+1, salt)
	reading := sc.reads(c)
	ops := sc.ops(sc.play(salt))
	return s.Update(ctx, class, func(tx *kv.Tx) error {
		for _, want := range reading {
			if err := expect(tx, want); err != nil {
				return err
			}
		}
		for _, o := range ops {
			var err error
			switch {
			case o.until != "":
				err = tx.DeleteRange(o.span())
			case o.value == nil:
				err = tx.Delete([]byte(o.key))
			default:
				err = tx.Put([]byte(o.key), o.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// nothingPuts reports whether the commit of nothing behind commit n puts what is there, and else
// deletes what is not. The last of two loose commits has an even number.
func nothingPuts(n uint64) bool { return n/2%2 == 0 }

// nothing deletes what is not there, or puts what is.
func (s *keys) nothing(ctx context.Context, class kv.Durability) error {
	sc := s.scripts[0]
	var b kv.Batch
	if nothingPuts(sc.last.n) {
		b.Put([]byte(sc.counterKey()), sc.counter())
	} else {
		b.Delete([]byte("nobody's"))
	}
	return s.Write(ctx, class, &b)
}

func (o op) span() kv.Range { return kv.Range{Start: []byte(o.key), End: []byte(o.until)} }

// reads returns what the store holds, before commit c, of that which c changes.
func (s *script) reads(c commit) []op {
	if c.n == 1 {
		return nil
	}
	switch {
	case s.clears(c.n):
		return []op{s.spare()}
	case c.alone:
		return []op{{key: s.counterKey(), value: s.counter()}}
	}
	ops := []op{{key: s.counterKey(), value: s.counter()}, s.account(c.from), s.account(c.to), {key: s.recordKey(c.n)}}
	if c.rewrites > 0 {
		ops = append(ops, s.record(c.rewrites))
	}
	return ops
}

// expect holds one key against what it should be.
func expect(tx *kv.Tx, want op) error {
	got, err := tx.Get([]byte(want.key))
	switch {
	case errors.Is(err, kv.NotFound) && want.value == nil:
		return nil
	case errors.Is(err, kv.NotFound):
		return fmt.Errorf("%w: %s is missing", errWrong, want.key)
	case err != nil:
		return err
	case want.value == nil || !bytes.Equal(got, want.value):
		return fmt.Errorf("%w: %s is %q, not %q", errWrong, want.key, clip(got), clip(want.value))
	}
	return nil
}
