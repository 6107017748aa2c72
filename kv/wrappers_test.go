package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

func TestNamespacesHoldTheirPrefixAlone(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=prefix", "b=other", "\x00=zero")
	ns := func(prefix string) *kv.DB { return db.Namespace([]byte(prefix)) }
	put(t, ns("a"), "1=x", "\xff=y", "\x00=z")
	put(t, ns("\xff"), "1=t")
	put(t, ns("\xff\xff"), "\xff=u")
	put(t, ns("n").Namespace([]byte("m")), "k=nested")
	for _, c := range []struct {
		db    *kv.DB
		r     kv.Range
		pairs string
	}{
		{db, kv.Range{}, "\x00=zero a=prefix a\x00=z a1=x a\xff=y b=other nmk=nested \xff1=t \xff\xff\xff=u"},
		{ns(""), kv.Range{}, "\x00=zero a=prefix a\x00=z a1=x a\xff=y b=other nmk=nested \xff1=t \xff\xff\xff=u"},
		{ns("a"), kv.Range{}, "\x00=z 1=x \xff=y"},
		{ns("a"), kv.Range{Reverse: true}, "\xff=y 1=x \x00=z"},
		{ns("a"), kv.Range{Start: []byte("1")}, "1=x \xff=y"},
		{ns("a"), kv.Range{Start: []byte("1"), End: []byte("\xff"), Reverse: true}, "1=x"},
		{ns("a"), kv.Range{End: []byte("1")}, "\x00=z"},
		{ns("\xff"), kv.Range{}, "1=t \xff\xff=u"},
		{ns("\xff"), kv.Range{Reverse: true}, "\xff\xff=u 1=t"},
		{ns("\xff\xff"), kv.Range{}, "\xff=u"},
		{ns("n"), kv.Range{}, "mk=nested"},
		{ns("nm"), kv.Range{}, "k=nested"},
		{ns("n").Namespace([]byte("m")), kv.Range{Reverse: true}, "k=nested"},
		{ns("absent"), kv.Range{}, ""},
	} {
		want(t, fmt.Sprintf("%+v", c.r), all(t, c.db, c.r), c.pairs)
	}
}

func TestNamespacesTakePartInTransactions(t *testing.T) {
	db := openMem(t)
	n := db.Namespace([]byte("n/"))
	put(t, n, "a=1", "b=2")
	prefix := []byte("p/")
	other := db.Namespace(prefix)
	copy(prefix, "xx")
	put(t, other, "a=3")
	err := n.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		wantKind(t, "put", tx.Put(nil, nil), kv.Invalid)
		_, err := tx.Get(nil)
		wantKind(t, "get", err, kv.Invalid)
		if v, err := tx.Get([]byte("a")); string(v) != "1" || err != nil {
			t.Errorf("get: %q, %v", v, err)
		}
		return errors.Join(tx.Delete([]byte("a")), tx.Put([]byte("c"), []byte("4")))
	})
	if err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := n.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		_ = tx.Put([]byte("d"),
			nil)
		return mine
	}); err != mine {
		t.Errorf("update: %v", err)
	}
	want(t, "the whole store", all(t, db, kv.Range{}), "n/b=2 n/c=4 p/a=3")
}

func TestNamespacesLeaveRoomForThePrefix(t *testing.T) {
	db := mustOpen(t, "faulty:p")
	n := db.Namespace([]byte("12345678"))
	if got := n.Caps().MaxKey; got != db.Caps().MaxKey-8 {
		t.Errorf("max key: got %d", got)
	}
	var b kv.Batch
	b.Put(make([]byte, n.Caps().MaxKey+1), nil)
	wantKind(t, "write", n.Write(ctx, kv.Synced, &b), kv.TooLarge)
	if got := db.Namespace(make([]byte, 200)).Caps().MaxKey; got != 1 {
		t.Errorf("max key behind a long prefix: got %d", got)
	}
}

// faulty is an engine whose cursors fail after the first pair, when told to, and whose Apply does
// nothing.
type faulty struct{}

var errDisk = errors.New("disk on fire")

func init() { driver.Register(new(faulty)) }

func (*faulty) Info() driver.Info {
	info := new(spy).Info()
	info.Name = "faulty"
	info.Caps.MaxKey = 100
	return info
}

func (f *faulty) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, c)
	return &faultyStore{inner, f.Info().Caps}, err
}

type faultyStore struct {
	driver.Store
	caps driver.Caps
}

func (s *faultyStore) Caps() driver.Caps                                           { return s.caps }
func (s *faultyStore) Apply(context.Context, []driver.Op, driver.Durability) error { return nil }

func (s *faultyStore) Snapshot(context.Context) (driver.Reader, error) {
	r, err := s.Store.Snapshot(context.Background())
	return faultyReader{r}, err
}

func (s *faultyStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return faultyTxn{t}, err
}

type faultyTxn struct{ driver.Txn }

func (t faultyTxn) Cursor(r driver.Range) (driver.Cursor, error) { return faultyCursor{}, nil }

type faultyReader struct{ driver.Reader }

func (r faultyReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	if rg.Reverse {
		return nil, errDisk
	}
	return faultyCursor{}, nil
}

func (faultyReader) Get(dst, key []byte) ([]byte, error) { return nil, errDisk }

type faultyCursor struct{}

func (faultyCursor) Next() (key, value []byte, err error) { return nil, nil, errDisk }
func (faultyCursor) Close() error                         { return nil }

func TestAScanThatFailsEndsTheTransactionWithItsError(t *testing.T) {
	db := mustOpen(t, "faulty:p")
	for _, reverse := range []bool{false, true} {
		err := db.View(ctx, func(s *kv.Snapshot) error {
			for range s.Scan(kv.Range{Reverse: reverse}) {
				t.Error("a pair")
			}
			if !errors.Is(s.Err(), errDisk) {
				t.Errorf("err: got %v", s.Err())
			}
			return nil
		})
		if !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), "scan faulty p: ") {
			t.Errorf("view: got %v", err)
		}
	}
	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		for range tx.Scan(kv.Range{}) {
		}
		return tx.Put([]byte("a"), nil)
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("update: got %v", err)
	}
	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		if has, err := tx.Has([]byte("a")); has || err != nil {
			t.Errorf("the failed update was committed: %v, %v", has, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAGetThatFailsReturnsDst(t *testing.T) {
	db := mustOpen(t, "faulty:p")
	err := db.View(ctx, func(s *kv.Snapshot) error {
		dst := []byte("dst")
		v, err := s.Append(dst, []byte("a"))
		if string(v) != "dst" || !errors.Is(err, errDisk) {
			t.Errorf("append: got %q, %v", v, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
