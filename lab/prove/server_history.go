package prove

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// remains is all that a store holds.
type remains struct {
	cells   map[int]uint64
	counts  map[int]uint64
	records map[string]string
	sum     [sha256.Size]byte
}

// readRemains reads all of a store in one view.
func readRemains(ctx context.Context, db *kv.DB) (remains, error) {
	r := remains{cells: map[int]uint64{}, counts: map[int]uint64{}, records: map[string]string{}}
	digest := sha256.New()
	err := db.View(ctx, func(s *kv.Snapshot) (err error) {
		for k, v := range s.Scan(kv.Range{}) {
			fmt.Fprintf(digest, "%q %q\n", k, v)
			key := string(k)
			if strings.HasPrefix(key, recordPrefix) {
				r.records[key] = string(v)
				continue
			}
			into, name := r.cells, strings.TrimPrefix(key, cellPrefix)
			if strings.HasPrefix(key, countPrefix) {
				into, name = r.counts, strings.TrimPrefix(key, countPrefix)
			}
			i, err := strconv.Atoi(name)
			if err != nil {
				return fmt.Errorf("nobody wrote the key %q", key)
			}
			if into[i], err = strconv.ParseUint(string(v), 10, 64); err != nil {
				return fmt.Errorf("%q holds %q", key, clip(v))
			}
		}
		return nil
	})
	r.sum = [sha256.Size]byte(digest.Sum(nil))
	return r, err
}

// moment is one, between two times, at which a store may have lost what was not durable.
type moment struct{ after, before int64 }

// finding is what a history and what remains of it come to.
type finding struct {
	lost      int64         // acknowledged transactions that are not there
	age       time.Duration // of the oldest of them, at the crash
	broken    string        // what is no state that one order of whole transactions explains; "" is nothing
	unchecked bool          // it could not be told in time whether one order explains all
	sum       [sha256.Size]byte
}

// judgement is how a history is judged.
type judgement struct {
	at      int64 // when what remains was fixed, by clock: a power cut, or the end
	crashes []moment
	keeps   bool // what was acknowledged is to be there
	apart   bool // who only reads has no order in common with those who write
	explain func([]Transaction) (explained, checked bool)
}

// judgementOf returns how a task's histories are judged.
func (s *serverRun) judgementOf(t *task, at int64, crashes []moment) judgement {
	servers := s.servers[t.entry.Engine]
	return judgement{at: at, crashes: crashes, keeps: t.cells[0].Keeps.Claimed, apart: servers.viewsApart(t.entry),
		explain: servers.Explain}
}

// judge holds what remains against what the clients were told.
func (j judgement) judge(all []Transaction, r remains) finding {
	f := finding{sum: r.sum}
	there := func(t Transaction) bool { _, ok := r.records[string(recordKey(t.Client, t.N))]; return ok }
	known, counted, written := map[string]bool{}, map[int]uint64{}, map[uint64]bool{}
	for _, t := range all {
		if len(t.Writes) == 0 {
			continue
		}
		key := string(recordKey(t.Client, t.N))
		known[key] = true
		if !there(t) {
			if t.Told == Acknowledged && t.Return < j.at {
				f.lost++
				f.age = max(f.age, time.Duration(j.at-t.Return))
			}
			continue
		}
		counted[t.Client]++
		for _, v := range t.Writes {
			written[v] = true
		}
		switch want := string(recordOf(t.Writes)); {
		case t.Call >= j.at:
			f.say("%s is there, which had not begun", name(t))
		case t.Told == Undone && t.Return < j.at:
			f.say("%s is there, which its client was told is undone", name(t))
		case r.records[key] != want:
			f.say("%s: its record is %q, not %q", name(t), clip([]byte(r.records[key])), want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.records)) {
		if !known[key] {
			f.say("%s is there, and nobody wrote it", key)
		}
	}
	for _, client := range slices.Sorted(maps.Keys(counted)) {
		if counted[client] != r.counts[client] {
			f.say("client %d: %d of its transactions are there, their number says %d", client, counted[client], r.counts[client])
		}
	}
	for cell, v := range r.cells {
		if !written[v] {
			f.say("cell %d holds %d, and no transaction that is there wrote it", cell, v)
		}
	}
	lossy := !j.keeps || f.lost > 0
	if lossy {
		if hole := j.hole(all, there); hole != "" {
			f.say("%s", hole)
		}
	}
	if f.broken == "" {
		for _, some := range j.parts(j.ordered(all, r, lossy, there)) {
			explained, checked := j.explain(some)
			if f.unchecked = f.unchecked || !checked; checked && !explained {
				f.say("no order of whole transactions explains what %d of them saw", len(some))
			}
		}
	}
	return f
}

// parts returns the transactions that an order is to explain each: all together or, where views
// stand apart, those who write, and those who only read beside what the others wrote.
func (j judgement) parts(all []Transaction) [][]Transaction {
	if !j.apart {
		return [][]Transaction{all}
	}
	var writing, reading []Transaction
	for _, t := range all {
		if len(t.Writes) > 0 || t.Client == allThatRemains {
			writing = append(writing, t)
		}
		if len(t.Writes) > 0 {
			t.Reads = nil
		}
		reading = append(reading, t)
	}
	return [][]Transaction{writing, reading}
}

// allThatRemains is the client of the transaction that reads all that remains.
const allThatRemains = -1

func (f *finding) say(format string, args ...any) {
	if f.broken == "" {
		f.broken = fmt.Sprintf(format, args...)
	}
}

func name(t Transaction) string { return fmt.Sprintf("transaction %d of client %d", t.N, t.Client) }

// hole returns how what is there of one client, between two crashes, is no prefix of what it did
// there.
func (j judgement) hole(all []Transaction, there func(Transaction) bool) string {
	type span struct{ client, crashes int }
	missing := map[span]Transaction{}
	for _, t := range all { // those of one client are in order
		over, begun := j.crashesBefore(t)
		if len(t.Writes) == 0 || t.Told != Acknowledged || over != begun || t.Return >= j.at {
			continue
		}
		at := span{t.Client, over}
		if first, ok := missing[at]; ok && there(t) {
			return fmt.Sprintf("%s is there, and transaction %d, acknowledged before it began, is not", name(t), first.N)
		} else if !ok && !there(t) {
			missing[at] = t
		}
	}
	return ""
}

// crashesBefore returns how many crashes were over when a transaction began, and how many had begun
// when it ended: as many if none may have come amid it.
func (j judgement) crashesBefore(t Transaction) (over, begun int) {
	for _, crash := range j.crashes {
		if crash.before < t.Call {
			over++
		}
		if crash.after < t.Return {
			begun++
		}
	}
	return over, begun
}

// ordered returns the transactions that one order is to explain, the reading of all that remains as
// the last. Where some are lost, these are only those which are there.
func (j judgement) ordered(all []Transaction, r remains, lossy bool, there func(Transaction) bool) []Transaction {
	var out []Transaction
	for _, t := range all {
		if t.Call >= j.at {
			continue
		}
		if t.Told == Acknowledged && t.Return >= j.at {
			t.Told = "" // nobody had been told
		}
		writes := len(t.Writes) > 0
		if t.Told == Undone || t.Open() && !writes || lossy && !(writes && there(t)) {
			continue
		}
		if t.Open() {
			t.Return = math.MaxInt64
		}
		out = append(out, t)
	}
	last := Transaction{Client: allThatRemains, Call: j.at, Return: j.at + 1, Told: Acknowledged,
		Reads: map[int]uint64{}}
	for cell := range Cells {
		last.Reads[cell] = r.cells[cell]
	}
	return append(out, last)
}
