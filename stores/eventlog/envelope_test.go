package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// The text of an envelope is a format on disk: it must not change.
func TestEnvelopeText(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.FixedZone("", 7200))
	for _, c := range []struct {
		name     string
		position uint64
		version  uint64
		stream   string
		draft    Draft
		want     string
	}{
		{"the data follows the head", 7, 0, "", Draft{Type: "BenchEvent", Data: []byte(`{"index": 7}`), Time: at},
			`{"position":7,"type":"BenchEvent","time":"2026-01-02T01:04:05.600000000Z"}` + "\n" + `{"index": 7}`},
		{"a stream has a name and a version", 8, 2, "order-17", Draft{Type: "Paid", Data: []byte(`1`), Time: at.Truncate(time.Second)},
			`{"position":8,"version":2,"stream":"order-17","type":"Paid","time":"2026-01-02T01:04:05.000000000Z"}` + "\n1"},
		{"any bytes are data", 9, 0, "", Draft{Type: "T", Data: []byte("\xff\n\x00"), Time: at.Add(1)},
			`{"position":9,"type":"T","time":"2026-01-02T01:04:05.600000001Z"}` + "\n\xff\n\x00"},
		{"no data is nothing", 11, 0, "", Draft{Type: "\"\n", Time: at},
			`{"position":11,"type":"\"\n","time":"2026-01-02T01:04:05.600000000Z"}` + "\n"},
	} {
		var e encoder
		if got, err := e.append(nil, c.position, c.version, c.stream, &c.draft, c.draft.Time); err != nil || string(got) != c.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// An encoder keeps text of the event before: that must never show.
func TestEncodersWriteWhatNewOnesWrite(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	pick := func(all ...string) string { return all[rnd.IntN(len(all))] }
	var one encoder
	position := uint64(0)
	at := time.Unix(1_700_000_000, 0)
	for range 3000 {
		position++
		switch rnd.IntN(20) {
		case 0:
			position = rnd.Uint64N(1 << uint(1+rnd.IntN(62)))
		case 1:
			position = []uint64{9, 99, 109, 999, 1099, 9_999_999}[rnd.IntN(6)]
		}
		if rnd.IntN(3) > 0 {
			at = at.Add(time.Duration(rnd.Int64N(int64(1) << uint(1+rnd.IntN(32)))))
		}
		if rnd.IntN(10) == 0 {
			at = at.Truncate(time.Millisecond)
		}
		stream := pick("", "s", "order-17", `a"`, `a\"`, "\x01")
		draft := Draft{Type: pick("T", "U", `a"`, `a\"`, "Té", "Paid"), Data: []byte(pick("", `{"a":1}`, "é", `"é"`, "\xff")), Time: at}
		version := rnd.Uint64N(3)
		var fresh encoder
		event := eventOf(position, version, stream, draft)
		got, err1 := one.append(nil, position, version, stream, &draft, at)
		want, err2 := fresh.append(nil, position, version, stream, &draft, at)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		var d decoder
		if err := d.add(position, got); err != nil || !bytes.Equal(got, want) || !reflect.DeepEqual(d.events[0], event) {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

// eventOf is what a draft is read as.
func eventOf(position, version uint64, stream string, d Draft) Event {
	e := Event{Position: position, Version: version, Stream: stream, Type: d.Type, Data: d.Data, Time: d.Time.UTC()}
	if len(d.Data) == 0 {
		e.Data = nil
	}
	return e
}

// What was checked for the event before is not taken for checked where it is not.
func TestEncodersRefuseTheFirstTimeOutOfRange(t *testing.T) {
	for _, c := range []struct{ in, out time.Time }{{firstTime, firstTime.Add(-1)}, {lastTime, lastTime.Add(1)}} {
		var e encoder
		draft := Draft{Type: "T"}
		if _, err := e.append(nil, 1, 0, "", &draft, c.in); err != nil {
			t.Errorf("%v: %v", c.in, err)
		}
		if text, err := e.append(nil, 2, 0, "", &draft, c.out); kv.KindOf(err) != kv.Invalid {
			t.Errorf("%v: got %s, %v, want Invalid", c.out, text, err)
		}
	}
}

func TestNineDigits(t *testing.T) {
	check := func(n uint32) {
		first, rest := nineDigits(n)
		if got := binary.LittleEndian.AppendUint64([]byte{first}, rest); string(got) != fmt.Sprintf("%09d", n) {
			t.Errorf("got %s, want %09d", got, n)
		}
	}
	for n := range uint32(10_000) { // each half of each half
		check(n)
		check(n * 10_000)
		check(n*100_000 + 99_999)
	}
	for range 100_000 {
		check(rand.Uint32N(1_000_000_000))
	}
}

func TestEnvelopesOfOthers(t *testing.T) {
	want := Event{Position: 7, Version: 1, Stream: "s", Type: "Té", Data: []byte(`{"a": 1}`), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, c := range []struct{ name, text string }{
		{"in another order", `{"time":"2026-01-02T03:04:05Z","type":"Té","stream":"s","version":1,"position":7}`},
		{"with white space", `{ "position": 7, "version": 1, "stream": "s", "type": "Té", "time": "2026-01-02T03:04:05Z" }`},
		{"with escapes", `{"position":7,"version":1,"stream":"\u0073","type":"T\u00e9","time":"2026-01-02T03:04:05Z"}`},
		{"with another time zone", `{"position":7,"version":1,"stream":"s","type":"Té","time":"2026-01-02T05:04:05+02:00"}`},
		{"with members of a later version", `{"position":7,"version":1,"stream":"s","type":"Té","new":[1,{}],"time":"2026-01-02T03:04:05Z"}`},
	} {
		var d decoder
		if err := d.add(7, []byte(c.text+"\n{\"a\": 1}")); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !reflect.DeepEqual(d.events[0], want) {
			t.Errorf("%s: got %+v, want %+v", c.name, d.events[0], want)
		}
	}
}

func TestDamagedEnvelopes(t *testing.T) {
	for _, text := range []string{``, "\n", `{"position":7}`, "{\n", "{}\n", "[]\n", "null\n", "{\"position\":7\n", "{\"position\":8}\n", "{\"position\":-7}\n",
		"{\"position\":7}x\n", "{\"position\":7,}\n", "{\"position\":\"7\"}\n", "{\"position\":7,\"time\":\"yesterday\"}\n", "{\"position\":\n7}"} {
		var d decoder
		if err := d.add(7, []byte(text)); err == nil {
			t.Errorf("%q was read as %+v, want corrupt", text, d.events[0])
		}
	}
}

// FuzzEnvelope writes an envelope and reads it back, by hand and with encoding/json.
func FuzzEnvelope(f *testing.F) {
	f.Add("s", "T", []byte(`{"a":1}`), int64(1))
	f.Add("", "\x00\"", []byte{0xff}, int64(-1))
	f.Fuzz(func(t *testing.T, stream, kind string, data []byte, nanos int64) {
		if !utf8.ValidString(stream) || !utf8.ValidString(kind) {
			return
		}
		var c encoder
		draft := Draft{Type: kind, Data: data, Time: time.Unix(0, nanos)}
		want := eventOf(5, 3, stream, draft)
		text, err := c.append(nil, 5, 3, stream, &draft, draft.Time)
		if err != nil {
			if kind != "" {
				t.Errorf("%q: %v", kind, err)
			}
			return
		}
		end := bytes.IndexByte(text, '\n')
		if !json.Valid(text[:end]) || !utf8.Valid(text[:end]) {
			t.Fatalf("not JSON: %q", text[:end])
		}
		var d decoder
		var fast, slow Event
		if !d.decode(&fast, text[:end]) && !strings.ContainsAny(stream+kind, "\\\"") && !hasControl(stream+kind) {
			t.Errorf("%q takes the slow way", text)
		}
		if err := slow.decodeSlowly(text[:end]); err != nil || slow.Type != kind || slow.Stream != stream {
			t.Errorf("%q: got %+v, %v, want %+v", text, slow, err, want)
		}
		if err := d.add(5, text); err != nil || !reflect.DeepEqual(d.events[0], want) {
			t.Errorf("%q: got %+v, %v, want %+v", text, d.events, err, want)
		}
	})
}

func hasControl(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) }

// FuzzDecode checks that the fast way never reads an envelope differently than encoding/json.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"position":7,"version":1,"stream":"s","type":"T","time":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"position":7,"position":8,"type":"T\u00e9"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d decoder
		var fast, slow Event
		if !utf8.Valid(text) || !d.decode(&fast, text) {
			return
		}
		if err := slow.decodeSlowly(text); err != nil || !reflect.DeepEqual(fast, slow) {
			t.Errorf("%q: got %+v, encoding/json reads %+v, %v", text, fast, slow, err)
		}
	})
}
