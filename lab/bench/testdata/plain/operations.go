package main

import (
	"bytes"
	"context"
	"encoding/binary"
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

// operation loads the store, and returns what is measured.
func operation(op string, e engine) (func(context.Context) error, error) {
	i := 0
	switch op {
	case "put":
		i = records
		return func(context.Context) error {
			i++
			return e.put([]pair{{ascending(i), value(i)}})
		}, load(e, records, func(i int) pair { return pair{ascending(i), value(i)} })
	case "get":
		return func(context.Context) error {
			i := rand.IntN(records)
			v, err := e.get(scattered(i))
			if err == nil && (len(v) != valueSize || binary.LittleEndian.Uint64(v) != uint64(i)) {
				err = fmt.Errorf("record %d: wrong value", i)
			}
			return err
		}, load(e, records, func(i int) pair { return pair{scattered(i), value(i)} })
	case "append1":
		return func(context.Context) error {
			i++
			return e.put([]pair{{eventKey(i), eventValue(i)}})
		}, nil
	case "read100":
		return func(context.Context) error {
			events, err := read100(e)
			if err == nil && (len(events) != 100 || events[99].position != 100) {
				err = fmt.Errorf("%d events", len(events))
			}
			return err
		}, load(e, loaded, func(i int) pair { return pair{eventKey(i + 1), eventValue(i + 1)} })
	}
	return nil, fmt.Errorf("no operation %q", op)
}

// load puts n pairs.
func load(e engine, n int, make func(i int) pair) error {
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

// An event is a line of JSON, and data behind it.
type event struct {
	position uint64
	kind     string
	at       time.Time
	data     []byte
}

func eventKey(position int) []byte {
	return binary.BigEndian.AppendUint64([]byte{'e'}, uint64(position))
}

func eventValue(position int) []byte {
	v := append([]byte(`{"position":`), strconv.Itoa(position)...)
	v = append(v, `,"type":"BenchEvent","time":"`...)
	at := time.Unix(1_700_000_000, 0).UTC().Add(time.Duration(position) * (time.Millisecond + time.Nanosecond))
	v = at.AppendFormat(v, "2006-01-02T15:04:05.000000000Z07:00")
	v = append(v, `"}`+"\n"+`{"index": `...)
	return append(strconv.AppendInt(v, int64(position), 10), '}')
}

// read100 scans and decodes the first 100 events.
func read100(e engine) (events []event, err error) {
	events = make([]event, 0, 100)
	err = e.scan(eventKey(1), eventKey(101), func(_, v []byte) error {
		one, err := decode(v)
		events = append(events, one)
		return err
	})
	return events, err
}

func decode(v []byte) (e event, err error) {
	line, data, ok := bytes.Cut(v, []byte{'\n'})
	number, rest, ok2 := bytes.Cut(bytes.TrimPrefix(line, []byte(`{"position":`)), []byte(`,"type":"`))
	kind, rest, ok3 := bytes.Cut(rest, []byte(`","time":"`))
	if !ok || !ok2 || !ok3 {
		return e, fmt.Errorf("event %q", v)
	}
	if e.position, err = strconv.ParseUint(string(number), 10, 64); err != nil {
		return e, err
	}
	e.kind, e.data = string(kind), bytes.Clone(data)
	return e, e.at.UnmarshalText(bytes.TrimSuffix(rest, []byte(`"}`)))
}
