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

// report is one line that a child writes after a commit: the record with an id now has a version,
// or is deleted.
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
	Rich  bool
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
	classes := s.Classes()
	for round := range 2 * len(classes) {
		d := classes[round%len(classes)]
		reports := crash.AfterReports[report](s.T, task{Dir: dir, Class: d, First: version}, 10+rand.IntN(70))
		s.Killed()
		for _, r := range reports {
			state[r.ID] = r
		}
		last := reports[len(reports)-1].Version
		store, closeAll := s.storeIn(dir)
		c := s.items(store, killIndexes)
		s.check(c)
		if s.Delivers[d] <= kv.Flushed {
			s.verify(c, state, last)
		}
		state = map[int64]report{}
		for _, v := range s.all(c, record.Span{}) { // what came back is where the next round begins
			s.Must("delete", c.Delete(s.Ctx(), s.Classes()[0], record.Int(v.ID)))
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
		got, err := c.Get(s.Ctx(), record.Int(id))
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
	if job.Rich {
		return job.runRich(ctx, target, store)
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

// versionedRich is the record that a version puts.
func versionedRich(id int64, version int) Rich {
	v := rich(rand.New(rand.NewPCG(uint64(version), 6)), id)
	v.Code = fmt.Sprint("code of ", id)
	return v
}

// runRich inserts a record, changes hot fields of it, and now and then deletes one. It returns only
// if it fails.
func (job task) runRich(ctx context.Context, target Target, store Store) error {
	c, err := store.Riches(ctx, target.options(record.Options{Indexes: richIndexes}))
	if err != nil {
		return err
	}
	visits, err := record.FieldOf[int64](c, "visits")
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for version := job.First; ; version++ {
		v := versionedRich(0, version)
		v.Code = fmt.Sprint("version ", version)
		err := c.Insert(ctx, job.Class, &v)
		if err == nil {
			err = out.Encode(report{ID: v.ID, Version: version})
		}
		if err == nil {
			err = visits.Set(ctx, job.Class, record.Int(v.ID), int64(1000+version))
		}
		if err == nil {
			err = out.Encode(report{ID: v.ID, Version: -version})
		}
		if err == nil && version%3 == 0 {
			if err = c.Delete(ctx, job.Class, record.Int(v.ID)); err == nil {
				err = out.Encode(report{ID: v.ID, Version: version, Deleted: true})
			}
		}
		if err != nil {
			return err
		}
	}
}

func testRichKill(s *suite) {
	dir := s.TempDir()
	version := 1
	for _, d := range s.Classes() {
		reports := crash.AfterReports[report](s.T, task{Dir: dir, Class: d, First: version, Rich: true},
			10+rand.IntN(60))
		s.Killed()
		store, closeAll := s.storeIn(dir)
		c, err := store.Riches(s.Ctx(), s.target.options(record.Options{Indexes: richIndexes}))
		s.Must("open", err)
		s.Must("check", c.Check(s.Ctx()))
		last := reports[len(reports)-1]
		if s.Delivers[d] <= kv.Flushed {
			s.verifyRich(c, reports)
			v := Rich{Code: fmt.Sprint("after ", version)}
			if err := c.Insert(s.Ctx(), d, &v); err != nil || v.ID <= last.ID {
				s.Fatalf("insert after the kill: id %d, %v, was %d", v.ID, err, last.ID)
			}
		}
		if _, err := c.DeleteWhere(s.Ctx(), s.Classes()[0], record.Query{}); err != nil {
			s.Fatal(err)
		}
		s.Must("check", c.Check(s.Ctx()))
		version = max(last.Version, -last.Version) + 1000
		closeAll()
	}
}

// verifyRich checks every record that was acknowledged. The change after the last may be there.
func (s *suite) verifyRich(c *record.Collection[Rich], reports []report) {
	s.Helper()
	state := map[int64]report{}
	for _, r := range reports {
		state[r.ID] = r
	}
	last := reports[len(reports)-1]
	for id, r := range state {
		got, err := c.Get(s.Ctx(), record.Int(id))
		if r.Deleted || r == last && kv.KindOf(err) == kv.NotFound && r.Version < 0 {
			s.WantKind("a deleted record", err, kv.NotFound)
			continue
		}
		version := max(r.Version, -r.Version)
		want := versionedRich(id, version)
		want.Code = fmt.Sprint("version ", version)
		if r.Version < 0 || r == last && got.Visits != want.Visits {
			want.Visits = int64(1000 + version)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			s.Fatalf("record %d after version %d is\n%+v, %v, want\n%+v", id, r.Version, got, err, want)
		}
	}
}
