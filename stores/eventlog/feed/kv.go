package feed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/keyspace"
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
	// A store that is Remote goes on after a transaction in doubt, of which nobody tells the feed.
	k := &keeper{db: db, shared: db.Mode() == kv.Shared || db.Caps().Remote}
	if !k.shared {
		k.onTurn = k.isCurrent
	}
	if k.leave, err = keyspace.Enter(db, "feed", "mqtz", !k.shared); err != nil {
		return nil, err
	}
	if err := k.view(ctx, func(r *rows) error { return k.open(r, opts) }); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return NewFeed(k), nil
}

// view runs fn on a fixed state.
func (k *keeper) view(ctx context.Context, fn func(*rows) error) error {
	return k.db.View(ctx, func(s *kv.Snapshot) error { return fn(&rows{s: s}) })
}

// update runs fn in a transaction of class d and commits what it wrote. The rows are nil if nobody
// else writes to the feed. fn may be run again.
func (k *keeper) update(ctx context.Context, d kv.Durability, fn func(*rows, *writer) error) error {
	if k.shared {
		return k.db.Update(ctx, d, func(tx *kv.Tx) error { return fn(&rows{s: tx.Snapshot}, &writer{to: tx}) })
	}
	k.batch.Reset()
	if err := fn(nil, &writer{to: batchWriter{&k.batch}}); err != nil {
		return err
	}
	k.batch.OnTurn(k.onTurn)
	return k.db.Write(ctx, d, &k.batch)
}

type batchWriter struct{ *kv.Batch }

func (w batchWriter) Put(key, value []byte) error  { w.Batch.Put(key, value); return nil }
func (w batchWriter) Delete(key []byte) error      { w.Batch.Delete(key); return nil }
func (w batchWriter) DeleteRange(r kv.Range) error { w.Batch.DeleteRange(r); return nil }

// writer changes a feed. It keeps nothing of what it is given.
type writer struct {
	to  kv.Writer
	key [9]byte
}

func (w *writer) putMeta(m *Meta) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.to.Put(metaKey, value)
}

func (w *writer) putMessage(seq uint64, message []byte) error {
	return w.to.Put(appendKey(w.key[:0], messagePrefix, seq), message)
}

func (w *writer) putBlock(first uint64, block []byte) error {
	return w.to.Put(appendKey(w.key[:0], blockPrefix, first), block)
}

// deleteMessages deletes the messages of their own from one sequence up to, not including, another.
func (w *writer) deleteMessages(from, to uint64) error {
	for seq := from; seq < to; seq++ {
		if err := w.to.Delete(appendKey(w.key[:0], messagePrefix, seq)); err != nil {
			return err
		}
	}
	return nil
}

// putTrimmed is for rows.trimmed.
func (w *writer) putTrimmed(before, freed uint64) error {
	return w.to.Put(trimmedKey, kv.AppendUint64(kv.AppendUint64(nil, before), freed))
}

// free deletes the messages of their own from one sequence up to, not including, another, and the
// blocks that begin below a third.
func (w *writer) free(from, to, blocks uint64) error {
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

// rows reads a fixed state of a feed, for one goroutine. Bytes given to a yield are borrowed until
// it returns.
type rows struct {
	s          *kv.Snapshot
	start, end [9]byte
}

// meta returns what putMeta stored, or nil.
func (r *rows) meta() (*Meta, error) {
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

// trimmed returns what putTrimmed stored last, or zeros.
func (r *rows) trimmed() (before, freed uint64, err error) {
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

// bounds returns the first and the last sequence that has a message of its own. None below from
// has: those were put into blocks, and are not to be looked for where they were.
func (r *rows) bounds(from uint64) (first, last uint64, some bool, err error) {
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

// message appends the message of its own with a sequence to dst, or is NotFound.
func (r *rows) message(dst []byte, seq uint64) ([]byte, error) {
	return r.s.Append(dst, appendKey(r.start[:0], messagePrefix, seq))
}

// messages yields the messages of their own from a sequence on, in order.
func (r *rows) messages(from uint64, yield func(seq uint64, message []byte) bool) error {
	return r.scan(messagePrefix, from, yield)
}

// blocks yields the blocks that begin at a sequence or above it, in order.
func (r *rows) blocks(from uint64, yield func(first uint64, block []byte) bool) error {
	return r.scan(blockPrefix, from, yield)
}

func (r *rows) scan(prefix byte, from uint64, yield func(seq uint64, value []byte) bool) error {
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

// block appends to dst the last block that begins at or below a sequence, or is NotFound.
func (r *rows) block(dst []byte, seq uint64) (first uint64, block []byte, err error) {
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
