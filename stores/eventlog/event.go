package eventlog

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// Event is one event as it was stored. Its Data belongs to the caller; the events of one call may
// share memory behind it.
type Event struct {
	Position uint64    // in the log, from 1
	Stream   string    // the stream it belongs to, or ""
	Version  uint64    // its number within the stream, from 1; 0 without a stream or without Options.Streams
	Type     string    // what happened: "OrderPaid"
	Data     []byte    // exactly the bytes appended; nil if there were none
	Time     time.Time // in UTC, to the nanosecond
	ID       string    // as it was appended with, "" for none
	Meta     map[string]string
}

// Draft is an event to append.
type Draft struct {
	Type string    // valid UTF-8; an empty one is Invalid
	Data []byte    // usually JSON, but any bytes are stored and come back unchanged
	Time time.Time // when it happened; the zero Time is now. Years 1678 to 2261.

	// ID makes an append that is tried again one append; "" is none, and it is at most MaxID bytes
	// of valid UTF-8. If all events of an append are in the log under their IDs, it appends nothing
	// and returns where they are, whatever was expected; if some are, or are other events, that is
	// a Conflict. An ID is remembered until the log has grown by Remembered events at least, and by
	// twice as many at most. Each costs a read, and a pair that is deleted afterwards.
	ID string

	// Meta is whatever else is to be known of the event: who caused it, what it belongs to. Valid
	// UTF-8, and keys and values of an event at most MaxMeta bytes together.
	Meta map[string]string
}

const (
	MaxID      = 255      // bytes of the longest Draft.ID
	MaxMeta    = 64 << 10 // bytes of the keys and values in Draft.Meta
	Remembered = 1 << 16  // for so many events, at least, an ID is remembered
)

// Appended says where the events of one append are. It is zero if there were none.
type Appended struct {
	First, Last uint64 // positions
	Version     uint64 // of the stream after the append; 0 without a stream or without Options.Streams
}

// Range selects events by position, or by version within a stream. The zero Range is everything;
// [Range.To] ends it.
//
//	eventlog.Range{From: 5}                        // from 5 to the end
//	eventlog.Range{From: 5}.To(9)                  // five of them
//	eventlog.Range{Reverse: true, Limit: 10}       // the last ten, the newest first
//	eventlog.Range{Reverse: true, Limit: 1}.To(9)  // the newest that is not above 9
type Range struct {
	From    uint64 // the first, inclusive; 0 is 1
	Limit   int    // at most so many; 0 is no limit, and below it nothing is selected
	Reverse bool   // from the last to the first

	ends bool
	last uint64
}

// To returns r with last as its last event, inclusive. Nothing is up to 0, so that what ends at the
// last event of an empty log is empty, too.
func (r Range) To(last uint64) Range {
	r.ends, r.last = true, last
	return r
}

// Span is a Range with all its bounds: 1 <= From <= To, which is at most the largest int64, and 1
// <= Limit.
type Span struct {
	From, To uint64
	Limit    int
	Reverse  bool
}

// Span returns r with all its bounds, and whether any event can be in it. It is for backends.
func (r Range) Span() (s Span, some bool) {
	s = Span{From: max(r.From, 1), To: math.MaxInt64, Limit: r.Limit, Reverse: r.Reverse}
	if r.ends {
		s.To = min(r.last, s.To)
	}
	if s.Limit == 0 {
		s.Limit = math.MaxInt
	}
	return s, s.From <= s.To && s.Limit > 0
}

// MaxName is the length in bytes of the longest name of a stream or subscription.
const MaxName = 1024

var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// Between these seconds a time is between firstTime and lastTime, which takes longer to see.
const (
	firstSecond = math.MinInt64 / 1_000_000_000
	lastSecond  = math.MaxInt64 / 1_000_000_000
)

// checkDraft refuses a draft that is wrong, or that happened at a wrong time. The type checked
// before is right.
func checkDraft(d *Draft, t time.Time, before string) error {
	second := t.Unix()
	switch {
	case d.Type == "":
		return invalid("append", errors.New("event without a type"), "set Draft.Type to what happened")
	case d.Type != before && !utf8.ValidString(d.Type):
		return invalid("append", fmt.Errorf("type %q is not valid UTF-8", d.Type), "")
	case (second <= firstSecond || second >= lastSecond) && (t.Before(firstTime) || t.After(lastTime)):
		return invalid("append", fmt.Errorf("time %v is out of range", t), "use a time from 1678 to 2261")
	case d.ID == "" && len(d.Meta) == 0:
		return nil
	case len(d.ID) > MaxID:
		return tooLarge("append", fmt.Errorf("id of %d bytes, at most %d", len(d.ID), MaxID))
	case !utf8.ValidString(d.ID):
		return invalid("append", fmt.Errorf("id %q is not valid UTF-8", d.ID), "")
	}
	size := 0
	for k, v := range d.Meta {
		if size += len(k) + len(v); !utf8.ValidString(k) || !utf8.ValidString(v) {
			return invalid("append", fmt.Errorf("meta %q: %q is not valid UTF-8", k, v), "")
		}
	}
	if size > MaxMeta {
		return tooLarge("append", fmt.Errorf("meta of %d bytes, at most %d", size, MaxMeta))
	}
	return nil
}

func tooLarge(op string, err error) error { return &kv.Error{Op: op, Kind: kv.TooLarge, Err: err} }

func checkName(op, what, name string) error {
	if len(name) > MaxName {
		return tooLarge(op, fmt.Errorf("%s name of %d bytes, at most %d", what, len(name), MaxName))
	}
	if !utf8.ValidString(name) {
		return invalid(op, fmt.Errorf("%s name %q is not valid UTF-8", what, name), "")
	}
	return nil
}

func invalid(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Invalid, Err: err, Hint: hint}
}
