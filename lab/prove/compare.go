package prove

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// outcome is what a store's content turned out to be.
type outcome struct {
	// N is the number of whole commits found of each writer.
	N    []uint64
	Torn string // a transaction applied in part: which, and how it shows
	// Broken is why the store does not open, fails its check or holds no prefix of the commits.
	Broken string
	// Gone is that the store could not be read at all, so that nothing of it counts as kept.
	Gone bool
	// Hole is that all of it could be read, but for values of commits that returned no error.
	Hole bool `json:",omitempty"`
	// Ended is that the process crashed over it.
	Ended bool `json:",omitempty"`
	// Late is that no answer came in time: nothing is known of the store. Broken is set where its
	// writer read what was never written.
	Late bool

	// Refused are commits that are there, the last of their writers, and of which an error said
	// that nothing is: before that was said they may be.
	Refused []refused `json:",omitempty"`

	Copy *outcome `json:",omitempty"` // of the backup, if it was looked at and there is one

	chains []chain // by which N was reached
}

// refused is a commit of writer W.
type refused struct {
	W int
	stampJSON
}

// past is what a verifier needs to know of the commits that were tried: each writer's chain, and
// for each writer the commits that returned an error, of which each may be there or not; and those
// whose error said that they are not.
type past struct {
	Seed    uint64
	Work    work
	Chains  []chain
	Unsure  [][]stampJSON
	Refused [][]stampJSON `json:",omitempty"`
}

// stampJSON is a stamp as it travels.
type stampJSON struct{ N, Salt uint64 }

// compare holds all of a store's content against what the commits wrote. No more than the counters
// is believed.
func (p past) compare(found map[string][]byte) outcome {
	o := outcome{N: make([]uint64, len(p.Chains)), chains: make([]chain, len(p.Chains))}
	left := maps.Clone(found)
	for w := range p.Chains {
		p.compareWriter(w, left, &o)
	}
	if o.Broken == "" && len(left) > 0 {
		o.Broken = fmt.Sprintf("no prefix: %q was written by nobody", slices.Min(slices.Collect(maps.Keys(left))))
	}
	return o
}

// fill gives values that cannot be read those that commits in doubt wrote. It returns false where
// none of them did.
func (p past) fill(found map[string][]byte, unread []string) bool {
	doubt := map[string][]byte{}
	for w := range p.Unsure {
		for _, u := range p.Unsure[w] {
			s := p.script(w)
			s.playTo(u.N-1, p.Chains[w])
			for _, o := range s.ops(s.play(u.Salt)) {
				doubt[o.key] = o.value
			}
		}
	}
	for _, k := range unread {
		if found[k] = doubt[k]; found[k] == nil {
			return false
		}
	}
	return true
}

// compareWriter takes the writer's keys out of left and adds what they are to o.
func (p past) compareWriter(w int, left map[string][]byte, o *outcome) {
	s := p.script(w)
	mine := map[string][]byte{}
	prefix := fmt.Sprintf("writer%d/", w)
	for k, v := range left {
		if strings.HasPrefix(k, prefix) {
			mine[k] = v
			delete(left, k)
		}
	}
	_, spare := mine[s.spareKey()]
	at, c, known := p.lastOf(w, mine[s.counterKey()], spare)
	if !known {
		o.broken(fmt.Sprintf("no prefix: the counter of writer %d is %q, which no commit in order wrote", w,
			clip(mine[s.counterKey()])))
		return
	}
	was := *o
	was.N, was.chains = slices.Clone(o.N), slices.Clone(o.chains)
	if p.compareWith(w, at, c, mine, o); o.Broken == was.Broken || spare || !s.clears(at.n) {
		return
	}
	// The one before it may be there in part, without what is cleared.
	if p.compareWith(w, stamp{at.n - 1, c.salt(at.n - 1)}, c, mine, &was); was.Broken == "" {
		*o = was
	}
}

// compareWith adds what a writer's pairs are to o, if at is the last commit, or the last but one,
// that is there.
func (p past) compareWith(w int, at stamp, c chain, mine map[string][]byte, o *outcome) {
	s := p.script(w)
	o.N[w], o.chains[w] = at.n, c
	o.refuses(p, w, at)
	s.playTo(at.n, c)
	diff := differences(mine, s.content())
	if len(diff) == 0 {
		return
	}
	before := p.script(w)
	before.playTo(max(at.n, 1)-1, c)
	now := s.content()
	switch {
	case at.n > 0 && explains(mine, diff, before.content()):
		o.N[w]--
		o.torn(fmt.Sprintf("commit %d of writer %d is there in part: %s", at.n, w, describe(diff[0], mine, now)))
	case p.nextExplains(w, at.n, c, mine, diff, o):
		o.torn(fmt.Sprintf("commit %d of writer %d is there in part: %s", at.n+1, w, describe(diff[0], mine, now)))
	default:
		o.broken(fmt.Sprintf("no prefix: after commit %d of writer %d, %s", at.n, w, describe(diff[0], mine, now)))
	}
}

// nextExplains reports whether commit n+1 explains the keys at which got differs from the content
// after commit n. If it has returned an error and was made anew under another salt, either of the
// two may. One that was refused is noted in o.
func (p past) nextExplains(w int, n uint64, c chain, got map[string][]byte, keys []string, o *outcome) bool {
	salts := []uint64{c.salt(n + 1)}
	for _, u := range p.tried(w) {
		if u.N == n+1 {
			salts = append(salts, u.Salt)
		}
	}
	return slices.ContainsFunc(salts, func(salt uint64) bool {
		s := p.script(w)
		s.playTo(n, c)
		s.play(salt)
		if !explains(got, keys, s.content()) {
			return false
		}
		o.refuses(p, w, stamp{n + 1, salt})
		return true
	})
}

// tried returns the commits of a writer that returned an error, whatever that said.
func (p past) tried(w int) (all []stampJSON) {
	for _, of := range [][][]stampJSON{p.Unsure, p.Refused} {
		if w < len(of) {
			all = append(all, of[w]...)
		}
	}
	return all
}

// refuses notes the commit at if it was refused.
func (o *outcome) refuses(p past, w int, at stamp) {
	if s := (stampJSON{at.n, at.salt}); w < len(p.Refused) && slices.Contains(p.Refused[w], s) {
		o.Refused = append(o.Refused, refused{w, s})
	}
}

// chainOf returns the chain in which the commit at is in its place, which a commit that returned an
// error may also be.
func (p past) chainOf(w int, at stamp) (chain, bool) {
	c := p.Chains[w]
	if at.n == 0 || c.salt(at.n) == at.salt {
		return c, true
	}
	if slices.Contains(p.tried(w), stampJSON{at.n, at.salt}) {
		return c.from(at.n-1, at.salt), true
	}
	return nil, false
}

// lastOf returns the last commit of a writer that is there, and the chain in which it is in its
// place, by its counter, and by whether what the next one would clear is there. It returns false if
// no commit in order wrote that.
func (p past) lastOf(w int, counter []byte, spare bool) (at stamp, c chain, known bool) {
	at, err := parseCounter(counter)
	if err != nil {
		return at, nil, false
	}
	if c, known = p.chainOf(w, at); known && !spare && p.Work.clears(at.n+1) {
		at = stamp{at.n + 1, c.salt(at.n + 1)}
	}
	return at, c, known
}

// parseCounter reads a counter; none at all is that of no commits.
func parseCounter(v []byte) (at stamp, err error) {
	if v == nil {
		return at, nil
	}
	n, salt, _ := strings.Cut(string(v), " ")
	salt, _, _ = strings.Cut(salt, " ")
	if at.n, err = strconv.ParseUint(n, 10, 64); err == nil {
		at.salt, err = strconv.ParseUint(salt, 10, 64)
	}
	if err == nil && at.n == 0 {
		err = strconv.ErrRange
	}
	return at, err
}

// differences returns the keys at which two contents differ, sorted.
func differences(got, want map[string][]byte) []string {
	var keys []string
	for k, v := range want {
		if g, ok := got[k]; !ok || !bytes.Equal(g, v) {
			keys = append(keys, k)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// explains reports whether got is as other at all of keys.
func explains(got map[string][]byte, keys []string, other map[string][]byte) bool {
	for _, k := range keys {
		g, there := got[k]
		o, want := other[k]
		if there != want || !bytes.Equal(g, o) {
			return false
		}
	}
	return true
}

func describe(key string, got, want map[string][]byte) string {
	g, there := got[key]
	w, wanted := want[key]
	switch {
	case !there:
		return fmt.Sprintf("%s is missing", key)
	case !wanted:
		return fmt.Sprintf("%s is back: %q", key, clip(g))
	}
	return fmt.Sprintf("%s is %q, not %q", key, clip(g), clip(w))
}

func clip(v []byte) string {
	const most = 48
	if len(v) > most {
		return string(v[:most]) + "…"
	}
	return string(v)
}

func (o *outcome) broken(what string) {
	if o.Broken == "" {
		o.Broken = what
	}
}

func (o *outcome) torn(what string) {
	if o.Torn == "" {
		o.Torn = what
	}
}
