package feed

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv"
)

// Append implements Backend.
func (k *keeper) Append(ctx context.Context, d kv.Durability, messages [][]byte) (first uint64, err error) {
	for {
		if first, err = k.append(ctx, d, messages); err != errJoined {
			return first, err
		}
	}
}

func (k *keeper) append(ctx context.Context, d kv.Durability, messages [][]byte) (first uint64, err error) {
	if !k.shared && (!k.known || k.isCurrent() != nil) {
		if err := k.reload(ctx); err != nil {
			return 0, err
		}
	}
	var after tail
	err = k.update(ctx, d, func(r *rows, w *writer) (err error) {
		after, first, err = k.layBehind(r, w, messages)
		return err
	})
	if err != nil {
		k.known = k.known && nothingWritten(err)
		return 0, err
	}
	k.tail, k.known, k.stored = after, true, true
	if !k.shared {
		k.see(after)
	}
	return first, nil
}

// layBehind writes messages behind what r has, or, without it, behind the tail that is known. It
// returns the tail afterwards.
func (k *keeper) layBehind(r *rows, w *writer, messages [][]byte) (after tail, first uint64, err error) {
	t, stored := k.tail, k.stored
	if r != nil {
		t, stored, err = k.current(r)
	}
	if err == nil && !stored {
		meta := k.options.meta()
		err = w.putMeta(&meta)
	}
	if err == nil {
		after, err = k.lay(w, t, messages)
	}
	return after, t.end, err
}

// nothingWritten reports whether the store is as before an Update that failed so. After others that
// is not known.
func nothingWritten(err error) bool {
	switch kv.KindOf(err) {
	case kv.Canceled, kv.TooLarge, kv.Invalid, kv.Unsupported, kv.NotWritable:
		return true
	}
	return false
}

// reload reads the end of the feed again after an append that failed, or that a transaction did.
func (k *keeper) reload(ctx context.Context) error {
	k.known, k.asOf = false, k.epoch.Load()
	err := k.view(ctx, func(r *rows) (err error) {
		k.tail, k.stored, err = k.current(r)
		return err
	})
	if err == nil {
		k.known = true
		k.see(k.tail)
	}
	return err
}

// current reads the end of the feed, and whether its meta is stored. Another process may have begun
// it meanwhile.
func (k *keeper) current(r *rows) (t tail, stored bool, err error) {
	if k.stored {
		t, err = k.readTail(r)
		return t, true, err
	}
	meta, err := r.meta()
	if err != nil {
		return t, false, err
	}
	if meta != nil {
		o := k.options
		if o.Dictionary == nil && meta.Dictionary != nil {
			return t, false, invalid(errors.New("the feed was begun with a dictionary by another process"),
				"open it again")
		}
		if err := o.match(meta); err != nil {
			return t, false, err
		}
	}
	t, err = k.readTail(r)
	return t, meta != nil, err
}

// lay writes messages behind a tail and returns the tail afterwards: what fills blocks as blocks,
// the rest one by one.
func (k *keeper) lay(w *writer, t tail, messages [][]byte) (tail, error) {
	after := tail{trimmed: t.trimmed, first: t.first, end: t.end + uint64(len(messages))}
	if k.codec == nil {
		for i, m := range messages {
			if err := w.putMessage(t.end+uint64(i), m); err != nil {
				return t, err
			}
		}
		return after, nil
	}
	pending := append(t.messages[:len(t.messages):len(t.messages)], messages...)
	begin, size := 0, 0 // of the block that is being filled
	for i, m := range pending {
		if size += len(m) + 1; size < k.options.Block && i-begin < maxCount {
			continue
		}
		if err := k.seal(w, after.first, pending[begin:i+1]); err != nil {
			return t, err
		}
		after.first += uint64(i + 1 - begin)
		begin, size = i+1, 0
	}
	if single := min(after.first, t.end); single > t.first {
		if err := w.deleteMessages(t.first, single); err != nil {
			return t, err
		}
	}
	after.messages = pending[begin:]
	return k.single(w, t, after)
}

// maxCount is how many messages a block can hold: its lengths must be read before any of them.
const maxCount = 8192

func (k *keeper) seal(w *writer, first uint64, messages [][]byte) error {
	k.block, k.content = k.codec.seal(k.block[:0], k.content, messages)
	if err := w.putBlock(first, k.block); err != nil {
		return err
	}
	if cap(k.content) > 4*MaxBlock {
		k.block, k.content = nil, nil // of an unusually large message
	}
	return nil
}

// single writes those messages of the new tail that the old one did not have, and makes copies of
// them.
func (k *keeper) single(w *writer, before, after tail) (tail, error) {
	for seq := max(before.end, after.first); seq < after.end; seq++ {
		i := seq - after.first
		if err := w.putMessage(seq, after.messages[i]); err != nil {
			return before, err
		}
		after.messages[i] = append([]byte(nil), after.messages[i]...)
	}
	return after, nil
}
