package capture

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// keyHasher replaces keys by others of the same length, in the same order, whose beginnings are
// shared by the same keys. Read as a tree, byte by byte, each node has some bytes of 256 below it:
// they are replaced by as many others, drawn at random, in their order. So a node that has all 256
// stays as it is, and nobody can do more: a map that keeps length and order without knowing the
// keys is the one that changes nothing.
//
// Nodes are counted in a table of fixed size. Two that fall together have the bytes of both.
type keyHasher struct {
	seed  maphash.Seed
	salt  [32]byte
	below [][4]uint64 // by node, a bit for each byte below it
	cache map[uint64]*[256]byte
}

// nodes is the size of the table: 32 MB.
const nodes = 1 << 20

// mostCached is how many nodes' maps are kept: 16 MB.
const mostCached = 1 << 16

func newKeyHasher() (*keyHasher, error) {
	h := &keyHasher{seed: maphash.MakeSeed(), below: make([][4]uint64, nodes), cache: map[uint64]*[256]byte{}}
	_, err := crand.Read(h.salt[:])
	return h, err
}

// each calls do with the node of each byte of key.
func (h *keyHasher) each(key []byte, do func(i int, node uint64)) {
	var m maphash.Hash
	m.SetSeed(h.seed)
	for i, b := range key {
		do(i, m.Sum64())
		_ = m.WriteByte(b) // it never fails
	}
}

// see counts a key.
func (h *keyHasher) see(key []byte) {
	h.each(key, func(i int, node uint64) {
		h.below[node%nodes][key[i]/64] |= 1 << (key[i] % 64)
	})
}

// hash returns what stands for a key that was seen.
func (h *keyHasher) hash(key []byte) []byte {
	if key == nil {
		return nil
	}
	out := make([]byte, len(key))
	h.each(key, func(i int, node uint64) { out[i] = h.bytes(node)[key[i]] })
	return out
}

// bytes returns what stands for each byte below a node.
func (h *keyHasher) bytes(node uint64) *[256]byte {
	if m := h.cache[node]; m != nil {
		return m
	}
	set := h.below[node%nodes]
	var present []byte
	for b := range 256 {
		if set[b/64]>>(b%64)&1 != 0 {
			present = append(present, byte(b))
		}
	}
	seed := h.salt
	binary.LittleEndian.PutUint64(seed[:], binary.LittleEndian.Uint64(seed[:])^node)
	random := rand.New(rand.NewChaCha8(seed))
	m := new([256]byte)
	for b, left := 0, len(present); b < 256 && left > 0; b++ {
		if random.IntN(256-b) < left { // so many of the rest are drawn
			m[present[len(present)-left]] = byte(b)
			left--
		}
	}
	if len(h.cache) >= mostCached {
		clear(h.cache)
	}
	h.cache[node] = m
	return m
}

// keysOf calls do with each key of a record, in place.
func keysOf(r *Record, do func(key *[]byte)) {
	for _, k := range []*[]byte{&r.Key, &r.Walk.Start, &r.Walk.End, &r.Walk.First, &r.Walk.Last} {
		do(k)
	}
	for i := range r.Ops {
		do(&r.Ops[i].Key)
	}
}

// HashKeys makes a recording of another one, with hashed keys: see [Options]. It reads the other
// one twice, and holds 50 MB.
func HashKeys(from, to string) (err error) {
	h, err := newKeyHasher()
	if err != nil {
		return err
	}
	if err := copyRecords(from, nil, func(r *Record) { keysOf(r, func(k *[]byte) { h.see(*k) }) }); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	w := newWriter(out)
	err = copyRecords(from, w, func(r *Record) { keysOf(r, func(k *[]byte) { *k = h.hash(*k) }) })
	if err == nil {
		err = w.finish()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// copyRecords reads a recording, has each record changed, and writes it to w, unless that is nil.
func copyRecords(from string, w *writer, change func(*Record)) (err error) {
	in, err := Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if w != nil {
		info := in.Info
		info.Keys = Hashed
		if err := w.begin(info); err != nil {
			return err
		}
	}
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if change(&r); w != nil {
				err = w.record(&r)
			}
		}
		if err != nil {
			return err
		}
	}
}
