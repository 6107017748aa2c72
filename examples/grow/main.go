// Grow is a program that began with a file and goes on with a server: while it takes orders it
// moves them from bbolt to PostgreSQL, or to a cluster of etcd, as a URL says. No order that it has
// acknowledged is lost. An order waits for one step of the move, and for both commits, never for
// the whole.
//
//	go run . -orders 1000000 -to 'postgres:orders?dsn=postgres://app@db.example.com/app'
//	go run . -orders 1000000 -to 'etcd:orders?endpoints=10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379'
//
// It makes orders.db with so many orders, opens the switch in the file's place, lets four clients
// order and look, and moves: first the server follows, then the file does, then the file is left.
// At the end it counts the orders of the server against what the clients were told.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/etcdkv"
	_ "github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

func main() {
	dir := flag.String("dir", "data", "the folder of the file")
	to := flag.String("to", "postgres:orders", "the URL of the new store")
	orders := flag.Int("orders", 1_000_000, "how many there are before the move")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *to, *orders, os.Stdout); err != nil {
		log.Fatalf("%v (%s)", err, kv.HintOf(err))
	}
}

// clients is how many order at once.
const clients = 4

// run fills a new file with orders, moves them, and returns an error if one is lost.
func run(ctx context.Context, dir, to string, orders int, out io.Writer) error {
	old := "bbolt:" + filepath.Join(dir, "orders.db")
	if err := fill(ctx, old, orders); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s has %d orders\n", old, orders)
	db, err := live.Open(ctx, filepath.Join(dir, "orders.switch"), old, to)
	if err != nil {
		return err
	}
	shop := &shop{db: db, last: uint64(orders)}
	moved, err := shop.serveWhile(ctx, func() error { return move(ctx, db, out) })
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	slices.Sort(moved.took)
	fmt.Fprintf(out, "%d orders were taken meanwhile; half took less than %v, of 100 one more than %v, the slowest %v\n",
		len(moved.ids), at(moved.took, 50), at(moved.took, 99), at(moved.took, 100))
	return check(ctx, to, orders, moved.ids, out)
}

// at returns what so many of a hundred times are below.
func at(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[(len(took)-1)*percent/100].Round(time.Microsecond)
}

// key is that of an order; a later order has a higher one.
func key(id uint64) []byte { return binary.BigEndian.AppendUint64([]byte("order/"), id) }

func text(id uint64) []byte {
	return fmt.Appendf(nil, "order %d: %d books for customer %d", id, 1+id%7, id%9973)
}

// fill makes a store with orders.
func fill(ctx context.Context, url string, orders int) (err error) {
	db, err := kv.Open(ctx, url, kv.WithMode(kv.Exclusive))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var b kv.Batch
	for id := range uint64(orders) {
		b.Put(key(id), text(id))
		if b.Len() < 10_000 && id+1 < uint64(orders) {
			continue
		}
		if err := db.Write(ctx, kv.Synced, &b); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}

// move takes the program from the old store to the new one, a phase after the other.
func move(ctx context.Context, db *kv.DB, out io.Writer) error {
	s, err := live.Of(db)
	if err != nil {
		return err
	}
	for _, to := range []live.Phase{live.Flipped, live.Dropped} {
		began := time.Now()
		if err := s.Move(ctx, to); err != nil {
			return err
		}
		st := s.Status()
		if st.Differing > 0 || st.Missed > 0 {
			return fmt.Errorf("%d pairs differed, %d commits were missed: %v", st.Differing, st.Missed, st.Err)
		}
		fmt.Fprintf(out, "%v after %v\n", to, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// shop takes orders.
type shop struct {
	db   *kv.DB
	mu   sync.Mutex
	last uint64 // the number after that of the last order
}

// taken is what clients were told.
type taken struct {
	ids  []uint64
	took []time.Duration
}

// serveWhile lets clients order until do has returned.
func (s *shop) serveWhile(ctx context.Context, do func() error) (all taken, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	var wait sync.WaitGroup
	each := make([]taken, clients)
	for i := range each {
		wait.Go(func() {
			if err := s.client(ctx, done, &each[i]); err != nil {
				cancel(err)
			}
		})
	}
	err = do()
	close(done)
	wait.Wait()
	for _, one := range each {
		all.ids, all.took = append(all.ids, one.ids...), append(all.took, one.took...)
	}
	return all, errors.Join(err, context.Cause(ctx))
}

// client orders, and looks at an order now and then.
func (s *shop) client(ctx context.Context, done <-chan struct{}, told *taken) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		s.mu.Lock()
		id := s.last
		s.last++
		s.mu.Unlock()
		began := time.Now()
		if err := s.db.Put(ctx, kv.Synced, key(id), text(id)); err != nil {
			return fmt.Errorf("order %d: %w", id, err)
		}
		told.took = append(told.took, time.Since(began))
		told.ids = append(told.ids, id)
		some := rand.N(id + 1)
		if v, err := s.db.Get(ctx, key(some)); err == nil && string(v) != string(text(some)) {
			return fmt.Errorf("order %d is %q", some, v)
		} else if err != nil && !errors.Is(err, kv.NotFound) { // another client's, which is not yet there
			return fmt.Errorf("order %d: %w", some, err)
		}
	}
}

// check looks for each order in the new store.
func check(ctx context.Context, url string, orders int, more []uint64, out io.Writer) (err error) {
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	want := make(map[uint64]bool, len(more))
	for _, id := range more {
		want[id] = true
	}
	found := 0
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Prefix([]byte("order/"))) {
			id := binary.BigEndian.Uint64(k[len("order/"):])
			if string(v) != string(text(id)) {
				return fmt.Errorf("order %d is %q", id, v)
			}
			if id >= uint64(orders) && !want[id] {
				return fmt.Errorf("order %d was taken by nobody", id)
			}
			found++
		}
		return s.Err()
	})
	if err == nil && found != orders+len(more) {
		err = fmt.Errorf("%d orders of %d are there", found, orders+len(more))
	}
	if err == nil {
		fmt.Fprintf(out, "all %d orders are there\n", found)
	}
	return err
}
