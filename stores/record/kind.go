package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// kind is what a field can be.
type kind uint8

const (
	unsupported kind = iota
	kindBool
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindInt // stored as an int64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindUint // stored as a uint64
	kindFloat32
	kindFloat64
	kindTime
	kindString
	kindBytes

	// Those below are made of others: see shape.
	kindList
	kindArray
	kindMap
	kindOptional // a pointer
	kindStruct
)

// kinds says of each kind the name under which it is stored, the bytes that it takes (0 is a length
// of its own), and the type with the same memory, if there is one.
var kinds = [...]struct {
	name string
	size int
	typ  reflect.Type
}{
	kindBool:    {"bool", 1, reflect.TypeFor[bool]()},
	kindInt8:    {"int8", 1, reflect.TypeFor[int8]()},
	kindInt16:   {"int16", 2, reflect.TypeFor[int16]()},
	kindInt32:   {"int32", 4, reflect.TypeFor[int32]()},
	kindInt64:   {"int64", 8, reflect.TypeFor[int64]()},
	kindInt:     {"int64", 8, reflect.TypeFor[int]()},
	kindUint8:   {"uint8", 1, reflect.TypeFor[uint8]()},
	kindUint16:  {"uint16", 2, reflect.TypeFor[uint16]()},
	kindUint32:  {"uint32", 4, reflect.TypeFor[uint32]()},
	kindUint64:  {"uint64", 8, reflect.TypeFor[uint64]()},
	kindUint:    {"uint64", 8, reflect.TypeFor[uint]()},
	kindFloat32: {"float32", 4, reflect.TypeFor[float32]()},
	kindFloat64: {"float64", 8, reflect.TypeFor[float64]()},
	kindTime:    {"time", 12, reflect.TypeFor[time.Time]()},
	kindString:  {"string", 0, reflect.TypeFor[string]()},
	kindBytes:   {"bytes", 0, reflect.TypeFor[[]byte]()},

	kindList:     {"list", 0, nil},
	kindArray:    {"array", 0, nil},
	kindMap:      {"map", 0, nil},
	kindOptional: {"optional", 0, nil},
	kindStruct:   {"struct", 0, nil},
}

// supportedKinds is what errors say of them.
const supportedKinds = "bool, int and uint of every size, float32, float64, string, []byte, time.Time, and structs, slices, arrays, " +
	"pointers and maps of these"

// kindOf returns the kind of values of type t, or unsupported.
func kindOf(t reflect.Type) kind {
	if t == kinds[kindTime].typ {
		return kindTime
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return kindBytes
	}
	for k := kindBool; k <= kindString; k++ {
		if k != kindTime && kinds[k].typ.Kind() == t.Kind() {
			return k
		}
	}
	return made[t.Kind()]
}

// made are the kinds that are made of others.
var made = map[reflect.Kind]kind{reflect.Slice: kindList, reflect.Array: kindArray, reflect.Map: kindMap,
	reflect.Pointer: kindOptional, reflect.Struct: kindStruct}

// kindNamed returns the kind that is stored under name, or unsupported.
func kindNamed(name string) kind {
	for k := kindBool; k <= kindStruct; k++ {
		if kinds[k].name == name {
			return k // int64 is found before int
		}
	}
	return unsupported
}

func (k kind) signed() bool   { return k >= kindInt8 && k <= kindInt }
func (k kind) unsigned() bool { return k >= kindUint8 && k <= kindUint }
func (k kind) size() int      { return kinds[k].size }
func (k kind) scalar() bool   { return k >= kindBool && k <= kindBytes }

// valueAt returns the value at p, of the type that a kind is made of.
func valueAt(k kind, p unsafe.Pointer) reflect.Value { return reflect.NewAt(kinds[k].typ, p).Elem() }

// loadInt and loadUint read an integer of any size.
func loadInt(k kind, p unsafe.Pointer) int64 {
	switch k {
	case kindInt8:
		return int64(*(*int8)(p))
	case kindInt16:
		return int64(*(*int16)(p))
	case kindInt32:
		return int64(*(*int32)(p))
	case kindInt64:
		return *(*int64)(p)
	}
	return int64(*(*int)(p))
}

func loadUint(k kind, p unsafe.Pointer) uint64 {
	switch k {
	case kindUint8:
		return uint64(*(*uint8)(p))
	case kindUint16:
		return uint64(*(*uint16)(p))
	case kindUint32:
		return uint64(*(*uint32)(p))
	case kindUint64:
		return *(*uint64)(p)
	}
	return uint64(*(*uint)(p))
}

// storeInt and storeUint write an integer, which must fit.
func storeInt(k kind, p unsafe.Pointer, n int64) error {
	v := valueAt(k, p)
	if v.OverflowInt(n) {
		return fmt.Errorf("%d does not fit a %v", n, v.Type())
	}
	v.SetInt(n)
	return nil
}

func storeUint(k kind, p unsafe.Pointer, n uint64) error {
	v := valueAt(k, p)
	if v.OverflowUint(n) {
		return fmt.Errorf("%d does not fit a %v", n, v.Type())
	}
	v.SetUint(n)
	return nil
}

// storeBytes sets bytes at p to a copy of b, which is not nil.
func storeBytes(p unsafe.Pointer, b []byte) { *(*[]byte)(p) = append([]byte{}, b...) }

// appendValue appends the value at p, of fixed size: little-endian in as many bytes as its kind
// takes.
func appendValue(dst []byte, k kind, p unsafe.Pointer) []byte {
	switch k {
	case kindBool, kindInt8, kindUint8:
		return append(dst, *(*byte)(p))
	case kindInt16, kindUint16:
		return binary.LittleEndian.AppendUint16(dst, *(*uint16)(p))
	case kindInt32, kindUint32, kindFloat32:
		return binary.LittleEndian.AppendUint32(dst, *(*uint32)(p))
	case kindInt64, kindUint64, kindFloat64:
		return binary.LittleEndian.AppendUint64(dst, *(*uint64)(p))
	case kindInt:
		return binary.LittleEndian.AppendUint64(dst, uint64(*(*int)(p)))
	case kindUint:
		return binary.LittleEndian.AppendUint64(dst, uint64(*(*uint)(p)))
	}
	t := (*time.Time)(p)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(t.Unix()))
	return binary.LittleEndian.AppendUint32(dst, uint32(t.Nanosecond()))
}

// storeValue sets the value at p to what appendValue wrote.
func storeValue(k kind, p unsafe.Pointer, data []byte) error {
	switch k {
	case kindBool:
		if data[0] > 1 {
			return fmt.Errorf("bool of value %d", data[0])
		}
		*(*bool)(p) = data[0] == 1
	case kindInt8, kindUint8:
		*(*byte)(p) = data[0]
	case kindInt16, kindUint16:
		*(*uint16)(p) = binary.LittleEndian.Uint16(data)
	case kindInt32, kindUint32, kindFloat32:
		*(*uint32)(p) = binary.LittleEndian.Uint32(data)
	case kindInt64, kindUint64, kindFloat64:
		*(*uint64)(p) = binary.LittleEndian.Uint64(data)
	case kindInt:
		n := int64(binary.LittleEndian.Uint64(data))
		if *(*int)(p) = int(n); int64(int(n)) != n {
			return storeInt(k, p, n)
		}
	case kindUint:
		n := binary.LittleEndian.Uint64(data)
		if *(*uint)(p) = uint(n); uint64(uint(n)) != n {
			return storeUint(k, p, n)
		}
	case kindTime:
		return storeTime(p, int64(binary.LittleEndian.Uint64(data)), int64(binary.LittleEndian.Uint32(data[8:])))
	}
	return nil
}

func storeTime(p unsafe.Pointer, seconds, nanos int64) error {
	if nanos < 0 || nanos > 999_999_999 {
		return fmt.Errorf("time with %d nanoseconds", nanos)
	}
	*(*time.Time)(p) = time.Unix(seconds, nanos).UTC()
	return nil
}

// appendOrdered appends the value at p so that the bytes sort as the values do and end
// recognisably. Of floats -0 sorts below 0, and NaN above everything or, with its sign set, below.
func appendOrdered(key []byte, k kind, p unsafe.Pointer) []byte {
	switch {
	case k.signed():
		return kv.AppendUint64(key, uint64(loadInt(k, p))^1<<63)
	case k.unsigned():
		return kv.AppendUint64(key, loadUint(k, p))
	}
	switch k {
	case kindBool:
		return append(key, *(*byte)(p))
	case kindFloat32, kindFloat64:
		f := math.Float64bits(loadFloat(k, p))
		if f>>63 == 1 {
			return kv.AppendUint64(key, ^f)
		}
		return kv.AppendUint64(key, f|1<<63)
	case kindTime:
		t := (*time.Time)(p)
		key = kv.AppendUint64(key, uint64(t.Unix())^1<<63)
		return binary.BigEndian.AppendUint32(key, uint32(t.Nanosecond()))
	case kindString:
		return kv.AppendString(key, *(*string)(p))
	}
	b := *(*[]byte)(p)
	return kv.AppendString(key, unsafe.String(unsafe.SliceData(b), len(b)))
}

func loadFloat(k kind, p unsafe.Pointer) float64 {
	if k == kindFloat32 {
		return float64(*(*float32)(p))
	}
	return *(*float64)(p)
}

// format returns the value at p as a person reads it.
func format(k kind, p unsafe.Pointer) string {
	switch {
	case k.signed():
		return strconv.FormatInt(loadInt(k, p), 10)
	case k.unsigned():
		return strconv.FormatUint(loadUint(k, p), 10)
	}
	switch k {
	case kindBool:
		return strconv.FormatBool(*(*bool)(p))
	case kindFloat32, kindFloat64:
		return strconv.FormatFloat(loadFloat(k, p), 'g', -1, 64)
	case kindTime:
		return (*time.Time)(p).Format(time.RFC3339Nano)
	case kindString:
		return strconv.Quote(*(*string)(p))
	}
	return fmt.Sprintf("%q", *(*[]byte)(p))
}

// finite reports whether the value at p is a number that text can express.
func finite(k kind, p unsafe.Pointer) bool {
	f := loadFloat(k, p)
	return !math.IsNaN(f) && !math.IsInf(f, 0)
}
