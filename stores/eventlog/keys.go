package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/assaydb/assay/kv"
)

// The keys and values of a log in a key-value store. Numbers are 8 bytes, big-endian; a name is as
// kv.AppendString writes it.
//
//	'e' position         -> the event's envelope
//	's' stream version   -> position, with Options.Streams
//	'b' subscription     -> position, acknowledged; the name is the rest of the key as it is
//	'i' generation id    -> position, version of the stream, 4 bytes of checksum; the id is the rest of the key
//	'i'                  -> the generation of the next id, and how many are in it
//	'l' subscription     -> when its lease ends, in ms since 1970, and by whom it is held; the name is as it is
//	'p' subscription position -> why that event is parked; the name is as kv.AppendString writes it
//	'm'                  -> meta, as JSON
//	'm' 't'              -> position: events below it may be gone
const (
	eventPrefix    = 'e'
	streamPrefix   = 's'
	bookmarkPrefix = 'b'
	idPrefix       = 'i'
	leasePrefix    = 'l'
	parkedPrefix   = 'p'
	metaPrefix     = 'm'
)

var (
	metaKey   = []byte{metaPrefix}
	allEvents = kv.Range{Start: []byte{eventPrefix}, End: []byte{eventPrefix + 1}}
)

func appendEventKey(key []byte, position uint64) []byte {
	return kv.AppendUint64(append(key, eventPrefix), position)
}

func appendStreamKey(key []byte, stream string, version uint64) []byte {
	return kv.AppendUint64(appendStreamPrefix(key, stream), version)
}

func appendStreamPrefix(key []byte, stream string) []byte {
	return kv.AppendString(append(key, streamPrefix), stream)
}

func bookmarkKey(name string) []byte { return append([]byte{bookmarkPrefix}, name...) }

func parkedKey(name string, position uint64) []byte {
	return kv.AppendUint64(parkedBefore(name), position)
}

// parkedBefore returns what the keys of all events that a subscription parked begin with.
func parkedBefore(name string) []byte { return kv.AppendString([]byte{parkedPrefix}, name) }

// number reads the value of an index or bookmark.
func number(key, value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, corrupt(fmt.Errorf("key %q: %d bytes instead of a position", key, len(value)))
	}
	return binary.BigEndian.Uint64(value), nil
}

// format is the version of this layout. What has the one before is read, and gets this one with the
// next event.
const (
	format        = 3
	formatOfLines = 2 // heads of events are lines of JSON
)

// meta describes a log as a whole. It is written with the first event.
type meta struct {
	Format   int    `json:"format"`
	Streams  bool   `json:"streams"`
	Floor    uint64 `json:"floor"`    // positions up to it are used, lost or skipped
	Reserved uint64 `json:"reserved"` // positions up to it may have been given to events that a crash can lose

	// Again is random, and another one after an append that had been done before. That is then as
	// durable as it is asked to be: a commit makes durable what was before it, if it changes
	// something. SQLite: what is written as it was is not written.
	Again uint64 `json:"again,omitempty"`
}

// again returns m with another Again.
func (m meta) again() meta {
	m.Again = rand.Uint64()
	return m
}

// readMeta returns the log's meta. It is to be written if its Format is not the present one, and is
// 0 before the first event.
func readMeta(s *kv.Snapshot, streams bool) (m meta, err error) {
	m, err = storedMeta(s)
	if err == nil && m.Format == 0 {
		m.Streams = streams
	}
	if err == nil && m.Streams != streams {
		err = OptionMismatch(m.Streams)
	}
	return m, err
}

// storedMeta returns what is stored, whatever Options.Streams is.
func storedMeta(s *kv.Snapshot) (m meta, err error) {
	value, err := s.Get(metaKey)
	if errors.Is(err, kv.NotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(value, &m); err != nil {
		return m, corrupt(fmt.Errorf("meta: %w", err))
	}
	if m.Format != format && m.Format != formatOfLines {
		return m, &kv.Error{Op: "open log", Kind: kv.Unsupported,
			Err:  fmt.Errorf("format %d, this program knows %d", m.Format, format),
			Hint: "use a newer program"}
	}
	return m, nil
}

// OptionMismatch is the error of opening a log whose Options.Streams is the other one. It is for
// backends.
func OptionMismatch(stored any) error {
	return invalid("open log", fmt.Errorf("the log was begun with Options.Streams %v", stored), "open it with the same")
}

func (m meta) encode() []byte {
	m.Format = format
	value, err := json.Marshal(m)
	if err != nil {
		panic(err) // numbers and a boolean
	}
	return value
}

func corrupt(err error) error { return &kv.Error{Op: "read log", Kind: kv.Corrupt, Err: err} }
