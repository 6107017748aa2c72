package workload

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestAValueIsRecognisedAsItsKeysAndVersions(t *testing.T) {
	for size := minValue; size <= 130; size++ {
		v := values{seed: 7, size: size}
		value := v.append(nil, 3, 4)
		if len(value) != size {
			t.Fatalf("value of %d bytes, want %d", len(value), size)
		}
		if err := v.check(value, 3, 4); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got, err := v.version(value, 3); got != 4 || err != nil {
			t.Errorf("%d bytes: version %d, %v; want 4", size, got, err)
		}
	}
}

func TestAWrongValueIsFoundOut(t *testing.T) {
	v := values{seed: 7, size: 101}
	good := v.append(nil, 3, 4)
	wrong := map[string][]byte{
		"of another key":     v.append(nil, 2, 4),
		"of another version": v.append(nil, 3, 5),
		"of another seed":    values{seed: 8, size: 101}.append(nil, 3, 4),
		"cut short":          good[:100],
		"empty":              {},
		"with more behind":   append(append([]byte(nil), good...), 0),
	}
	for i := range good {
		flipped := append([]byte(nil), good...)
		flipped[i] ^= 1 << rand.IntN(8)
		wrong[fmt.Sprintf("with byte %d changed", i)] = flipped
	}
	for name, value := range wrong {
		if v.check(value, 3, 4) == nil {
			t.Errorf("a value %s passes", name)
		}
	}
}

func BenchmarkValues(b *testing.B) {
	v := values{seed: 7, size: 128}
	buf := v.append(nil, 1, 1)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for i := uint64(0); b.Loop(); i++ {
			buf = v.append(buf[:0], 1, i)
		}
	})
	buf = v.append(buf[:0], 1, 1)
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := v.check(buf, 1, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
