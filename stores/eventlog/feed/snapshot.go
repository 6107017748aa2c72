package feed

import (
	"errors"
	"fmt"
	"iter"

	"github.com/assaydb/assay/kv"
)

// Snapshot is a fixed state of a feed. It lives as long as the function that it was given to, is
// used by one goroutine at a time, and must not be kept: afterwards every method fails with Closed.
type Snapshot struct {
	r   Reader
	err error // the first error of a scan
}

// Len returns the number of messages.
func (s *Snapshot) Len() uint64 {
	if s.r == nil {
		return 0
	}
	return s.r.Len()
}

// First returns the sequence of the first message that was not trimmed, which is Len if all were: 0
// unless [Feed.Trim] was called.
func (s *Snapshot) First() uint64 {
	if t, ok := s.r.(interface{ First() uint64 }); ok {
		return t.First()
	}
	return 0
}

// Get returns a copy of the message with a sequence. One that is not there, was erased or trimmed
// is NotFound.
func (s *Snapshot) Get(seq uint64) ([]byte, error) {
	message, err := s.Append(nil, seq)
	if message == nil && err == nil {
		message = []byte{}
	}
	return message, err
}

// Append appends the message with a sequence to dst and returns the extended slice. One that is not
// there, or was erased, returns dst and NotFound.
func (s *Snapshot) Append(dst []byte, seq uint64) ([]byte, error) {
	if s.r == nil {
		return dst, errEnded("get")
	}
	if n := s.r.Len(); seq >= n {
		return dst, &kv.Error{Op: "get", Kind: kv.NotFound, Err: fmt.Errorf("message %d of %d", seq, n)}
	}
	if first := s.First(); seq < first {
		return dst, trimmed(seq, first)
	}
	return s.r.Append(dst, seq)
}

// Scan returns the messages from one sequence up to, not including, another, in order. A message is
// borrowed until the next step: copy what is kept, change nothing. One that was erased is nil. What
// was trimmed, or lies above the end, is passed over. A scan that fails ends early, and View then
// returns its error even if the function returned nil; Err tells it earlier.
func (s *Snapshot) Scan(from, to uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		if s.r == nil {
			s.fail(errEnded("scan"))
			return
		}
		if to = min(to, s.r.Len()); from < to {
			s.fail(s.r.Scan(from, to, yield))
		}
	}
}

// Err returns the first error that ended a scan of this snapshot early, or nil.
func (s *Snapshot) Err() error { return s.err }

func (s *Snapshot) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func errEnded(op string) error {
	return &kv.Error{Op: op, Kind: kv.Closed, Err: errors.New("the view has ended"),
		Hint: "use a snapshot only inside the function it was given to"}
}
