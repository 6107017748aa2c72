package prove

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// told returns a transaction of client 1 that writes the number n to a cell.
func told(n uint64, what Told, call, back int64) Transaction {
	return Transaction{Client: 1, N: n, Call: call, Return: back, Told: what, Writes: map[int]uint64{int(n) % Cells: n}}
}

// left returns what remains where some transactions were done.
func left(done ...Transaction) remains {
	r := remains{cells: map[int]uint64{}, counts: map[int]uint64{}, records: map[string]string{}}
	for _, t := range done {
		maps.Copy(r.cells, t.Writes)
		r.counts[t.Client]++
		r.records[string(recordKey(t.Client, t.N))] = string(recordOf(t.Writes))
	}
	return r
}

func TestHistoriesOfServersAreJudged(t *testing.T) {
	one, two, three := told(1, Acknowledged, 10, 20), told(2, Acknowledged, 30, 40), told(3, Acknowledged, 50, 60)
	undone, doubt, cut := told(4, Undone, 70, 80), told(4, InDoubt, 70, 80), told(4, "", 70, 0)
	all := []Transaction{one, two, three}
	wrongCount, wrongRecord, foreign, wrongCell := left(all...), left(all...), left(all...), left(all...)
	wrongCount.counts[1] = 2
	wrongRecord.records[string(recordKey(1, 2))] = "map[]"
	foreign.records[string(recordKey(9, 1))] = "map[]"
	wrongCell.cells[5] = 99
	for _, c := range []struct {
		name    string
		all     []Transaction
		left    remains
		lossy   bool // nothing is promised of what was acknowledged
		crashes []moment
		at      int64
		lost    int64
		broken  string
	}{
		{"all is there", all, left(all...), false, nil, 100, 0, ""},
		{"the last is lost", all, left(one, two), false, nil, 100, 1, ""},
		{"one amid others is lost", all, left(one, three), false, nil, 100, 1, "acknowledged before it began"},
		{"nobody promised the last", all, left(one, two), true, nil, 100, 1, ""},
		{"a hole where nothing was promised", all, left(one, three), true, nil, 100, 1, "acknowledged before it began"},
		{"a crash took one", all, left(one, three), true, []moment{{41, 45}}, 100, 1, ""},
		{"a crash amid it took one", all, left(one, three), true, []moment{{32, 35}}, 100, 1, ""},
		{"it was not acknowledged before the cut", all, left(one, two), false, nil, 60, 0, ""},
		{"it had begun before the cut", all, left(all...), false, nil, 55, 0, ""},
		{"it had not begun before the cut", all, left(all...), false, nil, 50, 0, "had not begun"},
		{"it was undone", append(all, undone), left(all...), false, nil, 100, 0, ""},
		{"it was said to be undone", append(all, undone), left(append(all, undone)...), false, nil, 100, 0, "is undone"},
		{"in doubt, and done", append(all, doubt), left(append(all, doubt)...), false, nil, 100, 0, ""},
		{"in doubt, and not done", append(all, doubt), left(all...), false, nil, 100, 0, ""},
		{"its client was killed, and it was done", append(all, cut), left(append(all, cut)...), false, nil, 100, 0, ""},
		{"its number is wrong", all, wrongCount, false, nil, 100, 0, "their number says 2"},
		{"its record is another one", all, wrongRecord, false, nil, 100, 0, "its record is"},
		{"nobody wrote it", all, foreign, false, nil, 100, 0, "nobody wrote it"},
		{"nobody wrote a cell", all, wrongCell, false, nil, 100, 0, "cell 5 holds 99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			j := judgement{at: c.at, crashes: c.crashes, keeps: !c.lossy}
			j.explain = func(ordered []Transaction) (bool, bool) {
				asked = true
				for _, tx := range ordered[:len(ordered)-1] {
					if tx.Told == Acknowledged && tx.Return >= c.at {
						t.Errorf("%+v was not acknowledged by then", tx)
					}
				}
				return true, true
			}
			f := j.judge(c.all, c.left)
			if f.lost != c.lost || !strings.Contains(f.broken, c.broken) || c.broken == "" && f.broken != "" {
				t.Errorf("lost %d, broken %q; want %d, %q", f.lost, f.broken, c.lost, c.broken)
			}
			if asked != (c.broken == "") {
				t.Errorf("the order was asked for: %v", asked)
			}
		})
	}
}

func TestAnOrderThatExplainsNothingIsABrokenPromise(t *testing.T) {
	all := []Transaction{told(1, Acknowledged, 10, 20)}
	for _, c := range []struct{ explained, checked bool }{{false, true}, {false, false}, {true, true}} {
		j := judgement{at: 100, keeps: true}
		j.explain = func([]Transaction) (bool, bool) { return c.explained, c.checked }
		f := j.judge(all, left(all...))
		if broken := c.checked && !c.explained; broken != (f.broken != "") || f.unchecked == c.checked {
			t.Errorf("explained %v, checked %v: %+v", c.explained, c.checked, f)
		}
	}
}

// What those who only read have seen is held against the writes alone, and what those who write
// have read against each other, where the two have no order in common.
func TestViewsStandApart(t *testing.T) {
	one := told(1, Acknowledged, 10, 20)
	one.Reads = map[int]uint64{7: 0}
	view := Transaction{Client: 2, N: 1, Call: 30, Return: 40, Told: Acknowledged, Reads: map[int]uint64{1: 1}}
	var asked [][]Transaction
	j := judgement{at: 100, keeps: true, apart: true}
	j.explain = func(some []Transaction) (bool, bool) {
		asked = append(asked, some)
		return true, true
	}
	if f := j.judge([]Transaction{one, view}, left(one)); f.broken != "" || len(asked) != 2 {
		t.Fatalf("%+v, asked %d times", f, len(asked))
	}
	if w := asked[0]; len(w) != 2 || len(w[0].Reads) != 1 || w[1].Client != allThatRemains {
		t.Errorf("those who write: %+v", w)
	}
	if r := asked[1]; len(r) != 3 || r[0].Reads != nil || r[1].Client != 2 || r[2].Client != allThatRemains {
		t.Errorf("those who read: %+v", r)
	}
}

func TestWhatTheEntrySaysGoesBeforeWhatNamesTheServer(t *testing.T) {
	e := plainEntries("postgres")[0]
	e.Options = "timeout=3"
	if got, want := storeURL(e, "round1", "dsn=x&timeout=120"), "postgres:round1?timeout=3&dsn=x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.Options = ""
	if got, want := storeURL(e, "round1", "dsn=x"), "postgres:round1?dsn=x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A server that does not start is no path that does not exist; and none that was interrupted.
func TestAServerThatDoesNotStart(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		silent := Servers{Explain: func([]Transaction) (bool, bool) { return true, true }}
		silent.Start = func(string) (Server, error) {
			if interrupted {
				interrupt()
			}
			return nil, errors.New("it says nothing")
		}
		o := options(t, "bbolt", kv.Synced)
		_, err := RunServers(ctx, o, map[string]Servers{"bbolt": silent}, nil)
		if errors.Is(err, context.Canceled) != interrupted || errors.Is(err, kv.NoStore) || kv.HintOf(err) != "" {
			t.Errorf("interrupted %v: %v (hint %q)", interrupted, err, kv.HintOf(err))
		}
		if !interrupted && !strings.Contains(err.Error(), "it says nothing") {
			t.Errorf("%v", err)
		}
	}
}
