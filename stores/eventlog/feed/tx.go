package feed

import (
	"errors"

	"github.com/assaydb/assay/kv"
)

// Tx is a feed within a transaction of the program's own: messages and the data that they are about
// are committed together, or not at all. They can be read, and wake those who follow, when the
// transaction is committed. After an error the transaction commits nothing.
//
//	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
//		messages, err := f.In(tx)
//		if err != nil {
//			return err
//		}
//		seq, err := messages.Append(text)
//		if err != nil {
//			return err
//		}
//		return tx.Put(lastOfAda, kv.AppendUint64(nil, seq))
//	})
type Tx struct {
	feed   *Feed
	joined *joined
}

// In returns the feed within tx, a transaction of the store that [Open] was given, whatever its
// namespace. In Margaret's files it is Unsupported.
func (f *Feed) In(tx *kv.Tx) (*Tx, error) {
	k, ok := f.backend.(*keeper)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the feed is not kept in a key-value store"),
			Hint: "keep it in one, beside the data: feed.Open(ctx, db, nil)"}
	}
	if err := f.enter("join"); err != nil {
		return nil, err
	}
	defer f.calls.Leave()
	in, err := k.db.Join(tx)
	if err != nil {
		return nil, err
	}
	return &Tx{f, in.Local(k, func() any { return &joined{told: k, tx: in} }).(*joined)}, nil
}

// Append is [Feed.Append] within the transaction. It comes after what the transaction appended
// before.
func (t *Tx) Append(messages ...[]byte) (first uint64, err error) {
	if err = check(messages); err == nil && len(messages) > 0 {
		first, err = t.append(messages)
	}
	if err != nil {
		t.joined.tx.Fail(err) // also of one that was refused at once: the data must not be there without it
		return 0, err
	}
	return first, nil
}

func (t *Tx) append(messages [][]byte) (first uint64, err error) {
	if err := t.feed.enter("append"); err != nil {
		return 0, err
	}
	defer t.feed.calls.Leave()
	if first, err = t.joined.append(messages); err == nil {
		t.joined.tx.OnCommit(t.feed.bell.Ring)
	}
	return first, err
}

// joined is what a transaction does to a feed. It goes by what is stored, as nobody else writes
// until the transaction ends. An append that was laid out before, and waits for that, is laid out
// anew then: see isCurrent.
type joined struct {
	told *keeper // of the feed
	tx   *kv.Tx
	own  *keeper // works in tx alone; nil before the first append
}

func (j *joined) append(messages [][]byte) (first uint64, err error) {
	k := j.own
	if k == nil {
		k = &keeper{shared: true, options: j.told.options, codec: j.told.codec}
		k.tail.first = j.told.seen.Load().first // what is below is in blocks
	}
	after, first, err := k.layBehind(&rows{s: j.tx.Snapshot}, &writer{to: j.tx}, messages)
	if err != nil {
		return 0, err
	}
	k.tail, k.known, k.stored = after, true, true
	if j.own == nil {
		j.own = k
		j.tx.OnCommit(func() { j.told.behind(k.tail) })
	}
	return first, nil
}

// behind is called when a transaction with messages is committed, before the next writer's turn.
func (k *keeper) behind(t tail) {
	if !k.shared {
		k.epoch.Add(1)
		k.see(t)
	}
}

// errJoined stops what was laid out before a transaction appended.
var errJoined = errors.New("a transaction appended meanwhile")

// isCurrent stops a batch that does not know of what a transaction appended. It is called in the
// batch's turn.
func (k *keeper) isCurrent() error {
	if k.epoch.Load() != k.asOf {
		return errJoined
	}
	return nil
}
