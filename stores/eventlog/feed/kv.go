package feed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// The keys and values of a feed in a key-value store. Numbers are 8 bytes, big-endian.
//
//	'q' sequence -> the message as it is
//	'z' sequence -> a block, under the sequence of its first message
//	'm'          -> Meta, as JSON
//	't'          -> before which sequence the feed is trimmed, and before which that is done
const (
	messagePrefix = 'q'
	blockPrefix   = 'z'
)

var (
	metaKey    = []byte{'m'}
	trimmedKey = []byte{'t'}
)

// Open returns the feed kept in db. It uses the keys that begin with 'm', 'q', 't' and 'z' and
// nothing else; to keep it beside other data, give it a [kv.DB.Namespace]. Close the feed before
// db.
//
// In a store opened in Exclusive mode the end of the feed is kept in memory: a second Feed over the
// same keys is Invalid until the first is closed. In Shared mode every append reads it in its
// transaction.
func Open(ctx context.Context, db *kv.DB, opts *Options) (*Feed, error) {
	db, err := db.RequireAtomic()
	if err != nil {
		return nil, err
	}
	t := &kvTable{db: db}
	if !t.Shared() {
		if t.leave, err = db.Occupy("feed"); err != nil {
			return nil, err
		}
	}
	return Keep(ctx, t, opts)
}

// kvTable keeps the rows of a feed in a key-value store.
type kvTable struct {
	db    *kv.DB
	batch kv.Batch
	leave func() // of kv's Occupy; nil in a store that others write, too
}

var _ Table = (*kvTable)(nil)

// View implements Table.
func (t *kvTable) View(ctx context.Context, fn func(Rows) error) error {
	return t.db.View(ctx, func(s *kv.Snapshot) error { return fn(&kvRows{s: s}) })
}

// Update implements Table.
func (t *kvTable) Update(ctx context.Context, d kv.Durability, fn func(Rows, Writer) error) error {
	if t.Shared() {
		return t.db.Update(ctx, d, func(tx *kv.Tx) error { return fn(&kvRows{s: tx.Snapshot}, &kvWriter{to: tx}) })
	}
	t.batch.Reset()
	if err := fn(nil, &kvWriter{to: batchWriter{&t.batch}}); err != nil {
		return err
	}
	return t.db.Write(ctx, d, &t.batch)
}

// Shared implements Table.
func (t *kvTable) Shared() bool { return t.db.Mode() == kv.Shared }

// Close implements Table: the store is the caller's.
func (t *kvTable) Close() error {
	if t.leave != nil {
		t.leave()
	}
	return nil
}

// putter is what a batch and a transaction have in common.
type putter interface {
	Put(key, value []byte) error
	Delete(key []byte) error
	DeleteRange(kv.Range) error
}

type batchWriter struct{ *kv.Batch }

func (w batchWriter) Put(key, value []byte) error  { w.Batch.Put(key, value); return nil }
func (w batchWriter) Delete(key []byte) error      { w.Batch.Delete(key); return nil }
func (w batchWriter) DeleteRange(r kv.Range) error { w.Batch.DeleteRange(r); return nil }

type kvWriter struct {
	to  putter
	key [9]byte
}

var _ Writer = (*kvWriter)(nil)

func (w *kvWriter) PutMeta(m *Meta) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.to.Put(metaKey, value)
}

func (w *kvWriter) PutMessage(seq uint64, message []byte) error {
	return w.to.Put(appendKey(w.key[:0], messagePrefix, seq), message)
}

func (w *kvWriter) PutBlock(first uint64, block []byte) error {
	return w.to.Put(appendKey(w.key[:0], blockPrefix, first), block)
}

func (w *kvWriter) DeleteMessages(from, to uint64) error {
	for seq := from; seq < to; seq++ {
		if err := w.to.Delete(appendKey(w.key[:0], messagePrefix, seq)); err != nil {
			return err
		}
	}
	return nil
}

func (w *kvWriter) PutTrimmed(before, freed uint64) error {
	return w.to.Put(trimmedKey, kv.AppendUint64(kv.AppendUint64(nil, before), freed))
}

func (w *kvWriter) Free(from, to, blocks uint64) error {
	err := w.to.DeleteRange(kv.Range{Start: appendKey(nil, messagePrefix, from),
		End: appendKey(nil, messagePrefix, to)})
	if err != nil || blocks == 0 {
		return err
	}
	return w.to.DeleteRange(kv.Range{Start: appendKey(nil, blockPrefix, 0), End: appendKey(nil, blockPrefix, blocks)})
}

func appendKey(key []byte, prefix byte, seq uint64) []byte {
	return kv.AppendUint64(append(key, prefix), seq)
}

type kvRows struct {
	s          *kv.Snapshot
	start, end [9]byte
}

var _ Rows = (*kvRows)(nil)

func (r *kvRows) Meta() (*Meta, error) {
	value, err := r.s.Get(metaKey)
	if errors.Is(err, kv.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(Meta)
	if err := json.Unmarshal(value, m); err != nil {
		return nil, corrupt(fmt.Errorf("meta: %w", err))
	}
	return m, nil
}

func (r *kvRows) Trimmed() (before, freed uint64, err error) {
	value, err := r.s.Append(r.end[:0], trimmedKey)
	if errors.Is(err, kv.NotFound) {
		return 0, 0, nil
	}
	if err == nil && len(value) != 16 {
		err = corrupt(fmt.Errorf("the key of what is trimmed has %d bytes", len(value)))
	}
	if err != nil {
		return 0, 0, err
	}
	return binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), nil
}

func (r *kvRows) Bounds(from uint64) (first, last uint64, some bool, err error) {
	for _, reverse := range []bool{false, true} {
		all := kv.Range{Start: appendKey(r.start[:0], messagePrefix, from), End: []byte{messagePrefix + 1},
			Reverse: reverse}
		for key := range r.s.Scan(all) {
			if last, err = sequence(key); err != nil {
				return 0, 0, false, err
			}
			if !reverse {
				first = last
			}
			some = true
			break
		}
		if !some {
			break
		}
	}
	return first, last, some, r.s.Err()
}

func (r *kvRows) Message(dst []byte, seq uint64) ([]byte, error) {
	return r.s.Append(dst, appendKey(r.start[:0], messagePrefix, seq))
}

func (r *kvRows) Messages(from uint64, yield func(seq uint64, message []byte) bool) error {
	return r.scan(messagePrefix, from, yield)
}

func (r *kvRows) Blocks(from uint64, yield func(first uint64, block []byte) bool) error {
	return r.scan(blockPrefix, from, yield)
}

func (r *kvRows) scan(prefix byte, from uint64, yield func(seq uint64, value []byte) bool) error {
	for key, value := range r.s.Scan(kv.Range{Start: appendKey(r.start[:0], prefix, from), End: []byte{prefix + 1}}) {
		seq, err := sequence(key)
		if err != nil {
			return err
		}
		if value == nil {
			value = []byte{} // an empty message, which some engines give as nil
		}
		if !yield(seq, value) {
			break
		}
	}
	return r.s.Err()
}

func (r *kvRows) Block(dst []byte, seq uint64) (first uint64, block []byte, err error) {
	upTo := kv.Range{Start: []byte{blockPrefix}, End: append(appendKey(r.end[:0], blockPrefix, seq), 0), Reverse: true}
	for key, value := range r.s.Scan(upTo) {
		first, err = sequence(key)
		return first, append(dst, value...), err
	}
	if err := r.s.Err(); err != nil {
		return 0, dst, err
	}
	return 0, dst, kv.NotFound
}

func sequence(key []byte) (uint64, error) {
	seq, ok := kv.LastUint64(key)
	if !ok || len(key) != 9 {
		return 0, corrupt(fmt.Errorf("key %q is not that of a message", key))
	}
	return seq, nil
}
