package postgreskv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// TestKilledServerLosesNothing kills the server amid the commits of several handles, and starts it
// again, while they go on. What was acknowledged as synced is there, once. ASSAY_POSTGRES_KILLS=100
// kills as often.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writers := make([]writer, 4)
	wrote, stop := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range writers {
		w := &writers[i]
		w.name, w.db = strconv.Itoa(i), openTable(t, paramsOf(s.DSN())+"&timeout=600")
		all.Go(func() {
			if err := w.run(ctx, wrote, stop); err != nil {
				t.Errorf("writer %s, record %d: %v", w.name, len(w.outcomes), err)
				cancel()
			}
		})
	}
	kills := postgrestest.AtLeast(t, "ASSAY_POSTGRES_KILLS", 3)
	for kill := range kills {
		for range 10 + kill*7%40 { // the kill is amid the commits after so many
			select {
			case <-wrote:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
		if err := errors.Join(s.Kill(), s.Launch()); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	all.Wait()
	counts, runs := map[outcome]int{}, 0
	for i := range writers {
		writers[i].check(t)
		runs += writers[i].runs
		for _, o := range writers[i].outcomes {
			counts[o]++
		}
	}
	t.Logf("%d kills; commits: %v; functions run: %d", kills, counts, runs)
}

// outcome is what a writer was told of a commit.
type outcome string

const (
	acknowledged outcome = "acknowledged"
	undone       outcome = "undone"
	inDoubt      outcome = "in doubt"
)

// writer commits records, and with each how many there are.
type writer struct {
	name     string
	db       *kv.DB
	class    kv.Durability
	outcomes []outcome // by record
	told     []int64   // when it was told so, by powerfs.Now
	runs     int       // of its function
}

func (w *writer) key(n int) []byte { return fmt.Appendf(nil, "record/%s/%08d", w.name, n) }
func (w *writer) sum() []byte      { return []byte("sum/" + w.name) }

func (w *writer) run(ctx context.Context, wrote chan<- struct{}, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		default:
		}
		o, err := w.add(ctx)
		if err != nil {
			return err
		}
		w.outcomes, w.told = append(w.outcomes, o), append(w.told, powerfs.Now())
		select {
		case wrote <- struct{}{}:
		default:
		}
	}
}

// add commits the next record.
func (w *writer) add(ctx context.Context) (outcome, error) {
	key := w.key(len(w.outcomes))
	err := w.db.Update(ctx, w.class, func(tx *kv.Tx) error {
		w.runs++
		sum, err := number(tx.Get(w.sum()))
		if err != nil {
			return err
		}
		return errors.Join(tx.Put(key, key), tx.Put(w.sum(), strconv.AppendInt(nil, int64(sum+1), 10)))
	})
	switch {
	case err == nil:
		return acknowledged, nil
	case errors.Is(err, kv.InDoubt):
		return inDoubt, nil
	case errors.Is(err, kv.Aborted): // others were in its way each time
		return undone, nil
	}
	return "", err
}

func number(v []byte, err error) (int, error) {
	if errors.Is(err, kv.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(v))
}

// check holds what is there against what the writer was told. What is there was counted once.
func (w *writer) check(t *testing.T) {
	t.Helper()
	there := 0
	for n, told := range w.outcomes {
		v, err := w.db.Get(t.Context(), w.key(n))
		switch {
		case err == nil && string(v) == string(w.key(n)) && told != undone:
			there++
		case errors.Is(err, kv.NotFound) && told != acknowledged:
		default:
			t.Errorf("writer %s, record %d, which is %s: %q, %v", w.name, n, told, v, err)
		}
	}
	sum, err := number(w.db.Get(t.Context(), w.sum()))
	if err != nil || sum != there || there == 0 {
		t.Errorf("writer %s: %d records are there, their sum is %d, %v", w.name, there, sum, err)
	}
}
