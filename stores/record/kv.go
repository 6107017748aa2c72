package record

import (
	"context"
	"encoding/binary"

	"github.com/assaydb/assay/kv"
)

// kvBackend keeps a collection in a key-value store.
//
//	prefix 'h'              -> header
//	prefix 'i' ...          -> entries of indexes
//	prefix 'r' id [column]  -> a record, or a column of it
//
// The prefix is empty, or 'c' and the collection's name.
type kvBackend struct {
	db       *kv.DB
	layout   Layout
	prefix   []byte
	columns  [][]byte
	byName   map[string]int
	idLength func(key []byte) int
}

var (
	_ Backend       = (*kvBackend)(nil)
	_ BackendWriter = (*kvWriter)(nil)
	_ BackendPutter = (*kvBatch)(nil)
)

const recordPrefix = 'r'

func newKVBackend(db *kv.DB, name string, l Layout) *kvBackend {
	b := &kvBackend{db: db, layout: l}
	if name != "" {
		b.prefix = kv.AppendString([]byte{'c'}, name)
	}
	return b
}

// Traits tells what the store is.
func (b *kvBackend) Traits() Traits {
	t := Traits{Layout: b.layout.String(), ByField: b.layout != SingleKey, Shared: b.db.Mode() == kv.Shared,
		ReadOnly: b.db.Mode() == kv.ReadOnly, Strongest: kv.Buffered}
	for _, d := range []kv.Durability{kv.Flushed, kv.Synced} {
		if b.db.Caps().Promise(d).Supported {
			t.Strongest = d
		}
	}
	return t
}

// SetColumns notes the columns.
func (b *kvBackend) SetColumns(names [][]byte, idLength func([]byte) int) {
	b.columns, b.idLength, b.byName = names, idLength, map[string]int{}
	for i, name := range names {
		b.byName[string(name)] = i
	}
}

// columnNumber is the name of a column in the layout MultiNumbers.
func columnNumber(number int) []byte { return binary.AppendUvarint(nil, uint64(number)) }

// View runs fn on a snapshot.
func (b *kvBackend) View(ctx context.Context, fn func(BackendReader) error) error {
	return b.db.View(ctx, func(s *kv.Snapshot) error { return fn(&kvReader{keys: keys{b: b}, s: s}) })
}

// Update runs fn on a transaction.
func (b *kvBackend) Update(ctx context.Context, d kv.Durability, fn func(BackendWriter) error) error {
	return b.db.Update(ctx, d, func(tx *kv.Tx) error { return fn(b.over(tx)) })
}

// Blind runs fn on a batch, which engines commit with less ado.
func (b *kvBackend) Blind(ctx context.Context, d kv.Durability, fn func(BackendPutter) error) error {
	batch := &kvBatch{keys: keys{b: b}}
	if err := fn(batch); err != nil {
		return err
	}
	return b.db.Write(ctx, d, &batch.batch)
}

func (b *kvBackend) over(tx *kv.Tx) *kvWriter {
	return &kvWriter{kvReader: kvReader{keys: keys{b: b}, s: tx.Snapshot}, tx: tx}
}

// keys makes keys in memory that is used again.
type keys struct {
	b   *kvBackend
	key []byte
}

func (k *keys) pair(key []byte) []byte {
	if len(k.b.prefix) == 0 {
		return key
	}
	k.key = append(append(k.key[:0], k.b.prefix...), key...)
	return k.key
}

func (k *keys) row(id []byte) []byte {
	k.key = append(append(append(k.key[:0], k.b.prefix...), recordPrefix), id...)
	return k.key
}

func (k *keys) column(id []byte, column int) []byte {
	k.key = append(k.row(id), k.b.columns[column]...)
	return k.key
}

// rows returns the range of the keys of rows, and how long what stands before the id is.
func (b *kvBackend) rows(r kv.Range) (kv.Range, int) {
	before := append(append([]byte(nil), b.prefix...), recordPrefix)
	full := kv.Prefix(before)
	full.Reverse = r.Reverse
	if r.Start != nil {
		full.Start = append(append([]byte(nil), before...), r.Start...)
	}
	if r.End != nil {
		full.End = append(append([]byte(nil), before...), r.End...)
	}
	return full, len(before)
}

// putRow writes a row through put and remove.
func (k *keys) putRow(id []byte, row [][]byte, stale []int, put func(key, value []byte) error, remove func(key []byte) error) error {
	if len(k.b.columns) == 0 {
		return put(k.row(id), row[0])
	}
	for i, value := range row {
		if value == nil {
			continue
		}
		if err := put(k.column(id, i), value); err != nil {
			return err
		}
	}
	for _, i := range stale {
		if err := remove(k.column(id, i)); err != nil {
			return err
		}
	}
	return nil
}

// deleteRow removes a row through remove.
func (k *keys) deleteRow(id []byte, remove func(key []byte) error) error {
	if len(k.b.columns) == 0 {
		return remove(k.row(id))
	}
	for i := range k.b.columns {
		if err := remove(k.column(id, i)); err != nil {
			return err
		}
	}
	return nil
}

// kvWriter is a transaction.
type kvWriter struct {
	kvReader
	tx *kv.Tx
}

func (w *kvWriter) SetPair(key, value []byte) error { return w.tx.Put(w.pair(key), value) }
func (w *kvWriter) DeletePair(key []byte) error     { return w.tx.Delete(w.pair(key)) }
func (w *kvWriter) DeleteRow(id []byte) error       { return w.deleteRow(id, w.tx.Delete) }

func (w *kvWriter) PutRow(id []byte, row [][]byte, stale []int) error {
	return w.putRow(id, row, stale, w.tx.Put, w.tx.Delete)
}

// kvBatch collects writes.
type kvBatch struct {
	keys
	batch kv.Batch
}

func (w *kvBatch) put(key, value []byte) error { w.batch.Put(key, value); return nil }
func (w *kvBatch) remove(key []byte) error     { w.batch.Delete(key); return nil }

func (w *kvBatch) SetPair(key, value []byte) error { return w.put(w.pair(key), value) }
func (w *kvBatch) DeletePair(key []byte) error     { return w.remove(w.pair(key)) }
func (w *kvBatch) DeleteRow(id []byte) error       { return w.deleteRow(id, w.remove) }

func (w *kvBatch) PutRow(id []byte, row [][]byte, stale []int) error {
	return w.putRow(id, row, stale, w.put, w.remove)
}
