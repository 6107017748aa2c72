// Observe is a program whose store can be watched: it takes orders, pays them, and now and then
// does what slows a store down. Run it, and look:
//
//	go run . &
//	assay watch data/orders
//	curl localhost:8080/debug/store
//	curl localhost:8080/metrics
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
	"github.com/assaydb/assay/observe/prometheus"
)

func main() {
	url := flag.String("store", "pebble:"+filepath.Join("data", "orders"), "URL of the store")
	address := flag.String("http", "localhost:8080", "where figures are served, beside the socket")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, *url, *address, logger); err != nil {
		logger.Error("orders", "err", err, "hint", kv.HintOf(err))
		os.Exit(1)
	}
}

// run opens the store with an observer, and works until ctx ends.
func run(ctx context.Context, url, address string, logger *slog.Logger) (err error) {
	o := observe.New(&observe.Options{Logger: logger, Where: true, Long: 5 * time.Second})
	defer o.Close()
	db, err := kv.Open(ctx, url, kv.WithTracer(o))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// assay watch finds this socket by the store's path.
	stop, err := o.Listen("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	mux := http.NewServeMux()
	mux.Handle("/debug/store", o)
	mux.Handle("/metrics", prometheus.Handler("orders", o))
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	defer server.Close()
	go server.Serve(l)
	logger.Info("open", "store", db.Path(), "figures", "http://"+l.Addr().String()+"/debug/store")
	return work(ctx, db)
}

// work takes orders and pays them, from several goroutines.
func work(ctx context.Context, db *kv.DB) error {
	var all sync.WaitGroup
	errs := make(chan error, 5)
	for _, worker := range []func(context.Context, *kv.DB) error{order, order, pay, report, hold} {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := worker(ctx, db); err != nil && ctx.Err() == nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	var err error
	for one := range errs {
		err = errors.Join(err, one)
	}
	return err
}

const orders = 10_000

func key(n int) []byte { return fmt.Appendf(nil, "order/%06d", n) }

// order writes an order, which must survive.
func order(ctx context.Context, db *kv.DB) error {
	pause(ctx, time.Millisecond)
	return db.Put(ctx, kv.Synced, key(rand.IntN(orders)), make([]byte, 200+rand.IntN(800)))
}

// pay reads an order, which may not be there, and marks it in one transaction.
func pay(ctx context.Context, db *kv.DB) error {
	pause(ctx, time.Millisecond)
	return db.Update(ctx, db.Caps().Cheapest(), func(tx *kv.Tx) error {
		k := key(rand.IntN(orders))
		v, err := tx.Get(k)
		if errors.Is(err, kv.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.Put(append(k, "/paid"...), v[:1])
	})
}

// report reads everything, once a second.
func report(ctx context.Context, db *kv.DB) error {
	pause(ctx, time.Second)
	return db.View(ctx, func(s *kv.Snapshot) error {
		bytes := 0
		for k, v := range s.Scan(kv.Range{}) {
			bytes += len(k) + len(v)
		}
		return nil
	})
}

// hold keeps a snapshot for long, and a transaction for a moment in which all others wait.
func hold(ctx context.Context, db *kv.DB) error {
	s, err := db.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for range 8 {
		pause(ctx, time.Second)
		tx, err := db.Begin(ctx, db.Caps().Cheapest())
		if err != nil {
			return err
		}
		pause(ctx, 150*time.Millisecond)
		if err := tx.Rollback(); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
