package powerfs

import (
	"bytes"
	"fmt"
	"slices"
)

// forbids returns why the rule does not allow the image after this history, "" if it does. It tries
// every choice that the rule leaves.
func (h *history) forbids(r Rule, img *Image) string {
	switch {
	case r.Survivors == Everything:
		return h.differs(img, h.entries(everything), func(int) keep { return everything })
	case r.Survivors == Nothing && r.Entries == Strict:
		return h.differs(img, h.strictTree(h.strict(), 0, nil), func(f int) keep { return h.own(f, 0) })
	case r.Survivors == Nothing:
		committed, logged := h.journal(r.Entries)
		return h.differs(img, h.strictTree(logged, committed, nil),
			func(f int) keep { return h.ordered(f, committed, 0) })
	case r.Survivors == Prefix:
		return h.noPrefix(r.Entries, img)
	case r.Entries == Strict:
		return h.noStrictSubset(img, h.strict(), r.Survivors == Sectors)
	}
	return h.noJournaledSubset(r.Entries, img, r.Survivors == Sectors)
}

// journal returns until where the one journal is durable, and which acts on entries are besides.
func (h *history) journal(e Entries) (committed int, besides map[int]bool) {
	if e == PerFile {
		return 0, h.logged()
	}
	return h.committed(), nil
}

func until(at int) keep {
	return func(a act) int {
		if a.at <= at {
			return all
		}
		return 0
	}
}

// own keeps what the file's own sync has made durable, and all until a moment.
func (h *history) own(file, moment int) keep { return until(max(h.lastSync(file), moment)) }

// ordered keeps what is certain of a file where the journal is durable until some act.
func (h *history) ordered(file, journal, moment int) keep {
	sure := max(h.lastSync(file), moment)
	return func(a act) int {
		if a.at <= sure || a.journaled() && a.at <= journal {
			return all
		}
		return 0
	}
}

// strictTree returns the entries that durable acts, all until a moment, and the chosen ones make.
func (h *history) strictTree(durable map[int]bool, moment int, chosen map[int]bool) map[entry]int {
	return h.entries(func(a act) int {
		if durable[a.at] || chosen[a.at] || a.at <= moment {
			return all
		}
		return 0
	})
}

// files returns the image's files by the numbers that the tree gives them; why is empty if names,
// types and links are those of the tree.
func (h *history) files(img *Image, tree map[entry]int) (found map[int]File, why string) {
	found, numbers := make(map[int]File), make(map[*node]int)
	count := 0
	var match func(n *node, number int) string
	match = func(n *node, number int) string {
		if known, ok := numbers[n]; ok && known != number {
			return fmt.Sprintf("%d and %d are one file", known, number)
		}
		if f, ok := found[number]; ok && f.node != n {
			return fmt.Sprintf("%d is two files", number)
		}
		if n.mode&ModeType != h.mode(number) {
			return fmt.Sprintf("%d has type %o", number, n.mode&ModeType)
		}
		numbers[n], found[number] = number, n.file(fmt.Sprint(number))
		want := 0
		for e := range tree {
			if e.dir == number {
				want++
			}
		}
		if len(n.entries) != want {
			return fmt.Sprintf("folder %d has %d entries, want %d", number, len(n.entries), want)
		}
		for name, child := range n.entries {
			count++
			to, ok := tree[entry{number, name}]
			if !ok {
				return fmt.Sprintf("folder %d has an entry %s", number, name)
			}
			if why := match(child, to); why != "" {
				return why
			}
		}
		return ""
	}
	return found, match(img.root, top)
}

// differs holds the image against the one outcome.
func (h *history) differs(img *Image, tree map[entry]int, kept func(file int) keep) string {
	found, why := h.files(img, tree)
	if why != "" {
		return why
	}
	number := h.wrong(found, kept)
	if number == 0 {
		return ""
	}
	got, err := found[number].Bytes()
	return fmt.Sprintf("file %d: %v\n got %s\nwant %s", number, err, brief(got), brief(h.content(number, kept(number))))
}

// wrong returns a file that does not hold what is kept of it, 0 if there is none.
func (h *history) wrong(found map[int]File, kept func(file int) keep) int {
	for number, f := range found {
		if h.mode(number) != ModeFile {
			continue
		}
		k := kept(number)
		if int(f.Size) != h.size(number, k) {
			return number
		}
		if got, err := f.Bytes(); err != nil || !bytes.Equal(got, h.content(number, k)) {
			return number
		}
	}
	return 0
}

// noPrefix tries every moment and, if a write was then under way, every part of it that ends with a
// sector.
func (h *history) noPrefix(entries Entries, img *Image) string {
	durable := h.strict()
	committed, besides := h.journal(entries)
	for moment := range h.now + 1 {
		tree := h.strictTree(durable, moment, nil)
		if entries != Strict {
			tree = h.strictTree(besides, max(committed, moment), nil)
		}
		found, why := h.files(img, tree)
		if why != "" {
			continue
		}
		certain := func(file int) keep {
			if entries == Strict {
				return h.own(file, moment)
			}
			return h.ordered(file, max(committed, moment), moment)
		}
		for _, torn := range h.tears(moment, found, certain) {
			kept := func(file int) keep {
				return func(a act) int { return max(certain(file)(a), torn(a)) }
			}
			if h.wrong(found, kept) == 0 {
				return ""
			}
		}
	}
	return "no moment explains it"
}

// tears returns the parts that may survive of the first write behind the moment, nothing being one.
// There are more only if no other change of a file, that is not certain, comes before the write.
func (h *history) tears(moment int, found map[int]File, certain func(file int) keep) []keep {
	tears := []keep{func(act) int { return 0 }}
	for _, a := range h.acts {
		if _, seen := found[a.file]; a.at <= moment || !a.onFile() || !seen || certain(a.file)(a) > 0 {
			continue
		}
		if a.kind != writing {
			return tears
		}
		for end := (a.off/sectorSize + 1) * sectorSize; end < a.off+len(a.data); end += sectorSize {
			tears = append(tears, func(b act) int {
				if b.at == a.at {
					return end - a.off
				}
				return 0
			})
		}
		return tears
	}
	return tears
}

// noJournaledSubset tries every length of the journal.
func (h *history) noJournaledSubset(e Entries, img *Image, torn bool) string {
	last := "no length of the journal has these entries"
	committed, besides := h.journal(e)
	for journal := committed; journal <= h.now; journal++ {
		found, why := h.files(img, h.strictTree(besides, journal, nil))
		if why != "" {
			continue
		}
		last = ""
		for number, f := range found {
			if h.mode(number) != ModeFile {
				continue
			}
			certain := h.ordered(number, journal, 0)
			if last = h.noSubset(number, f, certain, h.surviving(number, certain, false), torn); last != "" {
				break
			}
		}
		if last == "" {
			return ""
		}
	}
	return last
}

// mostPending bounds the sets of acts that are tried.
const mostPending = 8

// noStrictSubset tries every set of the pending acts on entries that holds what its acts stand on,
// unless there are too many.
func (h *history) noStrictSubset(img *Image, durable map[int]bool, torn bool) string {
	var pending []act
	for _, a := range h.acts {
		if a.kind == entering && !durable[a.at] {
			pending = append(pending, a)
		}
	}
	if len(pending) > mostPending {
		return ""
	}
	last := "no set of acts has these entries"
	for mask := range 1 << len(pending) {
		chosen, ok := chosenBy(mask, pending)
		if !ok {
			continue
		}
		found, why := h.files(img, h.strictTree(durable, 0, chosen))
		if why != "" {
			continue
		}
		for number, f := range found {
			if h.mode(number) != ModeFile {
				continue
			}
			own := h.own(number, 0)
			certain := func(a act) int { // a truncation that is not the one that ends its list
				if a.journaled() {
					return all
				}
				return own(a)
			}
			if why := h.noSubset(number, f, certain, h.surviving(number, own, true), torn); why != "" {
				last = why // two files may have changed places: others may fit
				found = nil
				break
			}
		}
		if found != nil {
			return ""
		}
	}
	return last
}

// chosenBy returns the acts whose bit is set; ok is false if one of them stands on an act that is
// not chosen.
func chosenBy(mask int, pending []act) (chosen map[int]bool, ok bool) {
	chosen = make(map[int]bool)
	for k, a := range pending {
		for j, earlier := range pending[:k] {
			if mask>>k&1 == 1 && mask>>j&1 == 0 && a.standsOn(earlier) {
				return nil, false
			}
		}
		chosen[a.at] = mask>>k&1 == 1
	}
	return chosen, true
}

// surviving returns the acts on a file that can survive, in order: one that is journaled and does
// not takes the later ones with it. Where any of them may be that one, there are several lists.
func (h *history) surviving(file int, certain keep, anywhere bool) [][]act {
	var lists [][]act
	var list []act
	for _, a := range h.acts {
		if a.file != file || !a.onFile() {
			continue
		}
		if a.journaled() && certain(a) == 0 {
			lists = append(lists, slices.Clone(list))
			if !anywhere {
				return lists
			}
		}
		list = append(list, a)
	}
	return append(lists, list)
}

// noSubset holds a file against the lists: the size may be that after any of a list's acts, or
// after some pages of it; each page may be as after any act, and of the torn ones each sector may
// be of either of two.
func (h *history) noSubset(file int, f File, certain keep, lists [][]act, torn bool) string {
	got, err := f.Bytes()
	if err != nil {
		return err.Error()
	}
	why := ""
	for _, list := range lists {
		fitting := false
		var versions [][]byte
		for k := range len(list) + 1 {
			kept := (&history{acts: list}).first(k, certain)
			fitting = fitting || kept.size(file, everything) == len(got) || k > 0 && list[k-1].mayEnd(len(got)) &&
				kept.size(file, everything) > len(got)
			versions = append(versions, kept.bytes(file, everything))
		}
		if !fitting {
			why = fmt.Sprintf("file %d has a size of %d", file, len(got))
			continue
		}
		if why = noVersion(versions, got, torn); why == "" {
			return ""
		}
		why = fmt.Sprintf("file %d: %s", file, why)
	}
	return why
}

// mayEnd reports whether a write may have let the file grow until there and no further: pages that
// are written together carry the size with them.
func (a act) mayEnd(size int) bool {
	return a.kind == writing && !a.clears && a.off < size && size < a.off+a.n && size%pageSize == 0
}

// first returns the first k acts and the later ones that are certain. Those that are kept in part
// do not occur.
func (h *history) first(k int, certain keep) *history {
	kept := &history{}
	for i, a := range h.acts {
		if i < k || certain(a) > 0 {
			kept.acts = append(kept.acts, a)
		}
	}
	return kept
}

// noVersion returns a page that no version, or no two of them by sectors, explain.
func noVersion(versions [][]byte, got []byte, torn bool) string {
	for from := 0; from < len(got); from += pageSize {
		to := min(from+pageSize, len(got))
		fits := func(a, b []byte) bool {
			for at := from; at < to; at += sectorSize {
				end := min(at+sectorSize, to)
				if !bytes.Equal(got[at:end], a[at:end]) && !bytes.Equal(got[at:end], b[at:end]) {
					return false
				}
			}
			return true
		}
		explained := slices.ContainsFunc(versions, func(a []byte) bool {
			if !torn {
				return bytes.Equal(got[from:to], a[from:to])
			}
			return slices.ContainsFunc(versions, func(b []byte) bool { return fits(a, b) })
		})
		if !explained {
			return fmt.Sprintf("no write explains the page at %d: %s", from, brief(got[from:to]))
		}
	}
	return ""
}
