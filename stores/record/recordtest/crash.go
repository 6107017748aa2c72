package recordtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/record"
)

// report is one line that a child writes after a commit: the record with an id now has a version, or is deleted.
type report struct {
	ID      int64
	Version int
	Deleted bool
}

// task is what a child does: change records until it is killed, and report each commit.
type task struct {
	Dir   string
	Class kv.Durability
	First int // version of the first change
}

const killIDs = 40 // few, so that most changes replace a record

// change is what a child does to make a version: a put, or every seventh time a deletion.
func change(version int) report {
	r := rand.New(rand.NewPCG(uint64(version), 5))
	return report{ID: r.Int64N(killIDs), Version: version, Deleted: version%7 == 0}
}

// versioned is the record that a version puts. Its indexed fields change with every version.
func versioned(r report) Item {
	v := item(r.ID, r.Version)
	v.Name = fmt.Sprintf("version %d of %d", r.Version, r.ID)
	return v
}

var killIndexes = record.Options{Indexes: []record.Index{byName, byGroup}}

func testKill(s *suite) {
	dir := s.TempDir()
	state := map[int64]report{} // acknowledged
	version := 1
	classes := s.target.classes()
	for round := range 2 * len(classes) {
		d := classes[round%len(classes)]
		reports := crash.AfterReports[report](s.T, task{Dir: dir, Class: d, First: version}, 10+rand.IntN(70))
		for _, r := range reports {
			state[r.ID] = r
		}
		last := reports[len(reports)-1].Version
		store, closeAll := s.storeIn(dir)
		c := s.items(store, killIndexes)
		s.check(c)
		if s.target.Delivers[d] <= kv.Flushed {
			s.verify(c, state, last)
		}
		state = map[int64]report{}
		for _, v := range s.all(c, record.Span{}) { // what came back is where the next round begins
			s.must("delete", c.Delete(s.ctx(), s.target.classes()[0], record.Int(v.ID)))
		}
		s.check(c)
		version = last + 1000
		closeAll()
	}
}

// verify checks that every acknowledged change is there. The one after the last may be.
func (s *suite) verify(c *record.Collection[Item], state map[int64]report, last int) {
	s.Helper()
	pending := change(last + 1)
	for id, r := range state {
		got, err := c.Get(s.ctx(), record.Int(id))
		for _, want := range []report{r, pending} {
			if want.ID != id {
				continue
			}
			if want.Deleted && kv.KindOf(err) == kv.NotFound || err == nil && reflect.DeepEqual(got, versioned(want)) {
				err, got = nil, Item{ID: -1}
				break
			}
		}
		if got.ID != -1 {
			s.Fatalf("after %d: record %d is %+v, %v, acknowledged was %+v", last, id, got, err, r)
		}
	}
}

// run returns only if it fails.
func (job task) run(target Target) error {
	ctx := context.Background()
	store, err := target.Open(job.Dir)
	if err != nil {
		return err
	}
	o := killIndexes
	o.ZeroID = true
	c, err := store.Items(ctx, target.options(o))
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for version := job.First; ; version++ {
		r := change(version)
		if r.Deleted {
			err = c.Delete(ctx, job.Class, record.Int(r.ID))
		} else {
			v := versioned(r)
			err = c.Put(ctx, job.Class, &v)
		}
		if err == nil {
			err = out.Encode(r)
		}
		if err != nil {
			return err
		}
	}
}
