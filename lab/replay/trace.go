// Package replay does again, on any engine, what a program did with its store while package
// observe/capture recorded it. A recording is a [workload.Workload], so that it is measured as any
// other. Every read is compared with what the program read.
package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe/capture"
)

// Trace is a recording in memory, as transactions in an order in which they can be done one after
// the other with the results that they had: a transaction stands where it was committed, a
// snapshot, with all that was read from it, where it was taken.
type Trace struct {
	Info      capture.Info
	Torn      bool          // the recording does not end as one that was stopped
	Strongest kv.Durability // of the classes that commits asked for; Buffered if there were none
	Commits   int
	Reads     int           // gets, lengths and walks
	Compared  int           // of these, how many have one answer: nothing was committed while their state was taken
	AtOnce    int           // how many transactions ran at the same time, at most
	Pairs     int           // in the store at the start
	Duration  time.Duration // from the start to the last transaction

	pairs     []capture.Record
	units     []*unit
	kept      bool  // values
	contested bool  // commits at the same time wrote the same key
	final     state // of the store, behind the last unit
}

// unit is a transaction: a get, a batch, a view, an update, or a compaction.
type unit struct {
	kind  byte
	class kv.Durability
	at    int64  // when it began, in ms
	began uint64 // records before
	done  uint64 // the record with which it was done
	after int    // units that were done when it began: the first so many
	exact bool   // nothing was committed while its state was taken
	steps []step
}

// step is a part of a unit.
type step struct {
	kind  byte
	key   []byte
	value capture.Value
	ops   []capture.Op
	walk  *capture.Steps
	keys  capture.Digest // of a walk's keys, as the reference has them
}

// Units returns how many transactions there are.
func (t *Trace) Units() int { return len(t.units) }

// Load reads a recording, the first so many transactions of it; 0 is all. It does them once in
// memory, and compares each answer with the recorded one: one that differs is Corrupt, as where
// another process wrote to the store that was recorded.
func Load(file string, most int) (t *Trace, err error) {
	r, err := capture.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l := loader{t: &Trace{Info: r.Info, kept: r.Info.Values == capture.Kept, Strongest: kv.Buffered},
		open: map[uint64]*unit{}, contested: map[string]bool{}}
	for most == 0 || len(l.t.units) < most {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			l.t.Torn = r.Torn
			break
		}
		if err == nil {
			err = l.add(&rec)
		}
		if err != nil {
			return nil, &kv.Error{Op: "replay", Path: file, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
		}
	}
	l.finish()
	if len(l.t.units) == 0 {
		return nil, &kv.Error{Op: "replay", Path: file, Kind: kv.Invalid, Err: errors.New("nothing was recorded"),
			Hint: "use the DB that capture.Start returns"}
	}
	if err := l.t.refer(); err != nil {
		return nil, &kv.Error{Op: "replay", Path: file, Kind: kv.Corrupt, Err: err,
			Hint: "record while no other process writes to the store"}
	}
	return l.t, nil
}

// loader makes units of records.
type loader struct {
	t         *Trace
	records   uint64
	open      map[uint64]*unit // readers and transactions, by number
	contested map[string]bool  // keys that commits at the same time wrote
}

func (l *loader) add(r *capture.Record) error {
	at := l.records
	l.records++
	s := step{kind: r.Kind, key: r.Key, value: r.Value, ops: r.Ops}
	switch r.Kind {
	case capture.Pair:
		l.t.Pairs++
		l.t.pairs = append(l.t.pairs, *r)
	case capture.Get, capture.Write, capture.Compact:
		l.place(&unit{kind: r.Kind, class: r.Class, at: r.At, steps: []step{s}}, at, r.Since)
	case capture.Snapshot:
		u := &unit{kind: r.Kind, at: r.At}
		l.open[r.ID] = u
		l.place(u, at, r.Since)
	case capture.Begin:
		l.open[r.ID] = &unit{kind: r.Kind, class: r.Class, at: r.At, began: at - min(r.Since, at)}
	case capture.Commit:
		u := l.open[r.ID]
		if u == nil || u.kind != capture.Begin {
			return fmt.Errorf("transaction %d is committed and never began", r.ID)
		}
		l.place(u, at, at-u.began)
	case capture.EndOf: // of a transaction that was not committed: nobody else saw it
		delete(l.open, r.ID)
	default:
		u := l.open[r.ID]
		if u == nil {
			return fmt.Errorf("record %d is of a reader that never began", at)
		}
		if r.Kind == capture.Walk || r.Kind == capture.Delete {
			s.walk = &r.Walk
		}
		u.steps = append(u.steps, s)
	}
	return nil
}

// place puts a unit into the order.
func (l *loader) place(u *unit, at, since uint64) {
	t := l.t
	u.done, u.began = at, at-min(since, at)
	u.after = sort.Search(len(t.units), func(i int) bool { return t.units[i].done >= u.began })
	u.exact = u.kind == capture.Begin // what a transaction reads is fixed by the writers' turn
	if !u.exact {
		u.exact = !slices.ContainsFunc(t.units[u.after:], (*unit).commits)
	}
	if u.commits() {
		t.Commits++
		t.Strongest = min(t.Strongest, u.class)
		for _, other := range t.units[u.after:] {
			if other.kind != capture.Begin {
				other.exact = false
			}
			l.contest(u, other)
		}
	}
	t.Duration = max(t.Duration, time.Duration(u.at)*time.Millisecond)
	t.units = append(t.units, u)
}

// contest notes the keys that two batches wrote at the same time: which came last is not known.
func (l *loader) contest(u, other *unit) {
	if u.kind != capture.Write || other.kind != capture.Write {
		return
	}
	mine := map[string]bool{}
	for _, op := range u.steps[0].ops {
		mine[string(op.Key)] = true
	}
	for _, op := range other.steps[0].ops {
		if mine[string(op.Key)] {
			l.contested[string(op.Key)] = true
		}
	}
}

// commits reports whether a unit changes the store.
func (u *unit) commits() bool { return u.kind == capture.Write || u.kind == capture.Begin }

// finish drops what was not done, and what cannot be compared.
func (l *loader) finish() {
	t := l.t
	t.contested = len(l.contested) > 0
	begins := make([]uint64, len(t.units))
	for i, u := range t.units {
		begins[i] = u.began
	}
	slices.Sort(begins)
	for i, u := range t.units {
		began := sort.Search(len(begins), func(i int) bool { return begins[i] > u.done })
		t.AtOnce = max(t.AtOnce, began-i)
		u.steps = slices.Clip(u.steps)
		for i := range u.steps {
			s := &u.steps[i]
			if !s.reads() {
				continue
			}
			t.Reads++
			if u.exact = u.exact && !l.contested[string(s.key)] && (s.walk == nil || !t.contested); u.exact {
				t.Compared++
			}
		}
	}
}

// reads reports whether a step asks the store for something.
func (s *step) reads() bool {
	switch s.kind {
	case capture.Get, capture.Read, capture.Len, capture.Walk:
		return true
	}
	return false
}
