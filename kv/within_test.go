package kv_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// A context that never ends, so that what is not refused is waited for until the test's end.
var forever = context.Background()

func TestAWriteWithinTheFunctionOfAnUpdateIsRefused(t *testing.T) {
	db := openMem(t)
	var batch kv.Batch
	batch.Put([]byte("k"), nil)
	nothing := func(*kv.Tx) error { return nil }
	for what, write := range map[string]func() error{
		"update":    func() error { return db.Update(forever, kv.Buffered, nothing) },
		"put":       func() error { return db.Put(forever, kv.Buffered, []byte("k"), nil) },
		"write":     func() error { return db.Write(forever, kv.Buffered, &batch) },
		"namespace": func() error { return db.Namespace([]byte("n")).Update(forever, kv.Buffered, nothing) },
		"begin":     func() error { _, err := db.Begin(forever, kv.Buffered); return err },
		"close":     func() error { return db.Close() },
		"may wait":  func() error { return db.MayWait(forever) },
		"deep": func() error {
			return openMem(t).Update(forever, kv.Buffered, func(*kv.Tx) error {
				return db.Update(forever, kv.Buffered, nothing)
			})
		},
	} {
		err := db.Update(forever, kv.Buffered, func(tx *kv.Tx) error {
			err := write()
			if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), "In(tx)") {
				t.Errorf("%s: %v, hint %q", what, err, kv.HintOf(err))
			}
			return tx.Put([]byte(what), nil)
		})
		if has, herr := db.Has(forever, []byte(what)); err != nil || herr != nil || !has {
			t.Errorf("%s: the transaction itself: %v, %v, %v", what, err, herr, has)
		}
	}
	if err := db.MayWait(forever); err != nil {
		t.Errorf("within no function: %v", err)
	}
}

// Who is within the function of an Update of one store may wait for the function of another one's,
// and so may those who are within none.
func TestWhoWaitsForOthersIsNotRefused(t *testing.T) {
	mine, others := openMem(t), openMem(t)
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- others.Update(forever, kv.Buffered, func(*kv.Tx) error { close(began); <-end; return nil })
	}()
	<-began
	waited := make(chan error)
	go func() { waited <- others.Put(forever, kv.Buffered, []byte("a"), nil) }()
	err := mine.Update(forever, kv.Buffered, func(*kv.Tx) error {
		short, cancel := context.WithTimeout(forever, 20*time.Millisecond)
		defer cancel()
		if err := others.Put(short, kv.Buffered, []byte("b"), nil); !errors.Is(err, kv.Canceled) {
			t.Errorf("while another has the turn: %v", err)
		}
		close(end)
		return others.Put(forever, kv.Buffered, []byte("c"), nil)
	})
	if err := errors.Join(err, <-ended, <-waited); err != nil {
		t.Error(err)
	}
}
