package workload

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// littleEndianFeed keeps a feed as it was published: every message under its sequence, least
// significant byte first. Its order of iteration is that of the keys: the first 5,000 are every
// twentieth or so of 100,000.
type littleEndianFeed struct {
	db    *kv.DB
	n     uint64
	batch kv.Batch
	order sequenceOrder // of the messages that were there when it was opened
}

var _ feed.Backend = (*littleEndianFeed)(nil)

func newLittleEndianFeed(db *kv.DB) (*feed.Feed, error) {
	f := &littleEndianFeed{db: db}
	err := db.View(context.Background(), func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{}) {
			f.n++
		}
		return nil
	})
	f.order = orderByKey(int(f.n))
	return feed.NewFeed(f), err
}

func littleEndianKey(seq uint64) []byte { return binary.LittleEndian.AppendUint64(nil, seq) }

// Append implements feed.Backend.
func (f *littleEndianFeed) Append(ctx context.Context, d kv.Durability, messages [][]byte) (uint64, error) {
	f.batch.Reset()
	for i, m := range messages {
		f.batch.Put(littleEndianKey(f.n+uint64(i)), m)
	}
	if err := f.db.Write(ctx, d, &f.batch); err != nil {
		return 0, err
	}
	first := f.n
	f.n += uint64(len(messages))
	return first, nil
}

// View implements feed.Backend.
func (f *littleEndianFeed) View(ctx context.Context, fn func(feed.Reader) error) error {
	return f.db.View(ctx, func(s *kv.Snapshot) error { return fn(&littleEndianReader{f, s}) })
}

// Close implements feed.Backend: the store is the caller's.
func (f *littleEndianFeed) Close() error { return nil }

type littleEndianReader struct {
	f *littleEndianFeed
	s *kv.Snapshot
}

func (r *littleEndianReader) Len() uint64 { return r.f.n }

func (r *littleEndianReader) Append(dst []byte, seq uint64) ([]byte, error) {
	return r.s.Append(dst, littleEndianKey(seq))
}

// Scan gives as many messages as lie between from and to in the order of their keys, beginning with
// the from-th of them.
func (r *littleEndianReader) Scan(from, to uint64, yield func(seq uint64, message []byte) bool) error {
	order := r.f.order
	if uint64(len(order)) != r.f.n {
		order = orderByKey(int(r.f.n))
	}
	start := order.at(int(from))
	for key, message := range r.s.Scan(kv.Range{Start: littleEndianKey(uint64(start))}) {
		if len(key) != 8 {
			return fmt.Errorf("key %q is not a sequence", key)
		}
		if from++; !yield(binary.LittleEndian.Uint64(key), message) || from == to {
			break
		}
	}
	return r.s.Err()
}

// sequenceOrder is an order of sequences.
type sequenceOrder []int

// orderByKey returns the order of the little-endian keys of n sequences.
func orderByKey(n int) sequenceOrder {
	order := make(sequenceOrder, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(bits.ReverseBytes64(uint64(a)),
			bits.ReverseBytes64(uint64(b)))
	})
	return order
}

func (o sequenceOrder) at(i int) int { return o[i] }
