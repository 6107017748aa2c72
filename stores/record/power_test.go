package record_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/record"
)

// TestPower: after a power cut every record is as it was acknowledged last as synced, or as it was
// tried to be after that; records that were changed together are so; the indexes have exactly the
// records, one that was just being built included; and the collection goes on.
func TestPower(t *testing.T) {
	for _, c := range []struct {
		name string
		poweredRecords
	}{
		{"bbolt", poweredRecords{openKV("bbolt"), kv.Synced}},
		{"pebble", poweredRecords{openKV("pebble"), kv.Buffered}},
		{"sqlite", poweredRecords{openKV("sqlite"), kv.Flushed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			powertest.Run(t, powertest.Case[accounts]{Work: c.work, Check: c.check})
		})
	}
}

func TestPowerTakesWhatIsNotSynced(t *testing.T) {
	p := poweredRecords{openKV("bbolt"), kv.Flushed}
	powertest.MustFail(t, powertest.Case[accounts]{
		Work: func(dir string, log *powertest.Log[accounts]) error { return p.workAs(dir, log, kv.Flushed) },
		Check: func(dir string, h powertest.History[accounts]) error {
			for _, list := range [][]accounts{h.Tried, h.Done} {
				for i := range list {
					list[i].Class = kv.Synced // as a program has it that takes one for the other
				}
			}
			return p.check(dir, h)
		},
	}, 10)
}

// poweredRecords is a collection on a disk that loses power.
type poweredRecords struct {
	open func(dir string, indexes ...record.Index) (*record.Collection[account], func() error, error)
	weak kv.Durability // what the second of two workers asks for
}

// account is a record. The number of its address changes, and its group, which has a pair of its
// own.
type account struct {
	ID    int64  `record:"id"`
	Email string `record:"email"`
	Group int32  `record:"group,hot"`
	Note  string `record:"note"`
}

// accounts is what two records were made, which are always changed together.
type accounts struct {
	First  int64
	Number int
	Group  int32
	Gone   bool          `json:",omitempty"`
	Class  kv.Durability `json:",omitempty"`
}

func (a accounts) list() []account {
	list := make([]account, 2)
	for i := range list {
		id := a.First + int64(i)
		list[i] = account{ID: id, Email: fmt.Sprintf("%d@%d", a.Number, id), Group: a.Group,
			Note: strings.Repeat(fmt.Sprint(a.Number), 10*a.Number%300)}
	}
	return list
}

var (
	emailIndex = record.Index{Name: "email", Fields: []string{"email"}, Unique: true}
	groupIndex = record.Index{Name: "group", Fields: []string{"group"}}
)

func openKV(engine string) func(string, ...record.Index) (*record.Collection[account], func() error, error) {
	return func(dir string, indexes ...record.Index) (*record.Collection[account], func() error, error) {
		db, err := kv.Open(context.Background(), engine+":"+filepath.Join(dir, "accounts"))
		if err != nil {
			return nil, nil, err
		}
		c, err := record.Open[account](context.Background(), db, &record.Options{ZeroID: true, Indexes: indexes})
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return c, db.Close, nil
	}
}

func (p poweredRecords) work(dir string, log *powertest.Log[accounts]) error {
	return p.workAs(dir, log, kv.Synced, p.weak)
}

// workAs has a worker for each class, first with one index and then with two.
func (p poweredRecords) workAs(dir string, log *powertest.Log[accounts], classes ...kv.Durability) error {
	workers := make([]worker, len(classes))
	for phase, indexes := range [][]record.Index{{emailIndex}, {emailIndex, groupIndex}} {
		c, closeAll, err := p.open(dir, indexes...)
		if err != nil {
			return err
		}
		errs := make([]error, len(workers))
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() { errs[i] = workers[i].work(c, log, int64(10*i), classes[i], phase) })
		}
		all.Wait()
		if err := errors.Join(append(errs, closeAll())...); err != nil {
			return err
		}
	}
	return nil
}

// worker changes records of its own.
type worker [3]accounts

func (w *worker) work(c *record.Collection[account], log *powertest.Log[accounts], first int64, class kv.Durability,
	phase int) error {
	for n := phase*10 + 1; n <= phase*10+10; n++ {
		at := n % len(w)
		a := w[at]
		there := a.Number > 0 && !a.Gone
		a.First, a.Class, a.Gone = first+int64(2*at), class, n%5 == 0
		if set := there && n%3 == 1; set && !a.Gone {
			a.Group++
		} else {
			a.Number, a.Group = n, int32(n%2)
		}
		log.Try(a)
		if err := c.Update(context.Background(), class, func(tx *record.Writer[account]) error {
			return a.write(c, tx,
				w[at])
		}); err != nil {
			return fmt.Errorf("%+v after %+v: %w", a, w[at], err)
		}
		log.Done(a)
		w[at] = a
	}
	return nil
}

// write makes of before what a says: deleted, one field changed, or put.
func (a accounts) write(c *record.Collection[account], tx *record.Writer[account], before accounts) error {
	group, err := record.FieldOf[int32](c, "group")
	for _, v := range a.list() {
		switch {
		case err != nil:
		case a.Gone:
			if err = tx.Delete(record.Int(v.ID)); kv.KindOf(err) == kv.NotFound && (before.Gone || before.Number == 0) {
				err = nil
			}
		case a.Number == before.Number:
			err = group.Write(tx, record.Int(v.ID), a.Group)
		default:
			err = tx.Put(&v)
		}
	}
	return err
}

// check looks twice: at what the power cut left, and once more after changes to it. The second time
// opens another index.
func (p poweredRecords) check(dir string, h powertest.History[accounts]) error {
	may := map[int64][]accounts{} // what a pair may be, by its first id
	for _, a := range h.Tried {
		if may[a.First] == nil {
			may[a.First] = []accounts{{First: a.First, Gone: true}}
		}
		may[a.First] = append(may[a.First], a)
	}
	for _, a := range h.Done {
		if a.Class == kv.Synced {
			for may[a.First][0] != a {
				may[a.First] = may[a.First][1:]
			}
		}
	}
	for look, indexes := range [][]record.Index{{emailIndex}, {emailIndex, groupIndex}} {
		c, closeAll, err := p.open(dir, indexes...)
		if err != nil {
			return err
		}
		err = examine(c, may, 1000+look)
		if err = errors.Join(err, closeAll()); err != nil {
			return err
		}
	}
	return nil
}

// examine compares the collection with what may be there, and makes every pair number.
func examine(c *record.Collection[account], may map[int64][]accounts, number int) error {
	if err := c.Check(context.Background()); err != nil {
		return err
	}
	for first, list := range may {
		var found []account
		for v, err := range c.All(context.Background(), record.Span{From: record.Int(first),
			To: record.Int(first + 2)}) {
			if err != nil {
				return err
			}
			found = append(found, v)
		}
		if !oneOf(found, list) {
			return fmt.Errorf("records %d and the next are %+v, may be one of %+v", first, found, list)
		}
		for _, v := range found {
			if by, err := c.Find(context.Background(), "email", v.Email); err != nil || len(by) != 1 || by[0] != v {
				return fmt.Errorf("%s leads to %+v, %v, want %+v", v.Email, by, err, v)
			}
		}
		a := accounts{First: first, Number: number}
		if err := c.PutAll(context.Background(), kv.Synced, a.list()); err != nil {
			return err
		}
		may[first] = []accounts{a}
	}
	return c.Check(context.Background())
}

// oneOf reports whether the records are what one of list says.
func oneOf(found []account, list []accounts) bool {
	for _, a := range list {
		want := a.list()
		if a.Gone && len(found) == 0 || !a.Gone && len(found) == 2 && found[0] == want[0] && found[1] == want[1] {
			return true
		}
	}
	return false
}
