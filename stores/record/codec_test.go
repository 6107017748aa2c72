package record

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// planFor returns the plan of a new collection of T.
func planFor[T any](t testing.TB, o Options) *plan {
	t.Helper()
	typ := reflect.TypeFor[T]()
	fields, err := fieldsOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(newSchema(typ, fields, newHeader(fields, o.Codec)), &o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type named string

// everything has a field of every kind.
type everything struct {
	ID      uint16
	Bool    bool
	I8      int8
	I16     int16
	I32     int32
	I64     int64
	I       int
	U8      uint8
	U32     uint32
	U64     uint64
	U       uint
	F32     float32
	F64     float64
	At      time.Time
	Named   named
	Text    string
	Blob    []byte
	Long    time.Duration
	Skipped chan int `record:"-"`
}

var samples = []everything{
	{},
	{ID: 1, Bool: true, I8: -128, I16: -32768, I32: math.MinInt32, I64: math.MinInt64, I: math.MinInt, U8: 255,
		U32: math.MaxUint32,
		U64: math.MaxUint64, U: math.MaxUint, F32: -1.5, F64: math.MaxFloat64,
		At:    time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC),
		Named: "n", Text: "é\x00<&>\"\u2028", Blob: []byte{0, 255}, Long: -time.Second},
	{ID: 65535, I8: 127, I16: 32767, I32: math.MaxInt32, I64: math.MaxInt64, I: math.MaxInt,
		F32: math.SmallestNonzeroFloat32,
		F64: math.SmallestNonzeroFloat64, At: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), Text: strings.Repeat("x", 300),
		Blob: bytes.Repeat([]byte("b"), 200)},
}

func TestEveryCodecGivesBackWhatItGot(t *testing.T) {
	for _, c := range []Codec{Binary, JSON} {
		p := planFor[everything](t, Options{Codec: c})
		for i := range samples {
			in := samples[i]
			data, err := p.codec.encode([]byte("before"), memory{rec: unsafe.Pointer(&in)})
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			data, ok := bytes.CutPrefix(data, []byte("before"))
			if !ok {
				t.Fatalf("%v does not append", c)
			}
			out := everything{Skipped: make(chan int)}
			want := in
			want.Skipped = out.Skipped
			if err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)}); err != nil ||
				!reflect.DeepEqual(out, want) {
				t.Errorf("%v: %v\ngot  %+v\nwant %+v", c, err, out, want)
			}
			clear(data)
			if !reflect.DeepEqual(out, want) {
				t.Errorf("%v: the record uses the memory of its bytes", c)
			}
		}
	}
}

func TestEveryCodecReadsEveryFieldAlone(t *testing.T) {
	for _, c := range []Codec{Binary, JSON} {
		p := planFor[everything](t, Options{Codec: c})
		for i := range samples {
			in := samples[i]
			data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&in)})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.slots(p.header.Versions[0]) {
				var out everything
				m := memory{rec: unsafe.Pointer(&out)}
				if err := p.codec.field(data, &s, s.at(m)); err != nil {
					t.Errorf("%v: field %s: %v", c, s.name, err)
				}
				want := reflect.ValueOf(in).FieldByName(s.name).Interface()
				if got := reflect.ValueOf(out).FieldByName(s.name).Interface(); !reflect.DeepEqual(got, want) {
					t.Errorf("%v: field %s: got %v, want %v", c, s.name, got, want)
				}
			}
		}
	}
}

// Encoding a record into memory that is large enough allocates nothing, decoding it one string that
// all its strings share.
func TestBinaryAllocatesNothingButStrings(t *testing.T) {
	p := planFor[user](t, Options{})
	in := newUser(7)
	var out user
	var buf []byte
	from, to := memory{rec: unsafe.Pointer(&in)}, memory{rec: unsafe.Pointer(&out)}
	if got := testing.AllocsPerRun(1000, func() { buf, _ = p.codec.encode(buf[:0], from) }); got != 0 {
		t.Errorf("encode: %v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(1000, func() {
		if err := p.codec.decode(buf, to); err != nil {
			t.Fatal(err)
		}
	}); got > 1 || out != in {
		t.Errorf("decode: %v allocations, want 1 for 5 strings", got)
	}
	balance := p.named("balance")
	var v float64
	if got := testing.AllocsPerRun(1000, func() {
		if err := p.codec.field(buf, balance, unsafe.Pointer(&v)); err != nil {
			t.Fatal(err)
		}
	}); got != 0 || v != in.Balance {
		t.Errorf("one field: %v allocations, want 0", got)
	}
}

func TestTextCodecsRefuseWhatTheyCannotHold(t *testing.T) {
	bad := everything{Text: "\xff"}
	nan := everything{F32: float32(math.NaN())}
	late := everything{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		codec  Codec
		record *everything
		ok     bool
	}{
		{JSON, &bad, false}, {Binary, &bad, true}, {JSON, &nan, false}, {Binary, &nan, true}, {JSON, &late, false},
		{Binary, &late, true},
	} {
		p := planFor[everything](t, Options{Codec: c.codec})
		_, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(c.record)})
		if (err == nil) != c.ok || err != nil && (kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "") {
			t.Errorf("%v of %+v: error %v, want none: %v", c.codec, *c.record, err, c.ok)
		}
	}
}

// FuzzBinary: whatever the bytes are, decoding ends with a record or with Corrupt, and allocates no
// more than the bytes can hold.
func FuzzBinary(f *testing.F) {
	p := planFor[everything](f, Options{})
	for i := range samples {
		data, _ := p.codec.encode(nil, memory{rec: unsafe.Pointer(&samples[i])})
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var out everything
		err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)})
		if err != nil {
			if kv.KindOf(err) != kv.Corrupt {
				t.Fatalf("error %v, want corrupt", err)
			}
		} else {
			if n := len(out.Text) + len(out.Named) + len(out.Blob); n > len(data) {
				t.Fatalf("%d bytes of text out of %d bytes", n, len(data))
			}
			again, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&out)})
			if err != nil {
				t.Fatal(err)
			}
			var back everything
			err = p.codec.decode(again, memory{rec: unsafe.Pointer(&back)})
			twice, _ := p.codec.encode(nil, memory{rec: unsafe.Pointer(&back)})
			if err != nil || !bytes.Equal(again, twice) {
				t.Fatalf("%x becomes %x, then %x, %v", data, again, twice, err)
			}
		}
		for _, s := range p.slots(p.header.Versions[0]) {
			var one everything
			_ = p.codec.field(data, &s, s.at(memory{rec: unsafe.Pointer(&one)}))
		}
	})
}

// FuzzCodecs gives arbitrary bytes to the other codecs.
func FuzzCodecs(f *testing.F) {
	var plans []*plan
	for _, c := range []Codec{Binary, JSON} {
		p := planFor[everything](f, Options{Codec: c})
		plans = append(plans, p)
		for i := range samples {
			data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&samples[i])})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(c), data)
			f.Add(uint8(c), data[:len(data)-1])
		}
	}
	f.Fuzz(func(t *testing.T, c uint8, data []byte) {
		p := plans[int(c)%len(plans)]
		var out everything
		if err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)}); err != nil && kv.KindOf(err) != kv.Corrupt {
			t.Fatalf("%v: error %v, want corrupt", Codec(c), err)
		}
		for _, s := range p.slots(p.header.Versions[0]) {
			var one everything
			_ = p.codec.field(data, &s, s.at(memory{rec: unsafe.Pointer(&one)}))
		}
	})
}
