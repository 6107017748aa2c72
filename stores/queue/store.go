package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/calls"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// Store is an open store of queues. Its methods, and those of its queues, may be called
// concurrently.
type Store struct {
	backend Backend
	options Options
	traits  Traits
	peers   *peers        // of a store over kv; else nil
	done    chan struct{} // closed by Close

	requests *groupcommit.Committer[request]
	group    []*Op     // of commit
	guests   []*waiter // of commit

	reads calls.Counter
	mu    sync.Mutex
	lines map[string]*line // of the queues that were asked for, by name

	closing sync.Once
	err     error // of Close
}

// NewStore returns a store over a backend. Programs call New, or sqlqueue.Open.
func NewStore(b Backend, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Store{backend: b, options: o, traits: b.Traits(), done: make(chan struct{}), lines: map[string]*line{}}
	s.requests = s.newGroup()
	return s, nil
}

// Queue returns the queue called name, which need not exist: it begins with its first job. Queues
// of one name are one queue; settings are those of the value that is used.
func (s *Store) Queue(name string, settings *Settings) (*Queue, error) {
	var set Settings
	if settings != nil {
		set = *settings
	}
	if err := errors.Join(checkName(name), set.complete()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lines[name]
	if !ok {
		l = &line{store: s}
		s.lines[name] = l
	}
	return &Queue{store: s, name: name, settings: set, line: l}, nil
}

// Queues returns the names of all queues that ever had a job, sorted.
func (s *Store) Queues(ctx context.Context) (names []string, err error) {
	err = s.read("queues", func() error {
		names, err = s.backend.Queues(ctx)
		return err
	})
	return names, err
}

// Close waits for running calls. Workers that wait, and later calls, fail with Closed. Claims stay
// as they are: another Store can acknowledge them. It does not close the *kv.DB given to New: close
// the store first.
func (s *Store) Close() error {
	s.closing.Do(s.end)
	return s.err
}

func (s *Store) end() {
	close(s.done)
	s.requests.Close()
	s.reads.Close()
	s.mu.Lock()
	for _, l := range s.lines {
		l.stop()
	}
	s.mu.Unlock()
	s.peers.leave(s)
	s.err = s.backend.Close() // which may wait for one who is in Wake
}

// read runs fn unless the store is closed, which waits for it.
func (s *Store) read(op string, fn func() error) error {
	if !s.reads.Enter() {
		return errClosed(op)
	}
	defer s.reads.Leave()
	return fn()
}

// now returns the time in milliseconds since 1970.
func (s *Store) now() int64 { return s.options.Clock().UnixMilli() }

func errClosed(op string) error {
	return &kv.Error{Op: op, Kind: kv.Closed, Err: errors.New("the store of queues is closed")}
}

func canceled(op string, ctx context.Context) error {
	return &kv.Error{Op: op, Kind: kv.Canceled, Err: ctx.Err()}
}

// Millis returns a time that a backend keeps, in milliseconds since 1970, as users see it. It is
// for backends.
func Millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
