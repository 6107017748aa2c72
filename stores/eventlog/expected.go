package eventlog

import (
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Expected is what an append requires of the log. The zero Expected is [Any].
type Expected struct {
	kind expectation
	n    uint64
}

type expectation uint8

const (
	anything expectation = iota
	streamAt
	logAt
)

// Any expects nothing: an append with it succeeds whatever the log holds.
var Any = Expected{}

// Empty expects that the stream has no event.
var Empty = Expected{kind: streamAt}

// Version expects that the stream's last event has the version n, which is the number of its
// events.
func Version(n uint64) Expected { return Expected{streamAt, n} }

// Position expects that the last event of the whole log has the position n; 0 expects an empty log.
func Position(n uint64) Expected { return Expected{logAt, n} }

// OfStream reports whether e is about the stream's version.
func (e Expected) OfStream() bool { return e.kind == streamAt }

// Check returns the Conflict if the log's last position or the stream's version is not as e
// expects.
func (e Expected) Check(stream string, last, version uint64) error {
	actual := last
	switch {
	case e.kind == anything, e.kind == streamAt && version == e.n, e.kind == logAt && last == e.n:
		return nil
	case e.kind == streamAt:
		actual = version
	}
	return &kv.Error{Op: "append", Kind: kv.Conflict, Hint: "load the events appended since, decide again, and append again",
		Err: &ConflictError{Stream: stream, Expected: e, Actual: actual}}
}

func (e Expected) String() string {
	switch e.kind {
	case streamAt:
		return fmt.Sprintf("version %d", e.n)
	case logAt:
		return fmt.Sprintf("position %d", e.n)
	}
	return "any"
}

// ConflictError is the cause in a Conflict: use errors.As to learn the actual version.
type ConflictError struct {
	Stream   string
	Expected Expected
	Actual   uint64 // the stream's version, or the log's last position if that was expected
}

func (e *ConflictError) Error() string {
	if e.Expected.kind == logAt {
		return fmt.Sprintf("the log is at %d, expected %v", e.Actual, e.Expected)
	}
	return fmt.Sprintf("stream %q is at %d, expected %v", e.Stream, e.Actual, e.Expected)
}
