package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
)

// maxResumes is how often a writer goes on after an error.
const maxResumes = 4

// errWrong is that a transaction read what no commit wrote.
var errWrong = errors.New("wrong content")

// write commits what spec says and acknowledges each commit. Only what keeps the store from being opened is returned:
// failures of commits are messages of their own, and that of closing.
func (s *state) write(ctx context.Context, spec writeSpec) error {
	if s.subject == nil {
		s.say(message{Opening: true})
		opened, err := openSubject(ctx, spec.Store, spec.Past.Seed, len(spec.Past.Chains))
		if err != nil {
			return fmt.Errorf("%s", without(spec.Store.Dir, err))
		}
		s.subject = opened
		for w, c := range spec.Past.Chains {
			s.subject.seek(w, spec.From[w], c)
		}
	}
	var writers sync.WaitGroup
	for w := range spec.Past.Chains {
		writers.Go(func() { s.writer(ctx, w, spec) })
	}
	writers.Wait()
	if spec.Close {
		return s.subject.Close()
	}
	return nil
}

// writer makes the commits of writer w.
func (s *state) writer(ctx context.Context, w int, spec writeSpec) {
	c := spec.Past.Chains[w]
	for made, resumes := uint64(0), 0; spec.Commits == 0 || made < spec.Commits; made++ {
		n := s.subject.last(w).n + 1
		began := clock()
		err := s.subject.next(ctx, w, c.salt(n), spec.Store.Class)
		if err == nil {
			s.say(message{Ack: &ack{W: w, N: n, Began: began, Done: clock()}})
			continue
		}
		s.say(message{Failed: &failure{W: w, N: n, Salt: c.salt(n), Text: without(spec.Store.Dir, err), Wrong: errors.Is(err, errWrong)}})
		if resumes++; !spec.Resume || resumes > maxResumes || !s.resume(ctx, w, &c) {
			return
		}
	}
}

// resume asks the store, after a commit that returned an error, whether that is there, and begins a segment behind what
// is. It returns false if the store does not tell.
func (s *state) resume(ctx context.Context, w int, c *chain) bool {
	failed := s.subject.last(w)
	n, err := s.subject.count(ctx, w)
	if err != nil || n > failed.n || n+1 < failed.n {
		return false
	}
	salt := failed.salt + 1
	*c = c.next(n, salt)
	s.subject.seek(w, n, *c)
	s.say(message{Resumed: &resumption{W: w, After: n, Salt: salt}})
	return true
}

// count reads the counter of writer w.
func (s *keys) count(ctx context.Context, w int) (uint64, error) {
	var at stamp
	err := s.View(ctx, func(v *kv.Snapshot) error {
		value, err := v.Get([]byte(s.scripts[w].counterKey()))
		if errors.Is(err, kv.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err = parseCounter(value)
		return err
	})
	return at.n, err
}

// commit makes the script's next commit. The first writer reads what it changes and the others do not, except that one
// alone does both in turn.
func (s *keys) commit(ctx context.Context, sc *script, salt uint64, class kv.Durability, writers int) error {
	reads := sc.writer == 0 && (writers > 1 || sc.last.n%2 == 1)
	if !reads {
		ops := sc.ops(sc.play(salt))
		var b kv.Batch
		for _, o := range ops {
			if o.value == nil {
				b.Delete([]byte(o.key))
			} else {
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
			if o.value == nil {
				err = tx.Delete([]byte(o.key))
			} else {
				err = tx.Put([]byte(o.key), o.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// reads returns what the store holds, before commit c, of that which c changes.
func (s *script) reads(c commit) []op {
	if c.n == 1 {
		return nil
	}
	ops := []op{{s.counterKey(), s.counter()}, s.account(c.from), s.account(c.to), {key: s.recordKey(c.n)}}
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
