package drivertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Disk is a disk that fails when it is told to. lab/powertest has one.
type Disk interface {
	Dir() string             // the folder where it is mounted
	Calls() int              // how many calls have changed it so far, or tried to
	Failed() int             // how many of them have failed because they were to
	Fail(n int, err error)   // the nth call from now on fails with err
	Heal()                   // no call fails any more
	Cut(t testing.TB) string // a folder with what is left if the power fails now: what was synced
}

// RunOnDisk opens a store, commits, compacts and closes it while the nth call that changes the disk
// fails, with an I/O error and with a full disk: for every n if ASSAY_EVERY_CALL is set, otherwise
// for some. Whatever fails, every commit is done, not done or in doubt, and is that now, after the
// power is cut, and when the store is opened again; what is in doubt is there as a whole or not at
// all, and nothing is committed after it.
func RunOnDisk(t *testing.T, c Config, disk Disk) {
	s := newSuite(t, c)
	if !s.caps.Persistent {
		t.Skipf("%s declares: nothing is on disk", c.Engine)
	}
	for _, fault := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(fmt.Sprintf("a call fails with %v", fault), func(t *testing.T) {
			step := 5
			switch {
			case os.Getenv("ASSAY_EVERY_CALL") != "":
				step = 1
			case testing.Short():
				step = 23
			}
			tried := 0
			for n := 1; ; n += step {
				f := &failing{env: &env{T: t, suite: s, dir: filepath.Join(disk.Dir(), fmt.Sprintf("%d-%d", fault, n))},
					t: t, disk: disk}
				hit := f.try(n, fault)
				f.remove()
				if !hit {
					break
				}
				tried++
			}
			t.Logf("%d calls failed, one at a time", tried)
		})
	}
	t.Run("a synced commit covers the weaker ones before it", func(t *testing.T) { s.coversEarlier(t, disk) })
}

// failing is one store, and the fate of its commits.
type failing struct {
	*env
	t      *testing.T
	disk   Disk
	n      int
	fault  error
	before int // how many calls had failed

	acked   int // the last commit that is done
	inDoubt int // the commit after it, if that is in doubt
}

const failingCommits = 12

// remove takes the store off the disk for good: every cut hands out all that is on it.
func (f *failing) remove() {
	f.must(os.RemoveAll(f.dir))
	f.must(driver.SyncDir(f.disk.Dir()))
}

// try reports whether a call failed.
func (f *failing) try(n int, fault error) bool {
	f.n, f.fault = n, fault
	class := f.classes[0] // the strongest
	f.before = f.disk.Failed()
	f.disk.Fail(n, fault)
	db, err := kv.Open(ctx, f.url("db"), kv.WithWeakest(class))
	if err == nil {
		f.work(db, class)
	}
	hit := f.disk.Failed() > f.before
	f.disk.Heal()
	if err != nil && !hit {
		f.Fatalf("open, and no call failed: %v", err)
	}
	again, err := kv.Open(ctx, f.url("db"), kv.WithWeakest(class))
	if err != nil {
		f.Errorf("%s: the store does not open again: %v", f.what(), err)
		return hit
	}
	f.look("opened again", again)
	if err := f.commit(again, class, f.acked+2); err != nil {
		f.Errorf("%s: opened again, a commit: %v", f.what(), err)
	}
	f.acked, f.inDoubt = f.acked+2, 0
	if class == kv.Synced && hit {
		f.cut("after a failure, an opening, a commit and a power cut", class)
	}
	f.must(again.Close())
	return hit
}

func (f *failing) what() string {
	return fmt.Sprintf("call %d failed (%v), %d commits done, in doubt %d", f.n, f.fault, f.acked, f.inDoubt)
}

// work commits until something is in doubt, and closes db.
func (f *failing) work(db *kv.DB, class kv.Durability) {
	var held *kv.Snapshot
	heldAt := 0
	for i := 1; i <= failingCommits && f.inDoubt == 0; i++ {
		err := f.commit(db, class, i)
		if err != nil && kv.KindOf(err) != kv.InDoubt && kv.KindOf(err) != kv.Stopped {
			f.look("after a commit that was not done", db)
			err = f.commit(db, class, i)
		}
		switch {
		case err == nil:
			f.acked = i
		case kv.KindOf(err) == kv.InDoubt:
			f.inDoubt = i
		case kv.KindOf(err) == kv.Stopped: // something failed in the background, or in Compact
			i = failingCommits
		default:
			f.Errorf("%s: a commit that is tried again after one that was not done: %v", f.what(), err)
		}
		if i == 4 && err == nil && f.caps.ReadersBlockWriters != kv.Always {
			if s, err := db.Snapshot(ctx); err == nil {
				held, heldAt = s, i
			}
		}
		if i == 8 && held == nil {
			_ = db.Compact(ctx) // what it did, the states that follow show
		}
	}
	f.afterwards(db, class, held, heldAt)
}

func (f *failing) afterwards(db *kv.DB, class kv.Durability, held *kv.Snapshot, heldAt int) {
	if f.inDoubt > 0 {
		err := f.commit(db, class, f.inDoubt+1)
		f.wantKind(f.what()+": a commit after one in doubt", err, kv.Stopped)
	}
	if state, err := f.state(db); !f.silent(class, err) {
		f.compare("through the same handle", state, err)
	}
	if held != nil {
		if state, err := stateOf(held); !f.silent(class, err) && (state != heldAt || err != nil) {
			f.Errorf("%s: a snapshot of state %d shows %d, %v", f.what(), heldAt, state, err)
		}
		_ = held.Close()
	}
	if class == kv.Synced && f.disk.Failed() > f.before {
		f.cut("after a power cut", class)
	}
	_ = db.Close() // it may say that it could not write any more
}

// cut opens what a power cut would leave now.
func (f *failing) cut(when string, class kv.Durability) {
	left := &env{T: f.T, suite: f.suite, dir: filepath.Join(f.disk.Cut(f.t), filepath.Base(f.dir))}
	db, err := kv.Open(ctx, left.url("db"), kv.WithWeakest(class))
	if err != nil {
		f.Errorf("%s: %s the store does not open: %v", f.what(), when, err)
		return
	}
	f.look(when, db)
	f.must(db.Close())
}

// silent reports whether a handle reads nothing any more and says so, which one may whose promise a
// failing disk may break.
func (f *failing) silent(class kv.Durability, err error) bool {
	return f.caps.Promises[class].DiskMayBreak && kv.KindOf(err) == kv.Stopped
}

// look fails unless db holds the state of what is done, or of what is in doubt.
func (f *failing) look(when string, db *kv.DB) {
	state, err := f.state(db)
	f.compare(when, state, err)
}

func (f *failing) state(db *kv.DB) (state int, err error) {
	err = db.View(ctx, func(s *kv.Snapshot) (err error) {
		state, err = stateOf(s)
		return err
	})
	return state, err
}

// compare fails unless a state that was read is that of what is done, or of what is in doubt.
func (f *failing) compare(when string, state int, err error) {
	if err != nil || state != f.acked && (f.inDoubt == 0 || state != f.inDoubt) {
		f.Errorf("%s: %s the store holds state %d, %v", f.what(), when, state, err)
	}
}

// commit overwrites what the commit before wrote, and moves one key.
func (f *failing) commit(db *kv.DB, class kv.Durability, i int) error {
	var b kv.Batch
	pairs := pairsOf(i)
	for k, v := range pairs {
		b.Put([]byte(k), []byte(v))
	}
	b.DeleteRange(kv.Range{Start: []byte("moving/"), End: []byte("moving0")})
	b.Put(fmt.Appendf(nil, "moving/%d", i), nil)
	if i%2 == 0 {
		return db.Write(ctx, class, &b)
	}
	return db.Update(ctx, class, b.Run)
}

// pairsOf are the pairs of state i but the one that moves.
func pairsOf(i int) map[string]string {
	pairs := map[string]string{"number": fmt.Sprint(i)}
	for p, size := range []int{10, 300, 5000, 2000 * i} {
		pairs[fmt.Sprintf("part/%d", p)] = strings.Repeat(fmt.Sprintf("%d.%d ", i, p), size/4)
	}
	return pairs
}

// stateOf returns the number of the commit whose state s shows, as a whole; 0 is an empty store.
func stateOf(s *kv.Snapshot) (int, error) {
	got := map[string]string{}
	for k, v := range s.Scan(kv.Range{}) {
		got[string(k)] = string(v)
	}
	if err := s.Err(); err != nil || len(got) == 0 {
		return 0, err
	}
	var i int
	if _, err := fmt.Sscan(got["number"], &i); err != nil {
		return -1, fmt.Errorf("no number among %d pairs", len(got))
	}
	want := pairsOf(i)
	want[fmt.Sprintf("moving/%d", i)] = ""
	if len(got) != len(want) {
		return i, fmt.Errorf("%d pairs, want %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			return i, errors.New(k + " is not as commit " + fmt.Sprint(i) + " wrote it")
		}
	}
	return i, nil
}

// coversEarlier cuts the power behind a synced commit that follows weaker ones.
func (s *suite) coversEarlier(t *testing.T, disk Disk) {
	if s.classes[0] != kv.Synced || s.caps.Promise(kv.Buffered).Class == kv.Synced {
		t.Skipf("%s declares: no class but synced", s.Engine)
	}
	f := &failing{env: &env{T: t, suite: s, dir: filepath.Join(disk.Dir(), "covers")}, t: t, disk: disk}
	db, err := kv.Open(ctx, f.url("db"))
	f.must(err)
	for i := 1; i <= failingCommits; i++ {
		class := kv.Buffered
		if i%4 == 0 {
			class = kv.Synced
		}
		f.must(f.commit(db, class, i))
		if f.acked = i; class == kv.Synced {
			f.cut("after a power cut", kv.Synced)
		}
	}
	f.must(db.Close())
}
