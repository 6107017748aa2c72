package eventlog

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
		{"JSON stands as it is", 7, 0, "", Draft{Type: "BenchEvent", Data: []byte(`{"index": 7}`), Time: at},
			`{"position":7,"type":"BenchEvent","data":{"index": 7},"time":"2026-01-02T01:04:05.6Z"}`},
		{"a stream has a name and a version", 8, 2, "order-17", Draft{Type: "Paid", Data: []byte(`1`), Time: at.Truncate(time.Second)},
			`{"position":8,"version":2,"stream":"order-17","type":"Paid","data":1,"time":"2026-01-02T01:04:05Z"}`},
		{"other bytes are in base64", 9, 0, "", Draft{Type: "T", Data: []byte("\xff\x00"), Time: at.Add(1)},
			`{"position":9,"type":"T","base64":"/wA=","time":"2026-01-02T01:04:05.600000001Z"}`},
		{"JSON with white space around it too", 10, 0, "", Draft{Type: "T", Data: []byte(` 1`), Time: at},
			`{"position":10,"type":"T","base64":"IDE=","time":"2026-01-02T01:04:05.6Z"}`},
		{"no data is left out", 11, 0, "", Draft{Type: `"`, Time: at},
			`{"position":11,"type":"\"","time":"2026-01-02T01:04:05.6Z"}`},
	} {
		var e encoder
		if got := string(e.append(nil, c.position, c.version, c.stream, &c.draft)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
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
		got, want := one.append(nil, position, version, stream, &draft), fresh.append(nil, position, version, stream, &draft)
		var e envelope
		if err := json.Unmarshal(got, &e); err != nil || !bytes.Equal(got, want) || e.Position != position || !e.Time.Equal(at) || e.Type != draft.Type {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestEnvelopesOfOthers(t *testing.T) {
	want := Event{Position: 7, Version: 1, Stream: "s", Type: "Té", Data: []byte(`{"a": 1}`), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, c := range []struct{ name, text string }{
		{"in another order", `{"time":"2026-01-02T03:04:05Z","data":{"a": 1},"type":"Té","stream":"s","version":1,"position":7}`},
		{"with white space", `{ "position": 7, "version": 1, "stream": "s", "type": "Té", "data": {"a": 1}, "time": "2026-01-02T03:04:05Z" }`},
		{"with escapes", `{"position":7,"version":1,"stream":"\u0073","type":"T\u00e9","data":{"a": 1},"time":"2026-01-02T03:04:05Z"}`},
		{"with another time zone", `{"position":7,"version":1,"stream":"s","type":"Té","data":{"a": 1},"time":"2026-01-02T05:04:05+02:00"}`},
		{"with members of a later version", `{"position":7,"version":1,"stream":"s","type":"Té","new":[1,{}],"data":{"a": 1},"time":"2026-01-02T03:04:05Z"}`},
	} {
		var d decoder
		if err := d.add(7, []byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !reflect.DeepEqual(d.events[0], want) {
			t.Errorf("%s: got %+v, want %+v", c.name, d.events[0], want)
		}
	}
}

func TestDamagedEnvelopes(t *testing.T) {
	for _, text := range []string{``, `{`, `{}`, `[]`, `null`, `{"position":7`, `{"position":8}`, `{"position":-7}`, `{"position":7}x`,
		`{"position":7,}`, `{"position":"7"}`, `{"position":7,"base64":"?"}`, `{"position":7,"time":"yesterday"}`, `{"position":7,"data":{}`} {
		var d decoder
		if err := d.add(7, []byte(text)); err == nil {
			t.Errorf("%q was read as %+v, want corrupt", text, d.events[0])
		}
	}
}

// FuzzScanJSON compares the scanner with encoding/json.
func FuzzScanJSON(f *testing.F) {
	for _, s := range []string{`{}`, `[1,"a",null]`, `{"a":{"b":[true,false]}}`, `-0.1e+5`, `"\u00e9\n"`, ` 1`, `01`, `1.`, `"`, `{"a"}`, `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := scanJSON(data, 0, 0) == len(data)
		want := json.Valid(data) && len(data) == len(bytes.Trim(data, " \t\r\n"))
		if got != want && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < 400 {
			t.Errorf("%q: got %v, want %v", data, got, want)
		}
	})
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
		text := c.append(nil, 5, 3, stream, &draft)
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("not JSON: %q", text)
		}
		want := Event{Position: 5, Version: 3, Stream: stream, Type: kind, Data: data, Time: draft.Time.UTC()}
		if len(data) == 0 {
			want.Data = nil
		}
		var d decoder
		var fast, slow Event
		if !d.decode(&fast, text) && !strings.ContainsAny(stream+kind, "\\\"") && !hasControl(stream+kind) && len(data) < 400 {
			t.Errorf("%q takes the slow way", text)
		}
		if err := d.decodeSlowly(&slow, text); err != nil || !reflect.DeepEqual(slow, want) {
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
	f.Add([]byte(`{"position":7,"version":1,"stream":"s","type":"T","data":{"a": 1},"time":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"position":7,"position":8,"base64":"/wA="}`))
	f.Add([]byte(`{"data":1,"base64":"/wA="}`))
	f.Add([]byte(`{"base64":"","data":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d decoder
		var fast, slow Event
		if !utf8.Valid(text) || !d.decode(&fast, text) {
			return
		}
		if err := d.decodeSlowly(&slow, text); err != nil || !reflect.DeepEqual(fast, slow) {
			t.Errorf("%q: got %+v, encoding/json reads %+v, %v", text, fast, slow, err)
		}
	})
}
