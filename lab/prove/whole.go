package prove

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/assaydb/assay/kv"
)

// whole holds a store against what the commits wrote, pair by pair, if its counters can be
// believed. It returns false where anything differs, or cannot be read, and does not say what. Most
// states are whole: to copy all of one, and to make anew what it should be, took a third of the
// time of looking at it. The store is read from its beginning to its end, and nothing is looked up:
// pages that lead in a circle let a scan end, and no search.
func (s *keys) whole(ctx context.Context, p past) (o outcome, ok bool) {
	o = outcome{N: make([]uint64, len(p.Chains)), chains: make([]chain, len(p.Chains))}
	all := make([]glance, len(p.Chains))
	copy(o.chains, p.Chains)
	err := s.View(ctx, func(v *kv.Snapshot) error {
		return v.Each(kv.Range{}, func(k, value []byte) error {
			w := writerOf(k)
			if w < 0 || w >= len(all) {
				return errWrong
			}
			if g := &all[w]; g.should == nil && string(k) == counterKey(w) {
				at, c, known := p.lastOf(w, value, g.has(spareKey(w)))
				if !known {
					return errWrong
				}
				o.N[w], o.chains[w] = at.n, c
				o.refuses(p, w, at)
				g.should = p.contentOf(w, at.n, c)
			}
			return all[w].take(k, value)
		})
	})
	for _, g := range all {
		if len(g.before) > 0 || g.seen != len(g.should) {
			return o, false
		}
	}
	return o, err == nil
}

// glance is what was seen of one writer's pairs.
type glance struct {
	should map[string][]byte // nil until its counter is read
	before [][2][]byte       // what came before that
	seen   int
}

// has reports whether a key came before the counter.
func (g *glance) has(key string) bool {
	return slices.ContainsFunc(g.before, func(pair [2][]byte) bool { return string(pair[0]) == key })
}

// take notes a pair. An error is that it is another one.
func (g *glance) take(k, value []byte) error {
	if g.should == nil {
		g.before = append(g.before, [2][]byte{bytes.Clone(k), bytes.Clone(value)})
		return nil
	}
	for _, b := range append(g.before, [2][]byte{k, value}) {
		want, there := g.should[string(b[0])]
		if !there || !bytes.Equal(want, b[1]) {
			return errWrong
		}
		g.seen++
	}
	g.before = nil
	return nil
}

// writerOf returns whose key it is, -1 if it is nobody's.
func writerOf(key []byte) int {
	number, _, _ := bytes.Cut(bytes.TrimPrefix(key, []byte("writer")), []byte("/"))
	w, err := strconv.Atoi(string(number))
	if err != nil || !bytes.HasPrefix(key, []byte("writer")) {
		return -1
	}
	return w
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
