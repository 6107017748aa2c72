package prove

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestHistoryIsAFunctionOfSeedWriterNumberAndSalt(t *testing.T) {
	c := chain{{Salt: 5, UpTo: 30}, {Salt: 6}}
	one, two := newScript(1, 0), newScript(1, 0)
	store := map[string][]byte{}
	for n := uint64(1); n <= 60; n++ {
		for _, o := range one.ops(one.play(c.salt(n))) {
			if o.value == nil {
				if _, ok := store[o.key]; !ok {
					t.Fatalf("commit %d deletes %s, which is not there", n, o.key)
				}
				delete(store, o.key)
			} else {
				store[o.key] = o.value
			}
		}
		two.playTo(n, c)
		if want := two.content(); !maps.EqualFunc(store, want, bytes.Equal) {
			t.Fatalf("commit %d: the writes give %d keys, the content has %d; they differ at %v", n, len(store),
				len(want), differences(store, want))
		}
	}
}

func TestSomeCommitsAreOfOnePair(t *testing.T) {
	s, sizes, p := newScript(1, 0), map[int]bool{}, past{Seed: 1, Chains: []chain{{{Salt: 5}}}}
	for n := uint64(1); n <= 70; n++ {
		ops := s.ops(s.play(5))
		if alone := len(ops) == 1; alone != s.alone(n) {
			t.Fatalf("commit %d has %d pairs", n, len(ops))
		} else if alone {
			sizes[len(ops[0].value)/64] = true
		}
		content := s.content()
		_, spare := content[s.spareKey()]
		if at, _, known := p.lastOf(0, content[s.counterKey()], spare); !known || at != (stamp{n, 5}) {
			t.Errorf("the counter of commit %d reads %v, %v", n, at, known)
		}
	}
	if len(sizes) < 3 {
		t.Errorf("they are all alike: %v", sizes)
	}
}

// A commit that only deletes leaves no number behind.
func TestACommitThatOnlyDeletesIsKnownByWhatIsGone(t *testing.T) {
	c := chain{{Salt: 5}}
	p := past{Seed: 1, Chains: []chain{c}}
	n := uint64(2)
	for !p.Work.clears(n) {
		n++
	}
	s := newScript(1, 0)
	s.playTo(n-1, c)
	if o := p.compare(s.content()); o.Broken != "" || o.Torn != "" || o.N[0] != n-1 {
		t.Errorf("before it: %+v", o)
	}
	part := s.content()
	delete(part, s.spareKey())
	delete(part, s.recordKey(n-1))
	if o := p.compare(part); o.Torn == "" || o.N[0] != n-2 {
		t.Errorf("the commit before it in part: %+v", o)
	}
	if ops := s.ops(s.play(5)); len(ops) != 1 || ops[0].value != nil {
		t.Errorf("it does %+v", ops)
	}
	if o := p.compare(s.content()); o.Broken != "" || o.Torn != "" || o.N[0] != n {
		t.Errorf("behind it: %+v", o)
	}
}

func TestTransfersKeepTheSumOfTheAccounts(t *testing.T) {
	s := newScript(3, 1)
	for range 200 {
		s.play(9)
		sum := 0
		for k, v := range s.content() {
			if strings.Contains(k, "/account/") {
				balance, err := strconv.Atoi(strings.Fields(string(v))[0])
				if err != nil {
					t.Fatal(err)
				}
				sum += balance
			}
		}
		if sum != accounts*opening {
			t.Fatalf("after commit %d the accounts hold %d, not %d", s.last.n, sum, accounts*opening)
		}
	}
}

func TestAnotherSaltGivesOtherValuesOfTheSameCommit(t *testing.T) {
	a, b := newScript(1, 0), newScript(1, 0)
	for range 50 {
		before, other := a.ops(a.play(1)), b.ops(b.play(2))
		for _, o := range before {
			i := slices.IndexFunc(other, func(p op) bool { return p.key == o.key })
			if i >= 0 && len(o.value) > 0 && bytes.Equal(o.value, other[i].value) {
				t.Errorf("commit %d writes the same %q to %s under both salts", a.last.n, clip(o.value), o.key)
			}
		}
	}
}

func TestValueOfTheSameCommitUnderAnEarlierSaltIsFound(t *testing.T) {
	lost := newScript(1, 0)
	lost.playTo(11, chain{{Salt: 5}})
	p := past{Seed: 1, Chains: []chain{{{Salt: 5, UpTo: 10}, {Salt: 6}}}}
	s := newScript(1, 0)
	s.playTo(11, p.Chains[0])
	found := s.content()
	found[s.recordKey(11)] = lost.content()[s.recordKey(11)]
	found[s.counterKey()] = s.counter()
	if o := p.compare(found); o.Torn == "" && o.Broken == "" {
		t.Errorf("the record of a commit that was lost came back: %+v", o)
	}
}

func TestNoSaltIsUsedTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a chain went on with a salt that it has")
		}
	}()
	chain{{Salt: 5, UpTo: 10}, {Salt: 6}}.next(12, 5)
}

func TestCompareFindsWhatTheStoreHolds(t *testing.T) {
	c := chain{{Salt: 5}}
	p := past{Seed: 1, Chains: []chain{c, c}}
	at := func(w int, n uint64) map[string][]byte {
		s := newScript(1, w)
		s.playTo(n, c)
		return s.content()
	}
	state := func(n0, n1 uint64) map[string][]byte {
		all := at(0, n0)
		maps.Copy(all, at(1, n1))
		return all
	}
	s := newScript(1, 0)
	s.playTo(40, c)
	moved := s.ops(s.play(5)) // of commit 41
	for name, one := range map[string]struct {
		change       func(m map[string][]byte)
		n            []uint64
		torn, broken string
	}{
		"an empty store":   {change: func(m map[string][]byte) { clear(m) }, n: []uint64{0, 0}},
		"what was written": {change: func(map[string][]byte) {}, n: []uint64{40, 7}},
		"a next commit without end": {change: func(m map[string][]byte) { m[moved[0].key] = moved[0].value },
			n: []uint64{40, 7}, torn: "commit 41 of writer 0"},
		"a last commit without head": {change: func(m map[string][]byte) {
			maps.Copy(m,
				map[string][]byte{moved[2].key: moved[2].value})
		}, n: []uint64{40, 7}, torn: "commit 41 of writer 0"},
		"a value of long ago": {change: func(m map[string][]byte) {
			m["writer0/account/0"] = at(0,
				1)["writer0/account/0"]
		}, n: []uint64{40, 7}, broken: "writer0/account/0"},
		"a record of long ago": {change: func(m map[string][]byte) {
			m["writer0/record/00000003"] = at(0,
				3)["writer0/record/00000003"]
		}, n: []uint64{40, 7}, broken: "is back"},
		"a missing record": {change: func(m map[string][]byte) { delete(m, "writer1/record/00000002") },
			n: []uint64{40, 7}, broken: "is missing"},
		"a key of nobody": {change: func(m map[string][]byte) { m["x"] = nil }, n: []uint64{40, 7},
			broken: `"x"`},
		"a counter that is noise": {change: func(m map[string][]byte) { m["writer0/count"] = []byte("x") },
			n: []uint64{0, 7}, broken: "counter of writer 0"},
		"a counter of another salt": {change: func(m map[string][]byte) { m["writer0/count"] = []byte("40 4") },
			n: []uint64{0, 7}, broken: "counter of writer 0"},
	} {
		found := state(40, 7)
		one.change(found)
		o := p.compare(found)
		if !slices.Equal(o.N, one.n) || (o.Torn == "") != (one.torn == "") || (o.Broken == "") != (one.broken == "") ||
			!strings.Contains(o.Torn, one.torn) || !strings.Contains(o.Broken, one.broken) {
			t.Errorf("%s: got %+v, want %v torn %q broken %q", name, o, one.n, one.torn, one.broken)
		}
	}
}

func TestCommitThatReturnedAnErrorMayBeThereOrNot(t *testing.T) {
	old := chain{{Salt: 5}}
	p := past{Seed: 1, Chains: []chain{old}}.after(ledger{
		failed:  []failure{{N: 11, Salt: 5}},
		resumed: []resumption{{After: 10, Salt: 6}},
	})
	for _, c := range []chain{old, {{5, 10}, {6, 0}}} {
		s := newScript(1, 0)
		s.playTo(11, c)
		if o := p.compare(s.content()); o.Broken != "" || o.Torn != "" || o.N[0] != 11 {
			t.Errorf("chain %v: %+v", c, o)
		}
	}
	part := newScript(1, 0)
	part.playTo(10, old)
	found := part.content()
	o := part.ops(part.play(5))[0]
	found[o.key] = o.value
	if o := p.compare(found); o.Torn == "" || o.Broken != "" || o.N[0] != 10 {
		t.Errorf("the failed commit in part: %+v", o)
	}
	denied := past{Seed: 1, Chains: []chain{old}}.after(ledger{
		failed:  []failure{{N: 11, Salt: 5, Denied: true}},
		resumed: []resumption{{After: 10, Salt: 6}},
	})
	there := newScript(1, 0)
	there.playTo(11, old)
	got := denied.compare(there.content())
	if want := []refused{{0, stampJSON{11, 5}}}; got.Broken != "" || !slices.Equal(got.Refused, want) {
		t.Errorf("of the commit whose error said that nothing of it is there: %+v", got)
	}
	tr := trial{past: denied, ledger: ledger{failed: []failure{{N: 11, Salt: 5, Denied: true, At: 50}}}}
	for tr.at = range int64(100) { // until the error is told the commit may be there
		c := &cell{}
		if c.judge(tr, got); (c.whole.failed > 0) != (tr.at > 50) {
			t.Errorf("at %d, with an error told at 50, %d states are broken: %s", tr.at, c.whole.failed, c.What)
		}
	}
	s := newScript(1, 0)
	s.playTo(13, old) // the 12th only clears, which looks alike under each salt
	if o := p.compare(s.content()); o.Broken == "" {
		t.Errorf("a commit after the failed one, under the old salt, passed: %+v", o)
	}
}

// TestAClearingCommitInDoubtIsNotTheOneThatWasRefused has a commit in doubt be tried again, and
// refused.
func TestAClearingCommitInDoubtIsNotTheOneThatWasRefused(t *testing.T) {
	p := newPast(7, 1)
	n := uint64(1)
	for !p.Work.clears(n) {
		n++
	}
	for _, c := range []struct {
		what    string
		n       uint64
		inDoubt bool // by this process
		past    []stampJSON
		denied  bool
	}{
		{"alone", n, false, nil, true},
		{"behind one in doubt", n, true, nil, false},
		{"behind one in doubt of an earlier process", n, false, []stampJSON{{N: n}}, false},
		{"behind another one in doubt", n, false, []stampJSON{{N: n - 1}}, true},
		{"one that puts, behind one in doubt", n + 1, true, []stampJSON{{N: n + 1}}, true},
	} {
		s := &state{subject: &keys{}, unsure: make([]uint64, 1)}
		p.Unsure = [][]stampJSON{c.past}
		if c.inDoubt && s.denies(p, 0, c.n, kv.InDoubt) {
			t.Errorf("%s: one in doubt is refused", c.what)
		}
		if got := s.denies(p, 0, c.n, kv.Stopped); got != c.denied {
			t.Errorf("%s: refused: %v, want %v", c.what, got, c.denied)
		}
	}
}

func TestValuesThatCannotBeReadAreOfACommitInDoubt(t *testing.T) {
	p := newPast(7, 1)
	p.Unsure = [][]stampJSON{{{N: 6, Salt: p.Chains[0].salt(6)}}}
	s := p.script(0)
	s.playTo(6, p.Chains[0])
	for n, want := range map[uint64]bool{6: true, 4: false} {
		found, lost := s.content(), s.recordKey(n)
		if _, there := found[lost]; !there {
			t.Fatalf("there is no record %d", n)
		}
		delete(found, lost)
		if got := p.fill(found, []string{lost}); got != want {
			t.Errorf("the record of commit %d: %v, want %v", n, got, want)
		}
		if o := p.compare(found); want && (o.Broken != "" || o.Torn != "" || o.N[0] != 6) {
			t.Errorf("filled in: %+v", o)
		}
	}
}
