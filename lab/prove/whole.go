package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
)

// whole holds a store against what the commits wrote, pair by pair, if its counters can be
// believed. It returns false where anything differs, or cannot be read, and does not say what. Most
// states are whole: to copy all of one, and to make anew what it should be, took a third of the
// time of looking at it.
func (s *keys) whole(ctx context.Context, p past) (o outcome, ok bool) {
	o = outcome{N: make([]uint64, len(p.Chains)), chains: make([]chain, len(p.Chains))}
	err := s.View(ctx, func(v *kv.Snapshot) error {
		should, missing := make([]map[string][]byte, len(p.Chains)), 0
		for w := range p.Chains {
			at, err := counterOf(v, w)
			if err != nil {
				return err
			}
			c, known := p.chainOf(w, at)
			if !known {
				return errWrong
			}
			o.N[w], o.chains[w] = at.n, c
			should[w] = p.contentOf(w, at.n, c)
			missing += len(should[w])
		}
		if err := v.Each(kv.Range{}, func(k, value []byte) error {
			for _, all := range should {
				if want, there := all[string(k)]; there {
					if missing--; !bytes.Equal(want, value) {
						return errWrong
					}
					return nil
				}
			}
			return errWrong
		}); err != nil {
			return err
		}
		if missing > 0 {
			return errWrong
		}
		return nil
	})
	return o, err == nil
}

// counterOf reads the counter of writer w; none at all is that of no commits.
func counterOf(v *kv.Snapshot, w int) (stamp, error) {
	value, err := v.Get([]byte(counterKey(w)))
	if errors.Is(err, kv.NotFound) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return parseCounter(value)
}

// contentOf returns what a store holds of writer w after commit n of a chain. It is not to be
// changed.
func (p past) contentOf(w int, n uint64, c chain) map[string][]byte {
	made.Lock()
	defer made.Unlock()
	key := fmt.Sprint(p.Seed, p.Work, w, n, c.from(n, 0))
	if content, known := made.contents[key]; known {
		return content
	}
	s := p.script(w)
	s.playTo(n, c)
	content := s.content()
	bytes := 0
	for k, v := range content {
		bytes += len(k) + len(v)
	}
	if made.bytes += bytes; made.contents == nil || made.bytes > mostContents {
		made.contents, made.bytes = map[string]map[string][]byte{}, bytes
	}
	made.contents[key] = content
	return content
}

// mostContents is how many bytes of contents are kept for the next states of a recording, which
// hold the same.
const mostContents = 32 << 20

// made are contents that a verifier has made.
var made struct {
	sync.Mutex
	contents map[string]map[string][]byte
	bytes    int
}
