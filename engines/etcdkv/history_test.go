package etcdkv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv"
)

// A round is as long as one history, which is checked as a whole: 8 keys that nobody used before,
// one node killed and started again, or parted from the others.
const (
	clients   = 5
	cells     = 8
	roundTime = 5 * time.Second
)

// step is a transaction: what it read, and what it wrote.
type step struct {
	reads, writes map[int]uint64
	open          bool // nobody knows whether it is there, nor what it read
}

// serial is a store of cells, one transaction after the other: what a history is compared with.
var serial = porcupine.Model{
	Init: func() any { return [cells]uint64{} },
	Step: func(state, input, output any) (bool, any) {
		now, done := state.([cells]uint64), output.(step)
		if !done.open {
			for cell, value := range done.reads {
				if now[cell] != value {
					return false, state
				}
			}
		}
		for cell, value := range done.writes {
			now[cell] = value
		}
		return true, now
	},
	DescribeOperation: func(_, output any) string { return fmt.Sprintf("%+v", output) },
}

// Nodes are killed and started again, one at a time, while several handles read and write.
// ASSAY_ETCD_KILLS=36 kills as many, every five seconds.
func TestKilledNodesLoseNothing(t *testing.T) {
	cluster := etcdtest.Start(t, 3)
	serializable(t, cluster, rounds(t, "ASSAY_ETCD_KILLS", 2), cluster.Kill, func(victim int) error {
		return errors.Join(cluster.Launch(victim), cluster.Wait(victim))
	})
}

// Nodes are parted from the others, one at a time, the leader among them, and clients still reach
// them. ASSAY_ETCD_PARTITIONS=36 parts as many.
func TestPartedNodesLoseNothing(t *testing.T) {
	cluster := etcdtest.Start(t, 3)
	part := func(victim int) error { cluster.Part(victim); return nil }
	serializable(t, cluster, rounds(t, "ASSAY_ETCD_PARTITIONS", len(cluster.Endpoints())), part, func(victim int) error {
		defer cluster.Part()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		db, err := kv.Open(ctx, "etcd:alone?endpoints="+cluster.Endpoints()[victim])
		if err == nil {
			return errors.Join(fmt.Errorf("node %d, which is parted from the others, takes a commit", victim), db.Close())
		}
		return nil
	})
}

// rounds is the number in the environment, or n if there is none.
func rounds(t *testing.T, variable string, n int) int {
	if text := os.Getenv(variable); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("%s=%s: %v", variable, text, err)
		}
	}
	return n
}

// serializable disturbs a node in each round while several handles read and write, and mends it.
// All that they saw is one order of whole transactions, in which each stands between its beginning
// and its end.
func serializable(t *testing.T, cluster *etcdtest.Cluster, rounds int, disturb, mend func(victim int) error) {
	total, open := 0, 0
	for round := range rounds {
		history := runRound(t, cluster, round, disturb, mend)
		for _, op := range history {
			if total++; op.Output.(step).open {
				open++
			}
		}
		switch result := porcupine.CheckOperationsTimeout(serial, history, 2*time.Minute); result {
		case porcupine.Illegal:
			t.Fatalf("round %d: no order of its %d transactions explains what they saw", round, len(history))
		case porcupine.Unknown:
			t.Logf("round %d: %d transactions not checked: two minutes are over", round, len(history))
		}
	}
	t.Logf("%d transactions in %d rounds, %d in doubt", total, rounds, open)
	if total-open < rounds*clients {
		t.Errorf("%d transactions of %d were acknowledged", total-open, total)
	}
}

// runRound disturbs a node amid the transactions of several handles, and returns their history.
func runRound(t *testing.T, cluster *etcdtest.Cluster, round int, disturb, mend func(int) error) []porcupine.Operation {
	var (
		all   []porcupine.Operation
		lock  sync.Mutex
		wait  sync.WaitGroup
		stop  = make(chan struct{})
		value atomic.Uint64
	)
	began := time.Now()
	for client := range clients {
		wait.Go(func() {
			db, err := kv.Open(t.Context(), fmt.Sprintf("etcd:round%d?%s", round, cluster.Params()))
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer db.Close()
			rng := rand.New(rand.NewPCG(uint64(round), uint64(client)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				op := porcupine.Operation{ClientId: client, Call: int64(time.Since(began))}
				done, err := transact(t.Context(), db, rng, &value)
				op.Return, op.Output = int64(time.Since(began)), done
				switch {
				case errors.Is(err, kv.InDoubt):
					done.open = true
					op.Return, op.Output = math.MaxInt64, done
				case err != nil: // nothing was done
					continue
				}
				lock.Lock()
				all = append(all, op)
				lock.Unlock()
			}
		})
	}
	victim := round % 3
	time.Sleep(roundTime / 4) // a quarter of the round with all nodes, a half with two
	must(t, disturb(victim))
	time.Sleep(roundTime / 2)
	must(t, mend(victim))
	time.Sleep(roundTime / 4)
	close(stop)
	wait.Wait()
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// transact reads some cells and writes some, with values that nobody wrote before.
func transact(ctx context.Context, db *kv.DB, rng *rand.Rand, value *atomic.Uint64) (done step, err error) {
	reads, writes := rng.Perm(cells)[:rng.IntN(3)], rng.Perm(cells)[:rng.IntN(3)]
	if len(writes) == 0 {
		done.reads = map[int]uint64{}
		return done, db.View(ctx, func(s *kv.Snapshot) error { return look(s, reads, done.reads) })
	}
	fresh := map[int]uint64{}
	for _, cell := range writes {
		fresh[cell] = value.Add(1)
	}
	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		done = step{reads: map[int]uint64{}, writes: maps.Clone(fresh)}
		if err := look(tx.Snapshot, reads, done.reads); err != nil {
			return err
		}
		for cell, v := range fresh {
			if err := tx.Put(keyOf(cell), binary.BigEndian.AppendUint64(nil, v)); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

func keyOf(cell int) []byte { return fmt.Appendf(nil, "cell%d", cell) }

// look reads cells.
func look(s *kv.Snapshot, cells []int, seen map[int]uint64) error {
	for _, cell := range cells {
		v, err := s.Get(keyOf(cell))
		switch {
		case errors.Is(err, kv.NotFound):
			seen[cell] = 0
		case err != nil:
			return err
		default:
			seen[cell] = binary.BigEndian.Uint64(v)
		}
	}
	return nil
}
