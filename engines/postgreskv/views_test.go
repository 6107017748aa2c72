package postgreskv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
)

func TestConformanceOfSerialViews(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "postgres", Params: params(t) + "&views=serial"})
}

// till is a store in which receipts belong to the day on which they are written. Its order is
// known: a receipt of day 1 comes before the end of day 1.
type till struct {
	t   *testing.T
	dsn string
	url string
}

func newTill(t *testing.T, views string) till {
	t.Helper()
	dsn, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	table := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
	return till{t, dsn, "postgres:" + table + "?views=" + views + "&"}
}

// open opens the store by connections of a name.
func (s till) open(name string, o ...kv.Option) *kv.DB {
	s.t.Helper()
	db, err := kv.Open(s.t.Context(), s.url+paramsOf(s.dsn+" application_name="+name), o...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	return db
}

// receipt writes one of the day that it finds, once it is allowed to. It returns when it has found
// the day.
func (s till) receipt(allowed <-chan struct{}) (done <-chan error) {
	s.t.Helper()
	db := s.open("receipt")
	if err := db.Put(s.t.Context(), kv.Flushed, []byte("day"), []byte("1")); err != nil {
		s.t.Fatal(err)
	}
	found, end, runs := make(chan struct{}), make(chan error, 1), 0
	go func() {
		err := db.Update(s.t.Context(), kv.Flushed, func(tx *kv.Tx) error {
			if runs++; runs > 1 {
				return errors.New("it runs again")
			}
			day, err := tx.Get([]byte("day"))
			close(found)
			<-allowed
			return errors.Join(err, tx.Put(append([]byte("receipt/"), day...), nil))
		})
		end <- err
	}()
	<-found
	return end
}

// endDay reads nothing: PostgreSQL takes who reads a page of a table to have read all of it.
func (s till) endDay() {
	s.t.Helper()
	if err := s.open("end").Put(s.t.Context(), kv.Flushed, []byte("day"), []byte("2")); err != nil {
		s.t.Fatal(err)
	}
}

// waits reports whether connections of a name wait for transactions that are under way.
func (s till) waits(conn *pgx.Conn, name string) (waits bool) {
	s.t.Helper()
	err := conn.QueryRow(s.t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity "+
		"WHERE application_name = $1 AND wait_event = 'SafeSnapshot'", name).Scan(&waits)
	if err != nil {
		s.t.Fatal(err)
	}
	return waits
}

// TestAViewIsInTheOrderOfAll: whoever sees that the day is over sees all of its receipts, even if
// one of them is committed later than that, if the URL asks for it. Without that it is missed.
func TestAViewIsInTheOrderOfAll(t *testing.T) {
	for _, how := range []struct {
		name string
		look func(ctx context.Context, db *kv.DB) (string, error)
	}{
		{"View", func(ctx context.Context, db *kv.DB) (saw string, err error) {
			err = db.View(ctx, func(s *kv.Snapshot) error {
				for key, value := range s.Scan(kv.Range{}) {
					saw += fmt.Sprintf("%s=%s ", key, value)
				}
				return nil
			})
			return saw, err
		}},
		{"Get", func(ctx context.Context, db *kv.DB) (string, error) {
			day, err := db.Get(ctx, []byte("day"))
			saw := fmt.Sprintf("day=%s ", day)
			if err != nil {
				return saw, err
			}
			if _, err := db.Get(ctx, []byte("receipt/1")); !errors.Is(err, kv.NotFound) {
				return saw + "receipt/1= ", err
			}
			return saw, nil
		}},
	} {
		for _, c := range []struct{ views, want string }{
			{"committed", "day=2 "}, {"serial", "day=2 receipt/1= "}} {
			t.Run(how.name+" "+c.views, func(t *testing.T) {
				s := newTill(t, c.views)
				conn, err := pgx.Connect(t.Context(), s.dsn)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				allowed := make(chan struct{})
				receipt := s.receipt(allowed)
				s.endDay()
				type sight struct {
					saw string
					err error
				}
				looked, db := make(chan sight, 1), s.open("look")
				go func() {
					saw, err := how.look(t.Context(), db)
					looked <- sight{saw, err}
				}()
				for len(looked) == 0 && !s.waits(conn, "look") {
					time.Sleep(5 * time.Millisecond)
				}
				close(allowed)
				if err := <-receipt; err != nil {
					t.Fatal(err)
				}
				if got := <-looked; got.saw != c.want || got.err != nil {
					t.Errorf("saw %q, %v; want %q", got.saw, got.err, c.want)
				}
			})
		}
	}
}

// TestAViewWaitsNoLongerThanItMay for transactions that are under way, and the store goes on.
func TestAViewWaitsNoLongerThanItMay(t *testing.T) {
	s := newTill(t, "serial")
	allowed := make(chan struct{})
	receipt := s.receipt(allowed)
	s.endDay()
	db := s.open("look", kv.WithWait(0))
	look := func(ctx context.Context) error { return db.View(ctx, func(*kv.Snapshot) error { return nil }) }
	if err := look(t.Context()); !errors.Is(err, kv.Busy) || kv.HintOf(err) == "" {
		t.Errorf("a View beside a transaction: %v (hint %q), want busy", err, kv.HintOf(err))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := look(ctx); !errors.Is(err, kv.Canceled) {
		t.Errorf("a View whose context ends: %v", err)
	}
	close(allowed)
	if err := <-receipt; err != nil {
		t.Fatal(err)
	}
	if err := look(t.Context()); err != nil {
		t.Errorf("a View afterwards: %v", err)
	}
}
