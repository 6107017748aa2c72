package powerfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// script is a program that a seed makes up, of operations that each succeed.
//
// What it syncs, it has let grow or given an entry just before: a real one commits nothing for a
// sync of what has no metadata of its own to commit. And it punches holes only into what was
// synced: there, the journal carries a size up to the end of the hole.
type script struct {
	doer
	rng   *rand.Rand
	sizes map[string]int // of the files there are
}

func scriptOf(seed uint64) func(doer) {
	return func(b doer) {
		s := &script{doer: b, rng: rand.New(rand.NewPCG(seed, 1)), sizes: map[string]int{"old": len("before")}}
		for i := range 12 {
			s.step(string(rune('A' + i)))
		}
	}
}

func (s *script) step(letter string) {
	name := []string{"old", "a", "b", "d/c"}[s.rng.IntN(4)]
	if _, ok := s.sizes[name]; !ok {
		s.create(name)
		if s.sizes[name] = 0; s.rng.IntN(3) == 0 {
			s.sync(folderOf(name))
		}
		return
	}
	size := s.sizes[name]
	switch k := s.rng.IntN(12); {
	case k < 4:
		off := s.rng.IntN(room - pageSize)
		n := 1 + s.rng.IntN(pageSize)
		s.write(name, int64(off), strings.Repeat(letter, n))
		s.sizes[name] = max(size, off+n)
	case k < 6 && size < room:
		s.write(name, int64(size), letter)
		s.sync(name)
		s.sizes[name]++
	case k < 7:
		s.sizes[name] = s.rng.IntN(room)
		s.truncate(name, int64(s.sizes[name]))
	case k < 8 && size < room:
		s.write(name, int64(size), letter)
		s.sync(name)
		s.sizes[name]++
		s.punch(name, int64(s.rng.IntN(room/2)), 1+s.rng.Int64N(2*pageSize))
	case k < 9:
		s.unlink(name)
		delete(s.sizes, name)
	default:
		to := fmt.Sprintf("%s%d", []string{"", "d/"}[s.rng.IntN(2)], s.rng.IntN(3))
		if others := slices.Sorted(maps.Keys(s.sizes)); s.rng.IntN(2) == 0 {
			to = others[s.rng.IntN(len(others))]
		}
		if to == name {
			return
		}
		s.rename(name, to)
		delete(s.sizes, name)
		if s.sizes[to] = size; s.rng.IntN(3) == 0 {
			s.sync(folderOf(to))
		}
	}
}

func folderOf(name string) string {
	dir, _, below := strings.Cut(name, "/")
	if below {
		return dir
	}
	return ""
}
