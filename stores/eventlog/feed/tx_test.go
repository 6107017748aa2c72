package feed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
	_ "github.com/assaydb/assay/stores/internal/aborts"
	"github.com/assaydb/assay/stores/internal/doubts"
)

// inTx appends messages to a feed in a transaction, and notes beside them what their first sequence
// is.
func inTx(f *feed.Feed, tx *kv.Tx, messages ...[]byte) error {
	in, err := f.In(tx)
	if err != nil {
		return err
	}
	seq, err := in.Append(messages...)
	if err != nil {
		return err
	}
	return tx.Put(fmt.Appendf(nil, "first of %s", messages[0]), kv.AppendUint64(nil, seq))
}

// openBeside opens a feed in a namespace of a store on an engine.
func openBeside(t *testing.T, engine string, o *feed.Options) (*kv.DB, *feed.Feed) {
	t.Helper()
	db, err := kv.Open(t.Context(), engine+":"+filepath.Join(t.TempDir(), "store"), kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f, err := feed.Open(t.Context(), db.Namespace([]byte("feed/")), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return db, f
}

// Messages and the data that they are about are committed together or not at all, whatever engine
// and form, and between them are appends without a transaction.
func TestMessagesAreCommittedWithWhatTheyAreAbout(t *testing.T) {
	for _, engine := range []string{"mem", "mem-aborts", "mem-doubts", "bbolt", "pebble", "sqlite"} {
		for name, o := range map[string]*feed.Options{"plain": nil, "zstd": small} {
			t.Run(engine+"/"+name, func(t *testing.T) { testBesideData(t, engine, o) })
		}
	}
}

func testBesideData(t *testing.T, engine string, o *feed.Options) {
	db, f := openBeside(t, engine, o)
	ctx, class := t.Context(), db.Caps().Cheapest()
	var want [][]byte
	got := make(chan []byte, 1000)
	followed, stop := context.WithCancel(ctx)
	defer stop()
	go f.Follow(followed, 0, func(_ uint64, m []byte) error { got <- bytes.Clone(m); return nil })
	boom := errors.New("boom")
	message := func(i int) []byte { return fmt.Appendf(nil, "%d %0200d", i, i) }
	for i := range 60 {
		switch messages := [][]byte{message(3 * i), message(3*i + 1), message(3*i + 2)}; i % 3 {
		case 0:
			if _, err := f.Append(ctx, class, messages...); err != nil {
				t.Fatal(err)
			}
			want = append(want, messages...)
		case 1:
			err := db.Update(ctx, class, func(tx *kv.Tx) error {
				return errors.Join(inTx(f, tx, messages[:2]...), inTx(f, tx, messages[2]))
			})
			if err != nil {
				t.Fatal(err)
			}
			for j, m := range [][]byte{messages[0], messages[2]} {
				first, err := db.Get(ctx, fmt.Appendf(nil, "first of %s", m))
				if n, _ := kv.LastUint64(first); err != nil || n != uint64(len(want)+2*j) {
					t.Fatalf("%.5q is noted at %d, %v, want %d", m, n, err, len(want)+2*j)
				}
			}
			want = append(want, messages...)
		default:
			err := db.Update(ctx, class, func(tx *kv.Tx) error { return errors.Join(inTx(f, tx, messages...), boom) })
			if !errors.Is(err, boom) {
				t.Fatalf("got %v, want boom", err)
			}
			if has, err := db.Has(ctx, fmt.Appendf(nil, "first of %s", messages[0])); has || err != nil {
				t.Fatalf("what was rolled back is there: %v, %v", has, err)
			}
		}
	}
	for i := range want {
		if m := <-got; !bytes.Equal(m, want[i]) {
			t.Fatalf("the follower got %.5q, want %.5q", m, want[i])
		}
	}
	const before = 50
	if err := f.Trim(ctx, class, before); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(ctx, class, func(tx *kv.Tx) error { return inTx(f, tx, message(1000)) }); err != nil {
		t.Fatal(err)
	}
	want = append(want, message(1000))
	next := uint64(before)
	err := f.View(ctx, func(s *feed.Snapshot) error {
		for seq, m := range s.Scan(0, s.Len()) {
			if seq != next || !bytes.Equal(m, want[seq]) {
				return fmt.Errorf("message %d is %.5q, want %d, %.5q", seq, m, next, want[next])
			}
			next++
		}
		return s.Err()
	})
	if err != nil || next != uint64(len(want)) {
		t.Errorf("read up to %d of %d: %v", next, len(want), err)
	}
}

// Appends and transactions that come at once get a number each, and none is written over.
func TestAppendsMeetTransactions(t *testing.T) {
	for _, engine := range []string{"mem", "pebble"} {
		for name, o := range map[string]*feed.Options{"plain": nil, "zstd": small} {
			t.Run(engine+"/"+name, func(t *testing.T) { testMeet(t, engine, o) })
		}
	}
}

func testMeet(t *testing.T, engine string, o *feed.Options) {
	db, f := openBeside(t, engine, o)
	ctx := t.Context()
	const each = 200
	var all sync.WaitGroup
	numbers := make([]uint64, 4*each)
	message := func(i int) []byte { return fmt.Appendf(nil, "%d %0100d", i, i) }
	for g := range 4 {
		all.Go(func() {
			for i := g * each; i < (g+1)*each; i++ {
				var err error
				if g%2 == 0 {
					numbers[i], err = f.Append(ctx, kv.Buffered, message(i))
				} else {
					err = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
						in, err := f.In(tx)
						if err == nil {
							numbers[i], err = in.Append(message(i))
						}
						return err
					})
				}
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := f.Get(ctx, numbers[i]); err != nil || !bytes.Equal(got, message(i)) {
					t.Errorf("message %d, which was appended as %d, is %.5q, %v", i, numbers[i], got, err)
					return
				}
			}
		})
	}
	all.Wait()
	if n, err := f.Len(ctx); n != 4*each || err != nil {
		t.Errorf("%d messages, %v, want %d", n, err, 4*each)
	}
	for i, n := range numbers {
		if got, err := f.Get(ctx, n); err != nil || !bytes.Equal(got, message(i)) {
			t.Fatalf("message %d, which was appended as %d, is %.5q, %v", i, n, got, err)
		}
	}
}

// What was refused in a transaction ends it, even if its error is passed over.
func TestARefusedAppendEndsTheTransaction(t *testing.T) {
	db, f := openBeside(t, "mem", nil)
	err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		in, err := f.In(tx)
		if err != nil {
			return err
		}
		_, _ = in.Append([]byte("a"))
		_, _ = in.Append(make([][]byte, feed.MaxAppend+1)...)
		return tx.Put([]byte("a"), nil)
	})
	if !errors.Is(err, kv.TooLarge) {
		t.Errorf("got %v, want too large", err)
	}
	n, err := f.Len(t.Context())
	if has, herr := db.Has(t.Context(), []byte("a")); n != 0 || has || errors.Join(err, herr) != nil {
		t.Errorf("%d messages, data %v, %v", n, has, errors.Join(err, herr))
	}
}

// A server may have done a transaction whose answer was lost, and goes on: its messages stay.
func TestMessagesOfATransactionInDoubtAreNotWrittenOver(t *testing.T) {
	db, f := openBeside(t, "mem-doubts", nil)
	ctx := t.Context()
	if _, err := f.Append(ctx, kv.Buffered, []byte("a")); err != nil {
		t.Fatal(err)
	}
	doubts.Next()
	if err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error { return inTx(f, tx, []byte("b")) }); !errors.Is(err,
		kv.InDoubt) {
		t.Fatalf("got %v, want in doubt", err)
	}
	if seq, err := f.Append(ctx, kv.Buffered, []byte("c")); seq != 2 || err != nil {
		t.Errorf("appended as %d, %v, want 2", seq, err)
	}
	if got, err := f.Get(ctx, 1); string(got) != "b" || err != nil {
		t.Errorf("message 1 is %q, %v, want b", got, err)
	}
}

// In Margaret's files there is no transaction with anything else, and another store's is refused.
func TestWhatAFeedCannotJoinIsRefused(t *testing.T) {
	log, err := margaret.Open(t.Context(), filepath.Join(t.TempDir(), "log"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	db, f := openBeside(t, "mem", nil)
	other, _ := openBeside(t, "bbolt", nil)
	err = db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		_, err := log.In(tx)
		return err
	})
	if !errors.Is(err, kv.Unsupported) || kv.HintOf(err) == "" {
		t.Errorf("Margaret's: %v, want unsupported with a hint", err)
	}
	err = other.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
		_, err := f.In(tx)
		return err
	})
	if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("another store's: %v, want invalid with a hint", err)
	}
}
