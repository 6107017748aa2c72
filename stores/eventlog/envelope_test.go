package eventlog

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The bytes of an envelope are a format on disk: they must not change.
func TestEnvelopeBytes(t *testing.T) {
	at := time.Unix(0, 0x0102030405060708)
	for _, c := range []struct {
		name    string
		version uint64
		stream  string
		draft   Draft
		want    string
	}{
		{"the data follows the head", 0, "", Draft{Type: "Paid", Data: []byte("{}\n")},
			"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x04Paid{}\n"},
		{"a stream has a version and a name", 300, "s-1", Draft{Type: "T", Data: []byte("1")},
			"\x01\x01\x02\x03\x04\x05\x06\x07\x08\x01T\xac\x02\x03s-11"},
		{"no data is nothing", 0, "s", Draft{Type: "T"}, "\x01\x01\x02\x03\x04\x05\x06\x07\x08\x01T\x00\x01s"},
		{"an id and what else is known follow", 1, "s", Draft{Type: "T", ID: "id",
			Meta: map[string]string{"b": "", "a": "x"}, Data: []byte("1")},
			"\x07\x01\x02\x03\x04\x05\x06\x07\x08\x01T\x01\x01s\x02id\x02\x01a\x01x\x01b\x001"},
	} {
		if got := appendEnvelope(nil, c.version, c.stream, &c.draft, at); string(got) != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// Logs that were begun with heads that are lines of JSON are still read.
func TestEnvelopesThatAreLines(t *testing.T) {
	want := Event{Position: 7, Version: 1, Stream: "s", Type: "Té", Data: []byte("{\"a\": 1}\n"),
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, c := range []struct{ name, text string }{
		{"as they were written", `{"position":7,"version":1,"stream":"s","type":"Té","time":"2026-01-02T03:04:05.000000000Z"}`},
		{"in another order", `{"time":"2026-01-02T03:04:05Z","type":"Té","stream":"s","version":1,"position":7}`},
		{"with escapes", `{"position":7,"version":1,"stream":"\u0073","type":"T\u00e9","time":"2026-01-02T03:04:05Z"}`},
		{"with another time zone", `{"position":7,"version":1,"stream":"s","type":"Té","time":"2026-01-02T05:04:05+02:00"}`},
	} {
		var d decoder
		if err := d.add(7, []byte(c.text+"\n{\"a\": 1}\n")); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !reflect.DeepEqual(d.events[0], want) {
			t.Errorf("%s: got %+v, want %+v", c.name, d.events[0], want)
		}
	}
}

func TestDamagedEnvelopes(t *testing.T) {
	whole := appendEnvelope(nil, 1, "s", &Draft{Type: "T", ID: "id", Meta: map[string]string{"k": "v"}},
		time.Unix(1, 0))
	damaged := []string{"", "\n", "[]\n", `{"position":7}`, "{\n", "{}\n", "{\"position\":7\n", "{\"position\":8}\n",
		"{\"position\":7}x\n",
		"{\"position\":\"7\"}\n", "{\"position\":7,\"time\":\"yesterday\"}\n", "\x08" + string(whole[1:]),
		"\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01T\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}
	for n := range whole {
		damaged = append(damaged, string(whole[:n]))
	}
	for _, text := range damaged {
		var d decoder
		if err := d.add(7, []byte(text)); err == nil {
			t.Errorf("%q was read as %+v, want corrupt", text, d.events[0])
		}
	}
}

// FuzzEnvelope writes an envelope and reads it back, behind another one whose texts it may share.
func FuzzEnvelope(f *testing.F) {
	f.Add("s", "T", []byte(`{"a":1}`), int64(1), uint64(3), "id", "k=v,l=")
	f.Add("", "\x00\"", []byte{0xff}, int64(math.MinInt64), uint64(math.MaxUint64), "", "")
	f.Fuzz(func(t *testing.T, stream, kind string, data []byte, nanos int64, version uint64, id, meta string) {
		draft := Draft{Type: kind, Data: data, ID: id}
		for pair := range strings.SplitSeq(meta, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				if draft.Meta == nil {
					draft.Meta = map[string]string{}
				}
				draft.Meta[k] = v
			}
		}
		want := Event{Position: 5, Stream: stream, Version: version, Type: kind, Data: data,
			Time: time.Unix(0, nanos).UTC(), ID: id, Meta: draft.Meta}
		if stream == "" {
			want.Version = 0
		}
		if len(data) == 0 {
			want.Data = nil
		}
		value := appendEnvelope(nil, version, stream, &draft, time.Unix(0, nanos))
		for _, before := range []Draft{draft, {Type: "other"}} {
			var d decoder
			err := d.add(4, appendEnvelope(nil, 1, "before", &before, time.Unix(1, 0)))
			if err == nil {
				err = d.add(5, value)
			}
			if err != nil || fmt.Sprint(d.events[1]) != fmt.Sprint(want) ||
				(d.events[1].Data == nil) != (want.Data == nil) {
				t.Errorf("got %+v, %v, want %+v", d.events, err, want)
			}
		}
	})
}

// FuzzDecode checks that whatever is stored is read or refused.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x07\x01\x02\x03\x04\x05\x06\x07\x08\x01T\x01\x01s\x02id\x02\x01a\x01x\x01b\x001"))
	f.Add([]byte(`{"position":7,"type":"T"}` + "\n"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var d decoder
		if err := d.add(7, value); err == nil && d.events[0].Position != 7 {
			t.Errorf("%q was read as %+v", value, d.events[0])
		}
	})
}
