package kv_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestAfterIsTheFirstKeyBeyondAPrefix(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"a\xff\xff", "b"}, {"a\x00", "a\x01"}, {"\xfe", "\xff"}, {"\xff", ""},
		{"\xff\xff", ""}, {"", ""},
	} {
		p := []byte(c.prefix)
		got := kv.PrefixEnd(p)
		if string(got) != c.want || (got == nil) != (c.want == "") || string(p) != c.prefix {
			t.Errorf("after %q: got %q, want %q", c.prefix, got, c.want)
		}
	}
	if r := kv.Prefix([]byte("a")); string(r.Start) != "a" || string(r.End) != "b" || r.Reverse {
		t.Errorf("prefix: got %+v", r)
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add([]byte("a"), []byte("ab"))
	f.Add([]byte("\xff"), []byte("\xff\xff"))
	f.Fuzz(func(t *testing.T, prefix, key []byte) {
		r := kv.Prefix(prefix)
		inside := bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
		if inside != bytes.HasPrefix(key, prefix) {
			t.Errorf("the range of prefix %q ends at %q: key %q inside=%v", prefix, r.End, key, inside)
		}
	})
}

func TestNumbersSortAsKeys(t *testing.T) {
	numbers := []uint64{0, 1, 255, 256, 1 << 31, 1 << 32, 1<<64 - 1}
	var keys [][]byte
	for _, n := range numbers {
		key := kv.AppendUint64([]byte("p/"), n)
		if got, ok := kv.LastUint64(key); got != n || !ok || len(key) != 10 {
			t.Errorf("%d came back as %d, %v from %q", n, got, ok, key)
		}
		keys = append(keys, key)
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Errorf("not sorted: %q", keys)
	}
	for _, short := range [][]byte{nil, {}, []byte("1234567")} {
		if n, ok := kv.LastUint64(short); n != 0 || ok {
			t.Errorf("%q gave %d, %v", short, n, ok)
		}
	}
}

func TestCutStringRefusesWhatAppendStringDoesNotWrite(t *testing.T) {
	for _, key := range []string{"", "a", "\x00", "a\x00", "a\x00\x02", "a\x00\x00\x01", "a\x00\xff", "a\x00\xff\x00"} {
		if s, rest, ok := kv.CutString([]byte(key)); ok || s != "" || rest != nil {
			t.Errorf("%q gave %q, %q, %v", key, s, rest, ok)
		}
	}
}

func FuzzStringKeys(f *testing.F) {
	for _, s := range []string{"", "a", "a\x00", "a\x00b", "\x00\xff", "\xff", "ab", "\x00\x01"} {
		f.Add(s, "a", []byte("rest"))
		f.Add("a", s, []byte{0, 1})
	}
	f.Fuzz(func(t *testing.T, a, b string, rest []byte) {
		key := func(s string) []byte { return append(kv.AppendString([]byte("p"), s), rest...) }
		s, after, ok := kv.CutString(key(a)[1:])
		if s != a || !bytes.Equal(after, rest) || !ok {
			t.Errorf("%q + %q came back as %q, %q, %v", a, rest, s, after, ok)
		}
		if a != b && sign(bytes.Compare(key(a), key(b))) != sign(strings.Compare(a, b)) {
			t.Errorf("%q and %q sort differently as keys", a, b)
		}
		if a != b && bytes.HasPrefix(key(a), kv.AppendString([]byte("p"), b)) {
			t.Errorf("the key of %q begins with the key of %q", a, b)
		}
	})
}

func sign(n int) int { return max(-1, min(1, n)) }

func FuzzCutString(f *testing.F) {
	f.Add([]byte("a\x00\xffb\x00\x01rest"))
	f.Fuzz(func(t *testing.T, key []byte) {
		s, rest, ok := kv.CutString(key)
		if ok && !bytes.Equal(append(kv.AppendString(nil, s), rest...), key) {
			t.Errorf("%q was cut to %q and %q", key, s, rest)
		}
	})
}
