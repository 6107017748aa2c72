package prove

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// subject is an open store together with the history that goes into it: keys, or the messages of a
// log. Each writer is one goroutine.
type subject interface {
	// seek puts writer w behind commit n of its chain. The store is not asked.
	seek(w int, n uint64, c chain)
	// goOn puts the history in the place of the one that the store was opened for.
	goOn(p past)
	// last returns the commit that writer w tried last.
	last(w int) stamp
	// next makes the next commit of writer w, under a salt.
	next(ctx context.Context, w int, salt uint64, class kv.Durability) error
	// nothing makes a commit of the first writer that changes nothing. A log has none.
	nothing(ctx context.Context, class kv.Durability) error
	// count asks the store which commit of writer w is the last that it holds. A log does not tell
	// its salt.
	count(ctx context.Context, w int) (stamp, error)
	// compare reads all of the store and holds it against what the commits of a past wrote. An
	// error is that it could not be read.
	compare(ctx context.Context, p past) (outcome, error)

	// upkeep compacts the store, or copies it to a path, which may be Unsupported.
	upkeep(ctx context.Context, what, to string) error
	// hold holds a snapshot until release is called, which returns an error if it shows something
	// else then. Where writers wait for snapshots, it holds none.
	hold(ctx context.Context) (release func() error)

	Check(ctx context.Context) error // the engine's own
	io.Closer
}

// lockWait is how long a process waits for another's lock, on a machine that may be slow.
const lockWait = time.Minute

// openSubject opens the store that spec names, for a history. The engine decides which.
func openSubject(ctx context.Context, spec storeSpec, p past) (subject, error) {
	if d, ok := logOf(spec.Entry.Engine); ok {
		return openMessages(ctx, d, spec, p.Seed)
	}
	weakest := max(spec.Class, p.Work.Weak, p.Work.Loose)
	db, err := kv.Open(ctx, spec.url(), kv.WithWeakest(weakest), kv.WithWait(lockWait))
	if err != nil {
		return nil, err
	}
	return &keys{DB: db, past: p, scripts: make([]*script, len(p.Chains))}, nil
}

// logOf returns the driver of an engine that keeps messages instead of keys.
func logOf(engine string) (logDriver, bool) {
	d, _ := driver.Lookup(engine)
	log, ok := d.(logDriver)
	return log, ok
}

// keys is a store of keys and values.
type keys struct {
	*kv.DB
	past    past
	scripts []*script // of each writer
}

var _ subject = (*keys)(nil)

func (s *keys) seek(w int, n uint64, c chain) {
	s.scripts[w] = s.past.script(w)
	s.scripts[w].playTo(n, c)
}

func (s *keys) goOn(p past) { s.past, s.scripts = p, make([]*script, len(p.Chains)) }

func (s *keys) last(w int) stamp { return s.scripts[w].last }

func (s *keys) next(ctx context.Context, w int, salt uint64, class kv.Durability) error {
	return s.commit(ctx, s.scripts[w], salt, class, len(s.scripts))
}

func (s *keys) upkeep(ctx context.Context, what, to string) error {
	err := s.Compact
	if what == backup {
		err = func(ctx context.Context) error {
			if err := os.RemoveAll(to); err != nil {
				return err
			}
			return s.Backup(ctx, to)
		}
	}
	return err(ctx)
}

func (s *keys) compare(ctx context.Context, p past) (outcome, error) {
	if o, ok := s.whole(ctx, p); ok {
		return o, nil
	}
	found, err := readAll(ctx, s.DB)
	if err == nil {
		return p.compare(found), nil
	}
	found, unread, each := readEach(ctx, s.DB)
	if each != nil || len(unread) == 0 {
		return outcome{}, err
	}
	o := outcome{N: make([]uint64, len(p.Chains)), Gone: true, Hole: true}
	if p.fill(found, unread) {
		o = p.compare(found)
	}
	o.Broken = "could not be read: " + err.Error()
	return o, nil
}

func (s *keys) hold(ctx context.Context) (release func() error) {
	nothing := func() error { return nil }
	if s.Caps().ReadersBlockWriters == kv.Always {
		return nothing
	}
	held, err := s.Snapshot(ctx)
	if err != nil { // the disk may fail
		return nothing
	}
	before, err := sumOf(held)
	return func() error {
		after, later := sumOf(held)
		_ = held.Close() // nothing was written through it
		if err == nil && later == nil && before != after {
			return fmt.Errorf("%w: a snapshot shows other pairs than it did before", errWrong)
		}
		return nil
	}
}

// sumOf returns a digest of all that a snapshot shows.
func sumOf(s *kv.Snapshot) (sum uint64, err error) {
	h := fnv.New64a()
	err = s.Each(kv.Range{}, func(k, v []byte) error {
		fmt.Fprintf(h, "%d %d ", len(k), len(v))
		_, _ = h.Write(k) // a hash's Write does not fail
		_, _ = h.Write(v)
		return nil
	})
	return h.Sum64(), err
}
