package record

import (
	"testing"
	"unsafe"
)

// The record is that of the published comparison.
func eachCodec(b *testing.B, run func(b *testing.B, p *plan, in *user, data []byte)) {
	for _, c := range []Codec{Binary, JSON} {
		b.Run(c.String(), func(b *testing.B) {
			p := planFor[user](b, Options{Codec: c})
			in := newUser(12345)
			data, err := p.codec.encode(nil, memory{rec: unsafe.Pointer(&in)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			run(b, p, &in, data)
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	eachCodec(b, func(b *testing.B, p *plan, in *user, buf []byte) {
		m := memory{rec: unsafe.Pointer(in)}
		for b.Loop() {
			buf, _ = p.codec.encode(buf[:0], m)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	eachCodec(b, func(b *testing.B, p *plan, in *user, data []byte) {
		var out user
		m := memory{rec: unsafe.Pointer(&out)}
		for b.Loop() {
			if err := p.codec.decode(data, m); err != nil {
				b.Fatal(err)
			}
		}
		if out != *in {
			b.Fatal("another record came back")
		}
	})
}

func BenchmarkOneField(b *testing.B) {
	eachCodec(b, func(b *testing.B, p *plan, in *user, data []byte) {
		var v float64
		balance := p.named("balance")
		for b.Loop() {
			if err := p.codec.field(data, balance, unsafe.Pointer(&v)); err != nil {
				b.Fatal(err)
			}
		}
		if v != in.Balance {
			b.Fatal("another value came back")
		}
	})
}
