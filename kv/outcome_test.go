package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// moody is the engine "moody": one in memory whose commits fail as they are told to.
type moody struct {
	fail     []error // what the next commits return, nil for one that is done
	inSpite  bool    // a commit that fails is there all the same
	aborts   int     // how many transactions meet another one
	mayAbort bool
	remote   bool
	torn     bool          // no transaction is atomic
	tornFrom kv.Durability // from this class on none is, unless it is Synced
	begun    int
	noApply  bool
}

var theMood moody

func init() { driver.Register(&theMood) }

func (m *moody) Info() driver.Info {
	info := new(spy).Info()
	info.Name, info.Options = "moody", nil
	return info
}

func (m *moody) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, c)
	if m.noApply {
		return struct{ driver.Store }{&moodyStore{inner, m}}, err
	}
	return &moodyStore{inner, m}, err
}

type moodyStore struct {
	driver.Store
	*moody
}

func (s *moodyStore) Caps() driver.Caps {
	c := s.Info().Caps
	c.MayAbort, c.Remote, c.ConcurrentApply = s.mayAbort, s.remote, s.noApply
	for d := range c.Promises {
		c.Promises[d].KillAtomic = !s.torn && (s.tornFrom == kv.Synced || kv.Durability(d) < s.tornFrom)
	}
	return c
}

// next is the outcome of the next commit.
func (m *moody) next() error {
	if len(m.fail) == 0 {
		return nil
	}
	err := m.fail[0]
	m.fail = m.fail[1:]
	return err
}

func (s *moodyStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	err := s.next()
	if err == nil || s.inSpite {
		err = errors.Join(err, driver.Apply(ctx, s.Store, ops, d))
	}
	return err
}

func (s *moodyStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	s.begun++
	return &moodyTxn{t, s.moody}, err
}

type moodyTxn struct {
	driver.Txn
	*moody
}

func (t *moodyTxn) Commit() error {
	if t.aborts > 0 {
		t.aborts--
		return driver.Aborted
	}
	err := t.next()
	if err == nil || t.inSpite {
		err = errors.Join(err, t.Txn.Commit())
	}
	return err
}

func openMoody(t *testing.T, m moody) *kv.DB {
	t.Helper()
	theMood = m
	return mustOpen(t, "moody:p")
}

var errIO = fmt.Errorf("fdatasync p: %w", syscall.EIO)

func TestACommitIsDoneNotDoneOrInDoubt(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}
	for _, c := range []struct {
		what    string
		fail    error
		inDoubt bool
	}{
		{"a failed sync", errIO, true},
		{"a full disk", &driver.Error{Kind: driver.Full, Err: syscall.ENOSPC}, true},
		{"a full disk, in the words of the system", full, true},
		{"a full disk beside another error", errors.Join(full, errors.New("and more")), true},
		{"no permission, in the words of the system", &fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}, true},
		{"a file that is gone", &fs.PathError{Op: "open", Path: "p", Err: syscall.ENOENT}, true},
		{"a damaged page", &driver.Error{Kind: driver.Corrupt}, true},
		{"a full disk before anything was written", driver.NotDone(syscall.ENOSPC), false},
		{"a transaction that is too large", &driver.Error{Kind: driver.TooLarge}, false},
		{"a closed store", driver.Closed, false},
	} {
		for how, commit := range map[string]func(*kv.DB) error{
			"Write":               func(db *kv.DB) error { return db.Put(ctx, kv.Synced, []byte("a"), []byte("1")) },
			"Write without Apply": func(db *kv.DB) error { return db.Put(ctx, kv.Synced, []byte("a"), []byte("1")) },
			"Update": func(db *kv.DB) error {
				return db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("a"), nil) })
			},
			"Commit": func(db *kv.DB) error {
				tx, err := db.Begin(ctx, kv.Synced)
				if err != nil {
					return err
				}
				if err := tx.Put([]byte("a"), nil); err != nil {
					return err
				}
				return tx.Commit()
			},
		} {
			what := c.what + " in " + how
			db := openMoody(t, moody{fail: []error{c.fail}, noApply: strings.HasSuffix(how, "without Apply")})
			if db.Caps().ConcurrentApply {
				t.Errorf("%s: a store without Apply applies concurrently", what)
			}
			err := commit(db)
			if kind := kv.KindOf(c.fail); kind != driver.Other && !errors.Is(err, kind) {
				t.Errorf("%s: %v is not of kind %v, too", what, err, kind)
			}
			if err == nil || errors.Is(err, kv.InDoubt) != c.inDoubt {
				t.Errorf("%s: got %v, in doubt: want %v", what, err, c.inDoubt)
			}
			if c.inDoubt && (kv.KindOf(err) != kv.InDoubt || kv.HintOf(err) == "" ||
				!strings.Contains(err.Error(), c.fail.Error())) {
				t.Errorf("%s: got %v with the hint %q", what, err, kv.HintOf(err))
			}
			err = commit(db)
			if !c.inDoubt && err != nil || c.inDoubt && (kv.KindOf(err) != kv.Stopped || errors.Is(err, kv.InDoubt) ||
				kv.HintOf(err) == "") {
				t.Errorf("%s: the commit after it: got %v", what, err)
			}
			if err := db.View(ctx, func(*kv.Snapshot) error { return nil }); err != nil {
				t.Errorf("%s: a view after it: got %v", what, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("%s: close: got %v", what, err)
			}
		}
	}
}

func TestOnAnotherMachineCommitsGoOnAfterOneInDoubt(t *testing.T) {
	db := openMoody(t, moody{remote: true, fail: []error{errors.New("connection reset")}})
	err := db.Put(ctx, kv.Synced, []byte("a"), []byte("1"))
	wantKind(t, "the commit whose answer was lost", err, kv.InDoubt)
	if err := db.Put(ctx, kv.Synced, []byte("a"), []byte("2")); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestWritersThatWaitedForOneInDoubtAreStopped(t *testing.T) {
	db := openMoody(t, moody{fail: []error{errIO}})
	tx, err := db.Begin(ctx, kv.Synced)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		waiting <- db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("b"), nil) })
	}()
	wantKind(t, "commit", tx.Commit(), kv.InDoubt)
	wantKind(t, "the one that waited", <-waiting, kv.Stopped)
}

func TestACommitThatIsBusyIsTriedAgain(t *testing.T) {
	busy := &driver.Error{Kind: driver.Busy}
	db := openMoody(t, moody{fail: []error{busy, busy, nil, busy, nil}})
	if err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("a"), []byte("1")) }); err != nil {
		t.Fatal(err)
	}
	if err := db.Put(ctx, kv.Synced, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	want(t, "the store", all(t, db, kv.Range{}), "a=1 b=2")
}

func TestAWaitThatEndsWithItsContextIsCanceledAndBusy(t *testing.T) {
	db := openMoody(t, moody{fail: slices.Repeat([]error{&driver.Error{Kind: driver.Busy}}, 10_000)})
	short, cancel := context.WithCancel(ctx)
	err := db.Update(short, kv.Synced, func(tx *kv.Tx) error {
		cancel()
		return tx.Put([]byte("a"), nil)
	})
	wantKind(t, "update", err, kv.Canceled)
	if !errors.Is(err, kv.Busy) || !errors.Is(err, context.Canceled) || kv.HintOf(err) == "" {
		t.Errorf("got %v, hint %q", err, kv.HintOf(err))
	}
	want(t, "the store", all(t, db, kv.Range{}), "")
}

func TestAnAbortedTransactionRunsAgain(t *testing.T) {
	db := openMoody(t, moody{mayAbort: true, aborts: 3})
	runs := 0
	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		runs++
		return tx.Put([]byte("a"), fmt.Append(nil, runs))
	})
	if err != nil || runs != 4 {
		t.Errorf("got %v after %d runs, want 4", err, runs)
	}
	want(t, "the store", all(t, db, kv.Range{}), "a=4")
	theMood.aborts = 1000
	short, cancel := context.WithCancel(ctx)
	err = db.Update(short, kv.Synced, func(tx *kv.Tx) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) && kv.KindOf(err) != kv.Canceled {
		t.Errorf("its context ended: got %v", err)
	}
}

// TestAnAbortedTransactionRunsAsLongAsTheWait lets every transaction meet another one.
func TestAnAbortedTransactionRunsAsLongAsTheWait(t *testing.T) {
	for _, c := range []struct {
		wait        time.Duration
		least, most int // runs
	}{{0, 20, 20}, {kv.DefaultWait, 100, 1000}} {
		synctest.Test(t, func(t *testing.T) {
			theMood = moody{mayAbort: true, aborts: 1 << 30}
			db := mustOpen(t, "moody:p", kv.WithWait(c.wait))
			runs, began := 0, time.Now()
			err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { runs++; return tx.Put([]byte("a"), nil) })
			wantKind(t, "one that never comes through", err, kv.Aborted)
			if took := time.Since(began); took < c.wait || took > c.wait+2*time.Second {
				t.Errorf("a wait of %v took %v", c.wait, took)
			}
			if runs < c.least || runs > c.most || kv.HintOf(err) == "" {
				t.Errorf("a wait of %v: got %d runs, hint %q", c.wait, runs, kv.HintOf(err))
			}
		})
	}
}

func TestAnEngineThatNeverAbortsIsNotRunAgain(t *testing.T) {
	db := openMoody(t, moody{})
	runs := 0
	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { runs++; return kv.Aborted })
	if err != error(kv.Aborted) || runs != 1 {
		t.Errorf("got %v after %d runs", err, runs)
	}
}

func TestTornTransactionsAreRefusedToThoseWhoNeedThemWhole(t *testing.T) {
	_, err := openMoody(t, moody{torn: true}).RequireAtomic()
	wantKind(t, "a store that tears at every class", err, kv.Unsupported)
	db, err := openMoody(t, moody{tornFrom: kv.Flushed}).RequireAtomic()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Put(ctx, kv.Synced, []byte("a"), nil); err != nil {
		t.Errorf("at a class that is atomic: %v", err)
	}
	for what, err := range map[string]error{
		"write":                db.Put(ctx, kv.Flushed, []byte("a"), nil),
		"update":               db.Update(ctx, kv.Flushed, func(*kv.Tx) error { return nil }),
		"write to a namespace": db.Namespace([]byte("n")).Put(ctx, kv.Flushed, []byte("a"), nil),
	} {
		wantKind(t, what, err, kv.Unsupported)
		if kv.HintOf(err) == "" {
			t.Errorf("%s: %v has no hint", what, err)
		}
	}
}

func TestErrorsLoseNothing(t *testing.T) {
	both := errors.Join(&driver.Error{Kind: driver.TooLarge, Err: errors.New("the value"), Hint: "split it"}, errIO)
	db := openMoody(t, moody{fail: []error{both}})
	err := db.Put(ctx, kv.Synced, []byte("a"), nil)
	if !errors.Is(err, syscall.EIO) || !errors.Is(err, kv.TooLarge) || kv.HintOf(err) != "split it" ||
		!strings.Contains(err.Error(), "the value") {
		t.Errorf("got %v with hint %q, want both errors", err, kv.HintOf(err))
	}
}
