package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// deep is a record of everything within everything.
type deep struct {
	ID int64
	shared
	In       inner
	Pointer  *inner
	Twice    **int16
	List     []inner
	Lists    [][]string
	Blobs    [][]byte
	Nilable  *[]float64
	Array    [3]*uint8
	Map      map[string]inner
	Numbers  map[int8][]time.Time
	Flags    map[bool]map[uint16]*string
	Named    namedList
	Nothing  struct{}
	Times    []time.Time
	Duration []time.Duration
}

type namedList []named

type shared struct{ Common, Other string }

type inner struct {
	Text  string
	Small float32
	At    time.Time
	Deep  []*deeper
}

type deeper struct {
	Blob []byte
	Same shared
	N    uint64
}

// fill sets v to random values; odd says that there may be some that JSON cannot hold.
func fill(r *rand.Rand, v reflect.Value, odd bool) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		at := time.Unix(r.Int64N(1<<35), r.Int64N(1e9)).UTC()
		if odd && r.IntN(20) == 0 {
			at = time.Unix(1<<50, 1).UTC()
		}
		v.Set(reflect.ValueOf(at))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "a", "\x00", "é\"<>", strings.Repeat("long", 60)}[r.IntN(5)])
		if odd && r.IntN(20) == 0 {
			v.SetString("\xff")
		}
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1.5, -1e30, float64(r.Float32())}[r.IntN(5)])
		if odd && r.IntN(20) == 0 {
			v.SetFloat(math.Inf(1))
		}
	case reflect.Slice:
		if n := r.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n+r.IntN(3)))
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), odd)
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), odd)
		}
	case reflect.Map:
		for n := r.IntN(4) - 1; n >= 0; n-- {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
				continue
			}
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, odd)
			fill(r, value, odd)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			fill(r, reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), odd)
		}
	default:
		if v.CanInt() {
			v.SetInt(int64(r.Uint64()) >> r.IntN(64) >> (64 - v.Type().Bits()))
		} else {
			v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
		}
	}
}

// What is made of other values comes back as it was, nil as nil and empty as empty, or is refused
// by a name that says where it stands. The bytes are the same each time, whatever the order of a
// map.
func TestNestedValuesAreIdenticalOrRefused(t *testing.T) {
	seed := rand.Uint64()
	for _, c := range []Codec{Binary, JSON} {
		p := planFor[deep](t, Options{Codec: c})
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		taken := 0
		for n := range 400 {
			var in, out deep
			fill(r, reflect.ValueOf(&in).Elem(), n%2 == 0)
			fill(r, reflect.ValueOf(&out).Elem(), false)
			data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&in)})
			if err != nil {
				if c == Binary || kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" ||
					!strings.Contains(err.Error(), "field ") {
					t.Fatalf("%v, seed %d: %v", c, seed, err)
				}
				continue
			}
			taken++
			if err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)}); err != nil ||
				!reflect.DeepEqual(in, out) {
				t.Fatalf("%v, seed %d, %v\ngot  %+v\nwant %+v", c, seed, err, out, in)
			}
			again, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&out)})
			if err != nil || !bytes.Equal(data, again) {
				t.Fatalf("%v, seed %d: %q, then %q, %v", c, seed, data, again, err)
			}
			for _, s := range p.slots(p.header.Versions[0]) {
				one := reflect.New(s.shape.typ)
				fill(r, one.Elem(), false)
				if err := p.codec.field(data, &s, one.UnsafePointer()); err != nil ||
					!reflect.DeepEqual(one.Elem().Interface(),
						s.shape.value(s.at(memory{rec: unsafe.Pointer(&in)})).Interface()) {
					t.Fatalf("%v, seed %d: field %s alone: %v", c, seed, s.name, err)
				}
			}
		}
		if taken < 150 {
			t.Errorf("%v took %d records only", c, taken)
		}
	}
}

func TestARefusedValueIsNamedByItsPath(t *testing.T) {
	bad := "\xff"
	var none []float64
	for _, one := range []struct {
		v    deep
		path string
	}{
		{deep{shared: shared{Other: bad}}, "field Other is"},
		{deep{In: inner{Text: bad}}, "field In.Text is"},
		{deep{In: inner{Deep: []*deeper{nil, {Same: shared{Common: bad}}}}}, "field In.Deep[1].Same.Common is"},
		{deep{List: []inner{{}, {}, {Small: float32(math.NaN())}}}, "field List[2].Small is"},
		{deep{Map: map[string]inner{"a": {}, "b": {Text: bad}}}, `field Map["b"].Text is`},
		{deep{Flags: map[bool]map[uint16]*string{true: {7: &bad}}}, "field Flags[true][7] is"},
		{deep{Nilable: &none}, "field Nilable points to nil"},
	} {
		for _, c := range []Codec{Binary, JSON} {
			p := planFor[deep](t, Options{Codec: c})
			_, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&one.v)})
			if c == Binary && err != nil || c == JSON && (err == nil || !strings.Contains(err.Error(), one.path)) {
				t.Errorf("%v: %v, want %q of JSON alone", c, err, one.path)
			}
		}
	}
}

// FuzzNested: whatever the bytes are, decoding ends with a record or with Corrupt.
func FuzzNested(f *testing.F) {
	plans := []*plan{planFor[deep](f, Options{}), planFor[deep](f, Options{Codec: JSON})}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 {
		var v deep
		fill(r, reflect.ValueOf(&v).Elem(), false)
		for c, p := range plans {
			if data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&v)}); err == nil {
				f.Add(c == 1, data[:len(data)-n%2])
			}
		}
	}
	f.Fuzz(func(t *testing.T, text bool, data []byte) {
		p := plans[0]
		if text {
			p = plans[1]
		}
		var out deep
		if err := p.codec.decode(data, memory{rec: unsafe.Pointer(&out)}); err != nil && kv.KindOf(err) != kv.Corrupt {
			t.Fatalf("error %v, want corrupt", err)
		}
	})
}
