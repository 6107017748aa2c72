package feed

import (
	"bytes"
	"testing"
)

// Whatever is taken for a block gives an error or as many messages as it says, and what was sealed
// comes back.
func FuzzBlock(f *testing.F) {
	c, err := newCodec(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.close)
	block, _ := c.seal(nil, nil, [][]byte{[]byte("one"), {}, []byte("three")})
	f.Add(block)
	f.Add(block[:7])
	f.Add([]byte{blockVersion, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var p page
		if err := p.load(c, 10, data); err == nil {
			n, _, _, err := header(data)
			if err != nil || n != uint64(len(p.ends)) || p.end() != 10+n {
				t.Fatalf("%d messages, %v, in a block of %d", len(p.ends), err, n)
			}
			for seq := p.first; seq < p.end(); seq++ {
				_ = p.message(seq)
			}
		}
		messages := bytes.SplitAfter(data, []byte{7})
		block, _ := c.seal(nil, nil, messages)
		if err := p.load(c, 10, block); err != nil {
			t.Fatal(err)
		}
		for i, m := range messages {
			if got := p.message(10 + uint64(i)); !bytes.Equal(got, m) {
				t.Fatalf("message %d is %q, want %q", i, got, m)
			}
		}
	})
}
