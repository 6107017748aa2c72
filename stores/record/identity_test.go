package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// anything returns a record of values at the edges of their kinds, among others.
func anything(r *rand.Rand) (v everything) {
	pick := func(of ...uint64) uint64 {
		if i := r.IntN(len(of) + 2); i < len(of) {
			return of[i]
		}
		return r.Uint64() >> r.IntN(64)
	}
	n := func() uint64 { return pick(0, 1, math.MaxUint64, 1<<63, 1<<63-1) }
	v.ID, v.Bool, v.I8, v.I16, v.I32, v.I64, v.I = uint16(n()), n()%2 == 0, int8(n()), int16(n()), int32(n()),
		int64(n()), int(n())
	v.U8, v.U32, v.U64, v.U, v.Long = uint8(n()), uint32(n()), n(), uint(n()), time.Duration(n())
	v.F32 = math.Float32frombits(uint32(pick(1<<31, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000, 0x7f800001,
		0xff800001, 1)))
	v.F64 = math.Float64frombits(pick(1<<63, 0x7ff<<52, 0xfff<<52, 0x7ff8<<48|1, 0xfff8<<48, 0x7ff<<52|1, 0xfff<<52|1,
		1))
	zone := time.FixedZone("local mean time", int(pick(0, 3600, 1172, 59, 24*3600-1))%(48*3600)-24*3600)
	v.At = time.Unix(int64(pick(0, 1<<62, 1<<63, 253402300799, 253402300800, 1<<32, 1<<34))-int64(n()%3)*62135596800,
		int64(n()%1e9)).In(zone)
	if r.IntN(4) == 0 {
		v.At = time.Time{}.In(zone)
	}
	if r.IntN(2) == 0 { // what every codec holds, but for its zone
		v.F32, v.F64, v.At = float32(r.NormFloat64()), r.NormFloat64(), time.Unix(r.Int64N(1<<34), 5).In(zone)
	}
	texts := []string{"", "a", "\x00", "\ufffd", "<&>\u2028\u2029\\\"", "\xff", "\xed\xa0\x80",
		string(make([]byte, 5000)), "\U0010ffff"}
	v.Text, v.Named, v.Blob = texts[r.IntN(len(texts))], named(texts[r.IntN(len(texts))]),
		[]byte(texts[r.IntN(len(texts))])
	return v
}

// What a codec takes comes back to the bit, whatever was in the memory before, and its entries in
// indexes are the same; what it cannot hold it refuses.
func TestEveryCodecIsAnIdentityOrRefuses(t *testing.T) {
	exact := planFor[everything](t, Options{})
	same := func(v *everything) []byte {
		data, err := exact.codec.encode(nil, memory{rec: unsafe.Pointer(v)})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	seed := rand.Uint64()
	for _, c := range []Codec{Binary, JSON} {
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		p := planFor[everything](t, Options{Codec: c})
		taken, refused := 0, 0
		for range 600 {
			in, out := anything(r), anything(r)
			before := same(&in)
			data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&in)})
			if !bytes.Equal(before, same(&in)) {
				t.Fatalf("%v, seed %d: encoding changed the record", c, seed)
			}
			if err != nil {
				if refused++; kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
					t.Fatalf("%v, seed %d: %v, want invalid with a hint", c, seed, err)
				}
				continue
			}
			taken++
			old := out.Blob
			was := bytes.Clone(old)
			if err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)}); err != nil {
				t.Fatalf("%v, seed %d: %v\nof %+v", c, seed, err, in)
			}
			if !bytes.Equal(same(&in), same(&out)) {
				t.Fatalf("%v, seed %d:\ngot  %+v\nwant %+v", c, seed, out, in)
			}
			if !bytes.Equal(old, was) {
				t.Fatalf("%v, seed %d: decoding wrote to bytes that were there", c, seed)
			}
			for i := range exact.fields {
				f := &exact.fields[i]
				got := anything(r)
				at := unsafe.Add(unsafe.Pointer(&got), f.offset)
				if err := p.codec.field(data, p.named(f.name), at); err != nil {
					t.Fatalf("%v, seed %d: field %s: %v", c, seed, f.name, err)
				}
				want := appendOrdered(nil, f.kind, unsafe.Add(unsafe.Pointer(&in), f.offset))
				if !bytes.Equal(appendOrdered(nil, f.kind, at), want) {
					t.Fatalf("%v, seed %d: field %s alone is not what it was", c, seed, f.name)
				}
			}
		}
		t.Logf("%v: %d taken, %d refused", c, taken, refused)
		if taken < 50 {
			t.Errorf("%v took %d records only", c, taken)
		}
	}
}

// A record that lies in memory as the codec's own is not copied, unless a time is elsewhere than in
// UTC.
func TestATimeElsewhereIsTheSameMoment(t *testing.T) {
	type stamp struct {
		ID int64
		At time.Time
	}
	in := stamp{7, time.Date(1890, 1, 2, 3, 4, 5, 6, time.FixedZone("LMT", 1172))}
	for _, c := range []Codec{Binary, JSON} {
		p := planFor[stamp](t, Options{Codec: c})
		data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&in)})
		var out stamp
		if err == nil {
			err = p.codec.decode(data, memory{rec: unsafe.Pointer(&out)})
		}
		if err != nil || !out.At.Equal(in.At) || out.At.Location() != time.UTC {
			t.Errorf("%v: got %v, %v, want %v", c, out.At, err, in.At)
		}
	}
}
