package suites

import (
	"errors"
	"testing"
	"time"

	store "github.com/blevesearch/upsidedown_store_api"
	"github.com/blevesearch/upsidedown_store_api/test"

	"github.com/assaydb/assay/foreign/upsidedown"
	"github.com/assaydb/assay/kv"
)

func newStore(open Open, options ...kv.Option) (*upsidedown.Store, *kv.DB) {
	db, class := open(options...)
	return upsidedown.New(db, class, new(test.TestMergeCounter)), db
}

// Upsidedown is the suite of bleve's stores.
func Upsidedown(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, store.KVStore)
	}{
		{"KVCrud", test.CommonTestKVCrud},
		{"ReaderOwnsGetBytes", test.CommonTestReaderOwnsGetBytes},
		{"WriterOwnsBytes", test.CommonTestWriterOwnsBytes},
		{"PrefixIterator", test.CommonTestPrefixIterator},
		{"PrefixIteratorSeek", test.CommonTestPrefixIteratorSeek},
		{"RangeIterator", test.CommonTestRangeIterator},
		{"RangeIteratorSeek", test.CommonTestRangeIteratorSeek},
		{"Merge", test.CommonTestMerge},
		{"ReaderIsolation", test.CommonTestReaderIsolation},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, db := newStore(open)
			if c.name == "ReaderIsolation" && db.Caps().ReadersBlockWriters == kv.Always {
				t.Skip("it writes beside an open reader, and this engine's readers block its writers")
			}
			c.run(t, s)
		})
	}
}

// UpsidedownBatchBesideAnOpenReader is for where the suite's ReaderIsolation cannot run: a batch
// beside an open reader is refused with a reason, and goes through once the reader is closed.
func UpsidedownBatchBesideAnOpenReader(t *testing.T, open Open) {
	s, db := newStore(open, kv.WithWait(200*time.Millisecond))
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	w, _ := s.Writer()
	b := w.NewBatch()
	b.Set([]byte("k"), []byte("v"))
	err = w.ExecuteBatch(b)
	if db.Caps().ReadersBlockWriters == kv.Always {
		if !errors.Is(err, kv.Busy) || kv.HintOf(err) == "" {
			t.Errorf("%v (kind %v, hint %q), want Busy with a hint", err, kv.KindOf(err), kv.HintOf(err))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		err = w.ExecuteBatch(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := db.Get(t.Context(), []byte("k")); err != nil || string(v) != "v" {
		t.Errorf("after the batch: %q, %v", v, err)
	}
}

// UpsidedownMergeIntoWhatIsThere is what the suite leaves out, which merges into nothing, within
// one batch.
func UpsidedownMergeIntoWhatIsThere(t *testing.T, open Open) {
	s, _ := newStore(open)
	w, _ := s.Writer()
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	for range 3 {
		buf, b, err := w.NewBatchEx(store.KVBatchOptions{TotalBytes: 9, NumMerges: 1})
		if err != nil {
			t.Fatal(err)
		}
		buf[0] = 'k'
		copy(buf[1:], one)
		b.Merge(buf[:1], buf[1:])
		clear(buf)
		if err := w.ExecuteBatch(b); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	got, err := r.MultiGet([][]byte{[]byte("k"), []byte("absent")})
	if err != nil || len(got) != 2 || string(got[0]) != "\x03\x00\x00\x00\x00\x00\x00\x00" || got[1] != nil {
		t.Errorf("MultiGet: %q, %v", got, err)
	}
}
