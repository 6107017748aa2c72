package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/bell"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// Log is an open event log. Its methods may be called concurrently.
type Log struct {
	backend Backend
	traits  Traits
	bell    bell.Bell
	appends *groupcommit.Committer[Pending]
	acks    *groupcommit.Committer[Mark]
	direct  *kvBackend    // the backend, if it can append without a group
	done    chan struct{} // closed by Close

	closing sync.Once
	err     error // of Close

	mu         sync.Mutex
	refilling  bool           // guarded by mu
	background sync.WaitGroup // of refill
}

// NewLog returns a log over a backend. Programs call Open, or sqllog.Open.
func NewLog(b Backend) *Log {
	l := &Log{backend: b, traits: b.Traits(), done: make(chan struct{})}
	l.appends, l.acks = l.newAppends(), l.newAcks()
	if b, ok := b.(*kvBackend); ok && b.inMemory {
		l.direct = b
	}
	return l
}

// mayWait returns what MayWait of groupcommit.Rules is.
func (l *Log) mayWait() func(context.Context) error {
	if b, ok := l.backend.(*kvBackend); ok {
		return b.db.MayWait
	}
	return nil
}

// Load returns the events of a range of positions in its order, all as of one moment. It holds them
// all in memory: set Limit, or use [Log.All], for a long range.
func (l *Log) Load(ctx context.Context, r Range) ([]Event, error) {
	if err := l.open("load"); err != nil {
		return nil, err
	}
	s, some := r.Span()
	if !some {
		return nil, nil
	}
	return l.backend.Load(ctx, s)
}

// LoadStream returns the events of a range of versions in a stream, in its order and as of one
// moment. A stream that does not exist has none.
func (l *Log) LoadStream(ctx context.Context, stream string, r Range) ([]Event, error) {
	if err := l.streams("load stream", stream); err != nil {
		return nil, err
	}
	s, some := r.Span()
	if !some {
		return nil, nil
	}
	return l.backend.LoadStream(ctx, stream, s)
}

// LastPosition returns the position of the last event, 0 if there is none.
func (l *Log) LastPosition(ctx context.Context) (uint64, error) {
	if err := l.open("last position"); err != nil {
		return 0, err
	}
	return l.backend.LastPosition(ctx)
}

// StreamVersion returns the version of the stream's last event, which is the number of its events;
// 0 if it has none.
func (l *Log) StreamVersion(ctx context.Context, stream string) (uint64, error) {
	if err := l.streams("stream version", stream); err != nil {
		return 0, err
	}
	return l.backend.StreamVersion(ctx, stream)
}

// Streams returns the streams whose name begins with prefix, sorted by name: those whose name is
// above after, at most limit (0 is DefaultBatch). The next ones are above the last that it
// returned.
//
// In a key-value store it costs two seeks for each stream, however many events that has; in SQL it
// reads the index entry of each of their events.
func (l *Log) Streams(ctx context.Context, prefix, after string, limit int) ([]Stream, error) {
	if err := l.indexed("streams"); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = DefaultBatch
	}
	return l.backend.Streams(ctx, prefix, after, limit)
}

// Truncate removes the events below a position, of which there must be an event or one above: the
// last event stays. The positions and versions of those that are left stay as they are, and no
// position is used again; a stream that has no event left keeps its version. Subscriptions that
// have not come that far pass over what is gone.
//
// Many events go in several transactions, the first ones first: if ctx ends, or the program, some
// are gone and some not.
func (l *Log) Truncate(ctx context.Context, d kv.Durability, before uint64) error {
	last, err := l.LastPosition(ctx)
	if err != nil {
		return err
	}
	if before > last {
		return invalid("truncate", fmt.Errorf("position %d is above the last event %d", before, last),
			"keep the last event")
	}
	return l.backend.Truncate(ctx, d, before)
}

// DefaultBatch is how many events [Log.All] reads at a time.
const DefaultBatch = 1000

// Batches returns the events of a range of positions, size at a time (0 is DefaultBatch). Each
// batch is read when it is asked for, so a long walk keeps no snapshot open. It ends at the event
// that is the last when it begins, or begins there if it is in reverse. After an error the walk
// ends.
func (l *Log) Batches(ctx context.Context, r Range, size int) iter.Seq2[[]Event, error] {
	if size <= 0 {
		size = DefaultBatch
	}
	return func(yield func([]Event, error) bool) {
		last, err := l.LastPosition(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		s, _ := r.Span()
		s.To = min(s.To, last)
		for left := s.Limit; left > 0 && s.From <= s.To; {
			s.Limit = min(left, size)
			events, err := l.loadPart(ctx, s)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(events) == 0 || !yield(events, nil) {
				return
			}
			left -= len(events)
			s.goOn(events[len(events)-1].Position)
		}
	}
}

// loadPart is Load for a part of a walk, during which the log may be closed.
func (l *Log) loadPart(ctx context.Context, s Span) ([]Event, error) {
	if err := l.open("load"); err != nil {
		return nil, err
	}
	return l.backend.Load(ctx, s)
}

// goOn makes s what is left of it after the event at position.
func (s *Span) goOn(position uint64) {
	if s.Reverse {
		s.To = position - 1
	} else {
		s.From = position + 1
	}
}

// All returns the events of a range of positions one by one, reading as Batches does.
func (l *Log) All(ctx context.Context, r Range) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for events, err := range l.Batches(ctx, r, 0) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Wait returns when the log has an event above the position after, or ctx ends. It is told of
// appends through this Log at once; where other processes may append too it also looks, every 100
// ms at least.
func (l *Log) Wait(ctx context.Context, after uint64) error {
	pause := time.Millisecond
	for {
		rung := l.bell.Listen()
		last, err := l.LastPosition(ctx)
		if err != nil || last > after {
			return err
		}
		var look <-chan time.Time
		if l.traits.Shared {
			look = time.After(pause)
			pause = min(2*pause, 100*time.Millisecond)
		}
		select {
		case <-rung:
		case <-look:
		case <-l.done:
		case <-ctx.Done():
			return &kv.Error{Op: "wait", Kind: kv.Canceled, Err: ctx.Err()}
		}
	}
}

// Wake has those who wait look at once, because another process, or another Log, has appended. It
// is for backends that are told so.
func (l *Log) Wake() { l.bell.Ring() }

// Close waits for running appends and acknowledgements, and gives back the positions reserved and
// not used, so that the next event follows without a gap. Calls that wait for events, and later
// ones, fail with Closed. It does not close the *kv.DB given to Open: close the log first.
func (l *Log) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		close(l.done)
		l.mu.Unlock()
		l.background.Wait()
		l.appends.Close()
		l.acks.Close()
		l.err = l.backend.Close()
	})
	return l.err
}

// open returns the Closed error if the log is closed.
func (l *Log) open(op string) error {
	select {
	case <-l.done:
		return &kv.Error{Op: op, Kind: kv.Closed, Err: errors.New("the log is closed")}
	default:
		return nil
	}
}

// indexed returns the error for a call that needs the index of streams.
func (l *Log) indexed(op string) error {
	if err := l.open(op); err != nil {
		return err
	}
	if !l.traits.Streams {
		return &kv.Error{Op: op, Kind: kv.Unsupported, Err: errors.New("the log keeps no index of streams"),
			Hint: "make the log with Options.Streams"}
	}
	return nil
}

// streams returns the error for a call that needs a named stream and the index of streams.
func (l *Log) streams(op, stream string) error {
	if err := l.indexed(op); err != nil {
		return err
	}
	if stream == "" {
		return invalid(op, errors.New("no stream named"), "give the name that the events were appended under")
	}
	return checkName(op, "stream", stream)
}
