package queue_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// TestPower: after a power cut no job whose publishing was acknowledged as synced is lost, none
// that was acknowledged as synced comes back, what was claimed is given to nobody else before its
// lease ends, and the queue goes on.
func TestPower(t *testing.T) {
	for _, c := range []struct {
		name string
		poweredQueue
	}{
		{"bbolt", poweredQueue{openKV("bbolt"), kv.Synced}},
		{"pebble", poweredQueue{openKV("pebble"), kv.Buffered}},
		{"sqlite", poweredQueue{openKV("sqlite"), kv.Flushed}},
		{"sqlqueue", poweredQueue{openSQL, kv.Flushed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			powertest.Run(t, powertest.Case[queuetest.Record]{Work: c.work,
				Check: func(dir string, h powertest.History[queuetest.Record]) error {
					return c.check(dir, h, map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
						kv.Buffered: kv.Buffered})
				}})
		})
	}
}

func TestPowerTakesWhatIsNotSynced(t *testing.T) {
	q := poweredQueue{openKV("bbolt"), kv.Flushed}
	powertest.MustFail(t, powertest.Case[queuetest.Record]{
		Work: func(dir string, log *powertest.Log[queuetest.Record]) error { return q.workAs(dir, log, kv.Flushed) },
		Check: func(dir string, h powertest.History[queuetest.Record]) error {
			// As a program has it that takes one for the other.
			return q.check(dir, h, map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Synced})
		},
	}, 20)
}

// poweredQueue is a queue on a disk that loses power.
type poweredQueue struct {
	open func(dir string) (*queue.Store, func() error, error)
	weak kv.Durability // what the second of two workers asks for
}

func openKV(engine string) func(string) (*queue.Store, func() error, error) {
	return func(dir string) (*queue.Store, func() error, error) {
		return queuetest.OpenKV(engine+":"+filepath.Join(dir, "queue"), queue.Options{})
	}
}

func openSQL(dir string) (*queue.Store, func() error, error) {
	store, err := sqlqueue.Open(context.Background(), filepath.Join(dir, "queue"), nil)
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

// No lease ends before the test does.
var poweredSettings = queue.Settings{Lease: time.Hour, MaxAttempts: queue.NoLimit}

func (p poweredQueue) work(dir string, log *powertest.Log[queuetest.Record]) error {
	return p.workAs(dir, log, kv.Synced, p.weak)
}

// workAs has a worker for each class. Each publishes more than it takes, so that none has to wait,
// and some are left.
func (p poweredQueue) workAs(dir string, log *powertest.Log[queuetest.Record], classes ...kv.Durability) error {
	store, closeAll, err := p.open(dir)
	if err != nil {
		return err
	}
	q, err := store.Queue("work", &poweredSettings)
	if err != nil {
		return errors.Join(err, closeAll())
	}
	errs := make([]error, len(classes))
	var all sync.WaitGroup
	for i, class := range classes {
		all.Go(func() {
			w := queuetest.Worker{Queue: q, Lease: poweredSettings.Lease, Class: class, Tag: fmt.Sprint("worker ", i),
				Report: reportTo(log)}
			for n := 0; n < 8 && errs[i] == nil; n++ {
				if errs[i] = w.Publish(context.Background(), 3); errs[i] == nil {
					_, errs[i] = w.Work(context.Background(), 2)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, closeAll())...)
}

func reportTo(log *powertest.Log[queuetest.Record]) func(queuetest.Record) {
	return func(r queuetest.Record) {
		if strings.HasSuffix(string(r.Event), "ing") { // is about to happen
			log.Try(r)
		} else {
			log.Done(r)
		}
	}
}

// check judges what the power cut left, works in it until nothing is ready, and judges again,
// before and after it opens the queue once more.
func (p poweredQueue) check(dir string, h powertest.History[queuetest.Record],
	delivers map[kv.Durability]kv.Durability) error {
	ledger := queuetest.NewLedger(delivers)
	for _, r := range append(h.Tried, h.Done...) {
		ledger.Add(r)
	}
	ledger.Crash(kv.Synced)
	w := queuetest.Worker{Lease: poweredSettings.Lease, Class: kv.Synced, Tag: "afterwards", Report: ledger.Add}
	err := p.with(dir, func(q *queue.Queue) error {
		if err := ledger.Check(context.Background(), q); err != nil {
			return err
		}
		w.Queue = q
		if err := errors.Join(w.Publish(context.Background(), 3), drain(&w)); err != nil {
			return err
		}
		return ledger.Check(context.Background(), q)
	})
	if err != nil {
		return err
	}
	return p.with(dir, func(q *queue.Queue) error { return ledger.Check(context.Background(), q) })
}

// drain works while jobs are ready.
func drain(w *queuetest.Worker) error {
	for {
		counts, err := w.Queue.Counts(context.Background())
		if err != nil || counts.Ready == 0 {
			return err
		}
		if _, err := w.Work(context.Background(), 100); err != nil {
			return err
		}
	}
}

// with opens the queue, calls fn and closes it.
func (p poweredQueue) with(dir string, fn func(*queue.Queue) error) error {
	store, closeAll, err := p.open(dir)
	if err != nil {
		return err
	}
	q, err := store.Queue("work", &poweredSettings)
	if err == nil {
		err = fn(q)
	}
	return errors.Join(err, closeAll())
}
