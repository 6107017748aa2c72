package drivertest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

var contextCases = []tcase{
	{"no call outlives its context, whatever stands in its way", returnsInTime},
	{"no call outlives its context while another process is in its way", returnsBesideProcesses},
	{"a scan of a View ends with the View's context", endsScans},
	{"long upkeep returns when its context ends, and the store goes on", returnsFromUpkeep},
}

// limit is the time a call is given in these cases. How long it really took is logged; the case
// fails when a call has not returned after patience, far below the wait for locks that the stores
// are opened with.
func limit() time.Duration {
	if testing.Short() {
		return 10 * time.Millisecond
	}
	return 50 * time.Millisecond
}

const waitForever = time.Hour

// calls are all that may wait.
func (e *env) calls(db *kv.DB) map[string]func(ctx context.Context) error {
	large := noise(min(2<<20, e.maxValue()), 7)
	return map[string]func(ctx context.Context) error{
		"view":   func(ctx context.Context) error { return db.View(ctx, func(*kv.Snapshot) error { return nil }) },
		"get":    func(ctx context.Context) error { _, err := db.Get(ctx, []byte("a")); return err },
		"update": func(ctx context.Context) error { return db.Update(ctx, e.class, e.putB) },
		"write":  func(ctx context.Context) error { return db.Put(ctx, e.class, []byte("b"), []byte("2")) },
		"large write": func(ctx context.Context) error {
			return db.Put(ctx, e.class, []byte("large"), large)
		},
		"snapshot": func(ctx context.Context) error {
			s, err := db.Snapshot(ctx)
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"begin": func(ctx context.Context) error {
			tx, err := db.Begin(ctx, e.class)
			if err == nil {
				err = tx.Rollback()
			}
			return err
		},
		"compact": db.Compact,
		"check":   db.Check,
		"backup": func(ctx context.Context) error {
			if !e.onDisk() {
				return nil
			}
			return db.Backup(ctx, e.path("backup-"+strconv.FormatInt(time.Now().UnixNano(), 36)))
		},
	}
}

func (e *env) maxValue() int {
	if e.caps.MaxValue > 0 {
		return e.caps.MaxValue
	}
	return 1 << 30
}

func (e *env) putB(tx *kv.Tx) error { return tx.Put([]byte("b"), []byte("2")) }

// inTime makes every call with a context that ends. Each returns: with nothing, or with an error
// that says why. How late it was is counted from when a goroutine that does nothing but wait saw
// the context end, as a busy machine keeps that waiting too.
func (e *env) inTime(way string, calls map[string]func(context.Context) error) {
	e.Helper()
	for name, call := range calls {
		short, cancel := context.WithTimeout(ctx, limit())
		type end struct {
			err error
			at  time.Time
		}
		returned, seen := make(chan end, 1), make(chan time.Time, 1)
		context.AfterFunc(short, func() { seen <- time.Now() })
		go func() {
			err := call(short)
			returned <- end{err, time.Now()}
		}()
		select {
		case r := <-returned:
			err, over := r.err, time.Duration(0)
			select {
			case at := <-seen:
				over = max(0, r.at.Sub(at)).Round(time.Millisecond)
			default:
			}
			e.Logf("%-32s %-12s returned %v after its context: %v", way, name, over, outcome(err))
			if k := kv.KindOf(err); err != nil && k != kv.Canceled && k != kv.TooLarge {
				e.Errorf("%s beside %s: got %v, want nothing or that its time was up", name, way, err)
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) && kv.KindOf(err) == kv.Canceled {
				e.Errorf("%s beside %s: %v does not say that its deadline had passed", name, way, err)
			}
		case <-time.After(patience):
			e.Fatalf("%s beside %s: had not returned %v after its context had ended", name, way, patience)
		}
		cancel()
	}
}

// outcome names what became of a call.
func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return kv.KindOf(err).Error()
}

func returnsInTime(e *env) {
	db := e.open(kv.WithWait(waitForever))
	e.fill(db, "a=1")
	e.inTime("nothing", e.calls(db))
	tx, err := db.Begin(ctx, e.class)
	e.must(err)
	e.must(tx.Put([]byte("c"), []byte("3")))
	e.inTime("a transaction that is held", e.calls(db))
	e.must(tx.Rollback())
	s := e.snapshot(db)
	e.inTime("a snapshot that is held", e.calls(db))
	e.must(s.Close())
	e.update(db, func(*kv.Tx) { e.inTime("an Update around it", e.calls(db)) })
	e.view(db, func(*kv.Snapshot) { e.inTime("a View around it", e.calls(db)) })
	e.must(db.Put(ctx, e.class, []byte("a"), []byte("at last")))
	if v, err := db.Get(ctx, []byte("a")); string(v) != "at last" || err != nil {
		e.Errorf("afterwards: got %q, %v", v, err)
	}
}

func returnsBesideProcesses(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives Close, so no second process can open it")
	e.makeStore()
	c := e.spawn()
	c.must("open", e.url("db"), e.class.String())
	c.must("begin", e.class.String(), "c", "3")
	left := e.awaited()
	config := driver.Config{Path: e.path("db"), Mode: e.info.Caps.Modes[0], Params: e.params()}
	open := map[string]func(context.Context) error{"open": func(ctx context.Context) error {
		db, err := kv.OpenDriver(ctx, left, config, kv.WithWeakest(e.class), kv.WithWait(waitForever))
		if err == nil {
			err = db.Close()
		}
		return err
	}}
	e.inTime("another process's transaction", open)
	if e.info.Caps.Modes[0] == kv.Shared {
		db := e.open(kv.WithWait(waitForever))
		e.inTime("another process's transaction", e.calls(db))
		e.must(db.Close())
	}
	c.must("commit")
	c.must("snapshot")
	e.inTime("another process's snapshot", open)
	if e.info.Caps.Modes[0] == kv.Shared {
		db := e.open(kv.WithWait(waitForever))
		e.inTime("another process's snapshot", e.calls(db))
		e.must(db.Close())
	}
	c.kill()
	left.wait()
	db := e.open()
	e.view(db, func(s *kv.Snapshot) { e.wantGet("afterwards", s, "a", "1") })
}

// awaited is a driver of which a case can wait for the openings that it has left behind: they go on
// in the case's folder, which is removed behind it.
type awaited struct {
	driver.Driver
	running *sync.RWMutex // for each opening, and the store that came of it
}

func (e *env) awaited() awaited {
	d, _ := driver.Lookup(e.Engine) // it was there for the suite
	return awaited{d, new(sync.RWMutex)}
}

// Open does nothing if it begins only once its context has ended: wait may have returned.
func (a awaited) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	a.running.RLock()
	s, err := driver.Store(nil), ctx.Err()
	if err == nil {
		s, err = a.Driver.Open(ctx, c)
	}
	if err != nil {
		a.running.RUnlock()
		return nil, err
	}
	return awaitedStore{s, a.running}, nil
}

// wait returns once all openings have ended whose contexts had ended before, and what they opened
// is closed.
func (a awaited) wait() {
	a.running.Lock()
	defer a.running.Unlock()
}

type awaitedStore struct {
	driver.Store
	running *sync.RWMutex
}

func (s awaitedStore) Close() error {
	defer s.running.RUnlock()
	return s.Store.Close()
}

func endsScans(e *env) {
	db := e.open()
	e.fill(db, records(1000, 0)...)
	short, cancel := context.WithCancel(ctx)
	n := 0
	err := db.View(short, func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{}) {
			if n++; n == 10 {
				cancel()
			}
		}
		return nil
	})
	e.wantKind("the View", err, kv.Canceled)
	if n >= 1000 {
		e.Errorf("the scan gave all pairs, though its context had ended at the tenth")
	}
}

// saysWhatEnded has the driver do what may be long with a context that has ended. An engine's own
// word for that must not be all that the program gets.
func (e *env) saysWhatEnded(s driver.Store) {
	e.Helper()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range map[string]error{
		"Compact": upkeep[driver.Compacter](s, func(c driver.Compacter) error { return c.Compact(ended) }),
		"Check":   upkeep[driver.Checker](s, func(c driver.Checker) error { return c.Check(ended) }),
		"Backup":  upkeep[driver.Backuper](s, func(b driver.Backuper) error { return b.Backup(ended, e.path("ended")) }),
	} {
		if err != nil && !errors.Is(err, context.Canceled) {
			e.Errorf("%s with a context that has ended: %v does not say so", name, err)
		}
	}
}

// upkeep makes a call of a driver, if it has the part P.
func upkeep[P any](s driver.Store, call func(P) error) error {
	if part, has := s.(P); has {
		return call(part)
	}
	return nil
}

func returnsFromUpkeep(e *env) {
	db := e.open()
	var b kv.Batch
	for i := range 20 {
		for j := range 100 {
			k, _ := numbered(i*100+j, 0)
			b.Put(k, noise(1000, uint64(i)))
		}
		e.must(db.Write(ctx, e.class, &b))
		b.Reset()
	}
	for range 3 {
		calls := e.calls(db)
		e.inTime("nothing, with more to do", map[string]func(context.Context) error{
			"compact": calls["compact"], "check": calls["check"], "backup": calls["backup"]})
		e.fill(db, "a=1")
	}
	e.saysWhatEnded(db.Driver())
	e.must(db.Check(ctx))
	e.must(db.Close())
}
