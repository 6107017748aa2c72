package eventlog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/internal/outbox"
)

// An outbox and a projection: an order is kept together with the event that it was placed, and what
// is made of an event is kept together with how far that has come. Whatever ends the program, no
// order is without its event, and none is counted twice.

// shop keeps orders, the log of them, and how often each was counted.
type shop struct {
	log   *eventlog.Log
	sub   *eventlog.Subscription
	class kv.Durability
	data
}

// data is where a shop keeps its orders and counts.
type data interface {
	// order runs fn in a transaction that puts an order; count in one that counts orders.
	order(ctx context.Context, class kv.Durability, id string, fn func(tx *eventlog.Tx) error) error
	count(ctx context.Context, class kv.Durability, ids []string, fn func(tx *eventlog.Tx) error) error
	// orders returns how often each order was counted.
	orders(ctx context.Context) (map[string]int, error)
	close() error
}

const counter = "counter"

var shops outbox.Open = openShop

func openShop(ctx context.Context, kind, dir string, class kv.Durability) (outbox.Program, error) {
	s := &shop{class: class}
	var err error
	if kind == "sqllog" {
		s.log, s.data, err = openSQLShop(ctx, filepath.Join(dir, "shop.db"), class)
	} else {
		s.log, s.data, err = openKVShop(ctx, kind+":"+filepath.Join(dir, "shop"))
	}
	if err == nil && class != kv.Synced {
		err = s.log.Reserve(ctx, 1000)
	}
	if err == nil {
		s.sub, err = s.log.Subscribe(ctx, counter)
	}
	return s, err
}

func (s *shop) Close() error { return errors.Join(s.log.Close(), s.data.close()) }

// Do places an order, some with other events, and most of the time counts what there is.
func (s *shop) Do(ctx context.Context, i int, id string, done func()) error {
	err := s.order(ctx, s.class, id, func(tx *eventlog.Tx) error {
		_, err := tx.Append("order-"+id, eventlog.Empty, eventlog.Draft{Type: "Placed", Data: []byte(id), ID: id})
		return err
	})
	if err == nil && i%4 == 1 { // mixed with appends that share commits
		_, err = s.log.Append(ctx, s.class, "", eventlog.Any, eventlog.Draft{Type: "Noise"},
			eventlog.Draft{Type: "Noise"})
	}
	if err == nil && i%3 > 0 {
		err = s.project(ctx)
	}
	if err == nil {
		done()
	}
	return err
}

// project counts the orders of some events.
func (s *shop) project(ctx context.Context) error {
	events, err := s.sub.Next(ctx, 3)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range events {
		if e.Type == "Placed" {
			ids = append(ids, string(e.Data))
		}
	}
	return s.count(ctx, s.class, ids, func(tx *eventlog.Tx) error {
		return tx.Ack(s.sub, events[len(events)-1].Position)
	})
}

// Check requires that every order has one event, and that those which the subscription has come
// past were counted once, the others not at all. It returns the orders.
func (s *shop) Check(ctx context.Context) (ids []string, err error) {
	orders, err := s.orders(ctx)
	if err != nil {
		return nil, err
	}
	ids = slices.Collect(maps.Keys(orders))
	sub, err := s.log.Subscribe(ctx, counter)
	if err != nil {
		return nil, err
	}
	for e, err := range s.log.All(ctx, eventlog.Range{}) {
		if err != nil {
			return nil, err
		}
		if e.Type != "Placed" {
			continue
		}
		counted, ok := orders[string(e.Data)]
		if !ok {
			return nil, fmt.Errorf("event %d is of order %s, which is not there, or of one that has two",
				e.Position, e.Data)
		}
		delete(orders, string(e.Data))
		want := 0
		if e.Position <= sub.Position() {
			want = 1
		}
		if counted != want || e.Version != 1 {
			return nil, fmt.Errorf("order %s of event %d, version %d, was counted %d times; the subscription is at %d",
				e.Data, e.Position,
				e.Version, counted, sub.Position())
		}
	}
	for id := range orders {
		return nil, fmt.Errorf("order %s has no event", id)
	}
	return ids, nil
}

// kvShop keeps its data beside the log in a key-value store.
type kvShop struct {
	db  *kv.DB
	log *eventlog.Log
}

func openKVShop(ctx context.Context, url string) (*eventlog.Log, data, error) {
	db, err := kv.Open(ctx, url, kv.WithWait(frame.Patience))
	if err != nil {
		return nil, nil, err
	}
	log, err := eventlog.Open(ctx, db.Namespace([]byte("events/")), &eventlog.Options{Streams: true})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return log, &kvShop{db, log}, nil
}

func (s *kvShop) close() error { return s.db.Close() }

func (s *kvShop) order(ctx context.Context, class kv.Durability, id string, fn func(tx *eventlog.Tx) error) error {
	return s.db.Update(ctx, class, func(tx *kv.Tx) error {
		events, err := s.log.In(tx)
		if err != nil {
			return err
		}
		return errors.Join(tx.Put([]byte("order/"+id), []byte("0")), fn(events))
	})
}

func (s *kvShop) count(ctx context.Context, class kv.Durability, ids []string, fn func(tx *eventlog.Tx) error) error {
	return s.db.Update(ctx, class, func(tx *kv.Tx) error {
		for _, id := range ids {
			key := []byte("order/" + id)
			text, err := tx.Get(key)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(text))
			if err == nil {
				err = tx.Put(key, []byte(strconv.Itoa(n+1)))
			}
			if err != nil {
				return err
			}
		}
		events, err := s.log.In(tx)
		if err != nil {
			return err
		}
		return fn(events)
	})
}

func (s *kvShop) orders(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	err := s.db.View(ctx, func(snapshot *kv.Snapshot) error {
		for key, value := range snapshot.Scan(kv.Prefix([]byte("order/"))) {
			n, err := strconv.Atoi(string(value))
			if err != nil {
				return err
			}
			all[string(key[len("order/"):])] = n
		}
		return snapshot.Err()
	})
	return all, err
}

// sqlShop keeps its data in a table beside the log's.
type sqlShop struct {
	db  *sql.DB
	log *eventlog.Log
}

func openSQLShop(ctx context.Context, path string, class kv.Durability) (*eventlog.Log, data, error) {
	log, err := sqllog.Open(ctx, path, &sqllog.Options{Options: eventlog.Options{Streams: true},
		Wait: frame.Patience})
	if err != nil {
		return nil, nil, err
	}
	level := "FULL"
	if class != kv.Synced {
		level = "NORMAL"
	}
	db, err := sql.Open("sqlite", "file://"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous("+
		level+")")
	if err == nil {
		_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, counted INTEGER NOT NULL)`)
	}
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return log, &sqlShop{db, log}, nil
}

func (s *sqlShop) close() error { return s.db.Close() }

func (s *sqlShop) order(ctx context.Context, _ kv.Durability, id string, fn func(tx *eventlog.Tx) error) error {
	return s.update(ctx, `INSERT INTO orders (id, counted) VALUES (?, 0)`, []string{id}, fn)
}

func (s *sqlShop) count(ctx context.Context, _ kv.Durability, ids []string, fn func(tx *eventlog.Tx) error) error {
	return s.update(ctx, `UPDATE orders SET counted = counted + 1 WHERE id = ?`, ids, fn)
}

// update executes query for each id, then fn, in one transaction.
func (s *sqlShop) update(ctx context.Context, query string, ids []string, fn func(tx *eventlog.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, query, id); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	events, err := sqllog.In(tx, s.log)
	if err == nil {
		err = fn(events)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s *sqlShop) orders(ctx context.Context) (map[string]int, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, counted FROM orders`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		all[id] = n
	}
	return all, rows.Err()
}

func TestShopKilled(t *testing.T) { shops.Killed(t, "bbolt", "pebble", "sqlite", "bunt", "sqllog") }

func TestShopCrashes(t *testing.T) { shops.Crashes(t, "bbolt", "pebble", "sqlite", "sqllog") }

// TestShopInTwoCommits shows what the check finds where an order and its event, or a count and its
// acknowledgement, are not one.
func TestShopInTwoCommits(t *testing.T) {
	ctx := t.Context()
	nothing := func(*eventlog.Tx) error { return nil }
	for what, half := range map[string]func(s *shop) error{
		"an order without an event": func(s *shop) error { return s.order(ctx, kv.Synced, "a", nothing) },
		"an event without an order": func(s *shop) error {
			_, err := s.log.Append(ctx, kv.Synced, "order-a", eventlog.Any,
				eventlog.Draft{Type: "Placed", Data: []byte("a")})
			return err
		},
		"an order with two events": func(s *shop) error {
			_, err := s.log.Append(ctx, kv.Synced, "order-"+outbox.Whole, eventlog.Any,
				eventlog.Draft{Type: "Placed", Data: []byte(outbox.Whole)})
			return err
		},
		"a count that is not acknowledged": func(s *shop) error {
			return s.count(ctx, kv.Synced, []string{outbox.Whole},
				nothing)
		},
		"an acknowledgement of what was not counted": func(s *shop) error {
			return s.sub.Ack(ctx, kv.Synced, 1)
		},
	} {
		for _, kind := range []string{"bbolt", "sqllog"} {
			t.Run(kind+" "+what, func(t *testing.T) {
				shops.Objects(t, kind, func(p outbox.Program) error { return half(p.(*shop)) })
			})
		}
	}
}
