package record_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// pairs are what a release stored. Those of format 1 are two records of a type with three fields,
// and one after three were added, with defaults and an index.
type pairs [][2]string

const formatOneFields = `"fields":[{"number":1,"name":"id","kind":"int64"},{"number":2,"name":"name","kind":"string"},` +
	`{"number":3,"name":"blob","kind":"bytes"},{"number":4,"name":"note","kind":"string","default":"ZGVmYXVsdA=="},` +
	`{"number":5,"name":"data","kind":"bytes","default":"ZA=="},{"number":6,"name":"at","kind":"time","default":"AAluiPH///8AAAAA"}],` +
	`"versions":[[1,2,3],[1,2,3,4,5,6]],"current":1,"indexes":[{"number":1,"name":"by_note","fields":["note"]}]}`

var formatOneIndex = pairs{
	{"i\x00\x01\x00\x01\x80\x00\x00\x00\x00\x00\x00\x03", ""},
	{"i\x00\x01default\x00\x01\x80\x00\x00\x00\x00\x00\x00\x01", ""},
	{"i\x00\x01default\x00\x01\x80\x00\x00\x00\x00\x00\x00\x02", ""},
}

var formatOneBinary = pairs{
	{"h", `{"format":1,"codec":"binary","layout":"single","id":"id","fingerprint":"4d6e67db171c7bf6",` +
		formatOneFields},
	{"r\x80\x00\x00\x00\x00\x00\x00\x01", "\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03one\x01b"},
	{"r\x80\x00\x00\x00\x00\x00\x00\x02", "\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03two\x00"},
	{"r\x80\x00\x00\x00\x00\x00\x00\x03",
		"\x01\x03\x00\x00\x00\x00\x00\x00\x00\a\x00\x00\x00\x00\x00\x00\x00\b\x00\x00\x00\x05three\x00\x00\x00"},
}

var formatOneJSON = pairs{
	{"h", `{"format":1,"codec":"json","layout":"single","id":"id","fingerprint":"33b792f9a750863f",` + formatOneFields},
	{"r\x80\x00\x00\x00\x00\x00\x00\x01", "{\"id\":1,\"name\":\"one\",\"blob\":\"Yg==\"}"},
	{"r\x80\x00\x00\x00\x00\x00\x00\x02", "{\"id\":2,\"name\":\"two\",\"blob\":null}"},
	{"r\x80\x00\x00\x00\x00\x00\x00\x03", "{\"id\":3,\"name\":\"three\",\"blob\":null,\"note\":\"\",\"data\":null,\"at\":\"1970-01-01T00:00:07.000000008Z\"}"},
}

// noLonger are headers of what is no longer kept.
var noLonger = pairs{
	{"multikv", `{"format":1,"codec":"binary","layout":"multikv","id":"id","fingerprint":"4f68d7572f176cde",` +
		formatOneFields},
	{"gob", `{"format":1,"codec":"gob","layout":"single","id":"id","fingerprint":"2c5e67671af66e27",` +
		formatOneFields},
}

func (p pairs) open(t *testing.T) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), "mem:format1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, pair := range p {
		if err := db.Put(t.Context(), kv.Buffered, []byte(pair[0]), []byte(pair[1])); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

type formatOne struct {
	ID   int64     `record:"id"`
	Name string    `record:"name"`
	Blob []byte    `record:"blob"`
	Note string    `record:"note"`
	Data []byte    `record:"data"`
	At   time.Time `record:"at"`
}

func TestFormatOneIsTakenOver(t *testing.T) {
	for codec, stored := range map[record.Codec]pairs{record.Binary: formatOneBinary, record.JSON: formatOneJSON} {
		db := slices.Concat(stored, formatOneIndex).open(t)
		c, err := record.Open[formatOne](t.Context(), db, &record.Options{Codec: codec})
		if err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
		want := []formatOne{
			{1, "one", []byte("b"), "default", []byte("d"), time.Time{}},
			{2, "two", nil, "default", []byte("d"), time.Time{}},
			{3, "three", nil, "", nil, time.Unix(7, 8).UTC()},
		}
		check := func(when string) {
			t.Helper()
			for _, v := range want {
				if got, err := c.Get(t.Context(), record.Int(v.ID)); err != nil || !reflect.DeepEqual(got, v) {
					t.Errorf("%v, %s: got %+v, %v, want %+v", codec, when, got, err, v)
				}
			}
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("%v, %s: %v", codec, when, err)
			}
			if found, err := c.Find(t.Context(), "by_note", "default"); err != nil || len(found) != 2 {
				t.Errorf("%v, %s: %d found, %v, want 2", codec, when, len(found), err)
			}
		}
		check("as it was")
		want[1].Blob = []byte{}
		if err := c.Put(t.Context(), kv.Buffered, &want[1]); err != nil {
			t.Fatal(err)
		}
		if c, err = record.Open[formatOne](t.Context(), db, &record.Options{Codec: codec}); err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
		check("opened again")
	}
}

func TestFormatOneThatIsNoLongerKeptIsRefusedWithTheWayOn(t *testing.T) {
	for _, one := range noLonger {
		db := pairs{{"h", one[1]}}.open(t)
		_, err := record.Open[formatOne](t.Context(), db, nil)
		if kv.KindOf(err) != kv.Unsupported || kv.HintOf(err) == "" || !contains(err, one[0]) {
			t.Errorf("%s: %v, want unsupported with a hint", one[0], err)
		}
		if text, err := db.Get(t.Context(), []byte("h")); err != nil || string(text) != one[1] {
			t.Errorf("%s: the header was changed to %s, %v", one[0], text, err)
		}
	}
}
