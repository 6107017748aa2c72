package bare

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// The sizes of the workloads.
const (
	records   = 10_000 // of put and get
	valueSize = 100
	loaded    = 1000 // events of read100
	batch     = 1000 // pairs in a commit of loading
)

// Operations are the names of what can be measured. put and get are ycsb's fillseq and readrandom,
// append1 and read100 those of events, without the event log's own bookkeeping.
var Operations = []string{"put", "get", "append1", "read100"}

// Loaded returns a store that holds what an operation finds in it. It was closed and opened again,
// as a program finds it: what is in Pebble's memory is slower in its tables.
func Loaded(op string, open func(path string) (Engine, error), path string) (Engine, error) {
	e, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(op, e), e.Close()); err != nil {
		return nil, err
	}
	return open(path)
}

func fill(op string, e Engine) error {
	switch op {
	case "put":
		return load(e, records, func(i int) pair { return pair{ascending(i), value(i)} })
	case "get":
		return load(e, records, func(i int) pair { return pair{scattered(i), value(i)} })
	case "read100":
		return load(e, loaded, func(i int) pair { return pair{eventKey(i + 1), eventValue(i + 1)} })
	}
	return nil
}

// Operation returns what is measured: one operation on the store that Loaded returned. It checks
// what it reads.
func Operation(op string, e Engine) (func() error, error) {
	i := 0
	switch op {
	case "put":
		i = records
		return func() error {
			i++
			return e.put([]pair{{ascending(i), value(i)}})
		}, nil
	case "get":
		return func() error {
			i := rand.IntN(records)
			v, err := e.get(scattered(i))
			if err == nil && (len(v) != valueSize || binary.LittleEndian.Uint64(v) != uint64(i)) {
				err = fmt.Errorf("record %d: wrong value", i)
			}
			return err
		}, nil
	case "append1":
		return func() error {
			i++
			return e.put([]pair{{eventKey(i), eventValue(i)}})
		}, nil
	case "read100":
		return func() error {
			events, err := read100(e)
			if err == nil && (len(events) != 100 || events[99].position != 100) {
				err = fmt.Errorf("%d events", len(events))
			}
			return err
		}, nil
	}
	return nil, fmt.Errorf("no operation %q", op)
}

// load puts n pairs.
func load(e Engine, n int, make func(i int) pair) error {
	var pairs []pair
	for i := range n {
		if pairs = append(pairs, make(i)); len(pairs) == batch || i == n-1 {
			if err := e.put(pairs); err != nil {
				return err
			}
			pairs = pairs[:0]
		}
	}
	return nil
}

func ascending(i int) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(i)), mixed(uint64(i)))
}

func scattered(i int) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, mixed(uint64(i))), uint64(i))
}

// mixed is the finalizer of splitmix64.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// value returns bytes that do not compress.
func value(i int) []byte {
	v := binary.LittleEndian.AppendUint64(nil, uint64(i))
	for x := uint64(i); len(v) < valueSize; x++ {
		v = binary.LittleEndian.AppendUint64(v, mixed(x<<32+uint64(len(v))))
	}
	return v[:valueSize]
}

// An event is a time, a type and data.
type event struct {
	position uint64
	kind     string
	at       time.Time
	data     []byte
}

func eventKey(position int) []byte {
	return binary.BigEndian.AppendUint64([]byte{'e'}, uint64(position))
}

const kind = "BenchEvent"

// eventValue is the envelope that docs/formats.md describes: no flags, the time, the type and the
// data.
func eventValue(position int) []byte {
	at := time.Unix(1_700_000_000, 0).Add(time.Duration(position) * (time.Millisecond + time.Nanosecond))
	v := binary.BigEndian.AppendUint64([]byte{0}, uint64(at.UnixNano()))
	v = append(binary.AppendUvarint(v, uint64(len(kind))), kind...)
	v = append(v, `{"index": `...)
	return append(strconv.AppendInt(v, int64(position), 10), '}')
}

// read100 scans and decodes the first 100 events.
func read100(e Engine) (events []event, err error) {
	events = make([]event, 0, 100)
	err = e.scan(eventKey(1), eventKey(101), func(k, v []byte) error {
		one, err := decode(k, v)
		events = append(events, one)
		return err
	})
	return events, err
}

func decode(k, v []byte) (e event, err error) {
	if len(k) != 9 || len(v) < 9 || v[0] != 0 {
		return e, fmt.Errorf("event %q", v)
	}
	e.position = binary.BigEndian.Uint64(k[1:])
	e.at = time.Unix(0, int64(binary.BigEndian.Uint64(v[1:]))).UTC()
	n, size := binary.Uvarint(v[9:])
	rest := v[9+max(size, 0):]
	if size <= 0 || uint64(len(rest)) < n {
		return e, fmt.Errorf("event %q", v)
	}
	e.kind, e.data = string(rest[:n]), bytes.Clone(rest[n:])
	return e, nil
}
