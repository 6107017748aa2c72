package feed

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Item is one of the things that a feed holds, whatever keeps it: what is moved between a key-value
// store and Margaret's files. Package stores/pairs makes pairs of them.
type Item struct {
	Head    bool   // Seq is the first message that was not trimmed; else one is at Seq
	Seq     uint64 // of the message
	Message []byte // nil if it was erased; an empty one is not nil
}

// Dump gives fn all items of the feed in s, each until fn returns: the head, if messages were
// trimmed, then the messages in order. The feed need not be open. A message that is missing is
// Corrupt.
func Dump(s *kv.Snapshot, fn func(*Item) error) error {
	at := &rows{s: s}
	k, err := openAsStored(at, nil)
	if err != nil {
		return err
	}
	err = k.read(at, *k.seen.Load(), func(r Reader) error {
		s := Snapshot{r: r}
		if first := s.First(); first > 0 {
			if err := fn(&Item{Head: true, Seq: first}); err != nil {
				return err
			}
		}
		for seq, message := range s.Scan(0, s.Len()) {
			if err := fn(&Item{Seq: seq, Message: message}); err != nil {
				return err
			}
		}
		return s.Err()
	})
	return errors.Join(err, k.Close())
}

// Restorer writes items that Dump gave into a feed in a transaction, which is not open elsewhere. A
// feed gets its items in the order of Dump, in as many transactions as one likes.
type Restorer struct {
	k        *keeper
	w        *writer
	tail     tail
	stored   bool
	messages [][]byte
}

// NewRestorer returns what writes into the feed in tx. The options are those of a feed that is
// begun; one that is there keeps its own.
func NewRestorer(tx *kv.Tx, o *Options) (*Restorer, error) {
	k, err := openAsStored(&rows{s: tx.Snapshot}, o)
	if err != nil {
		return nil, err
	}
	return &Restorer{k: k, w: &writer{to: tx}, tail: k.tail, stored: k.stored}, nil
}

// Put takes an item, and keeps nothing of it. A message that is there already is a Conflict, as is
// a head of a feed that has begun; one that was erased is Unsupported.
func (r *Restorer) Put(p *Item) error {
	switch next := r.tail.end + uint64(len(r.messages)); {
	case p.Head && next == 0:
		r.tail.trimmed, r.tail.first, r.tail.end = p.Seq, p.Seq, p.Seq
		return r.begin()
	case p.Head && p.Seq != r.tail.trimmed:
		return conflict("a feed of %d messages, trimmed before %d, is to begin with %d", next, r.tail.trimmed, p.Seq)
	case p.Head:
		return nil
	case p.Seq < next:
		return conflict("message %d is there already", p.Seq)
	case p.Seq > next:
		return missing(next)
	case p.Message == nil:
		return &kv.Error{Op: "restore", Kind: kv.Unsupported, Err: fmt.Errorf("message %d was erased, and keys have no "+
			"such messages", p.Seq), Hint: "keep the feed in Margaret's files"}
	}
	r.messages = append(r.messages, bytes.Clone(p.Message))
	return nil
}

// begin stores what says where a feed without messages begins.
func (r *Restorer) begin() error {
	meta := r.k.options.meta()
	meta.Format = formatTrimmed
	r.stored = true
	return errors.Join(r.w.putMeta(&meta), r.w.putTrimmed(r.tail.trimmed, r.tail.trimmed))
}

// Flush writes what Put took into the transaction, and ends the Restorer.
func (r *Restorer) Flush() error {
	defer func() { _ = r.k.Close() }() // nothing of it can fail
	if len(r.messages) == 0 {
		return nil
	}
	if !r.stored {
		meta := r.k.options.meta()
		if err := r.w.putMeta(&meta); err != nil {
			return err
		}
	}
	_, err := r.k.lay(r.w, r.tail, r.messages)
	return err
}

// openAsStored opens a feed with the compression that it has, or, where it is not begun, with o.
func openAsStored(r *rows, o *Options) (*keeper, error) {
	var as Options
	if o != nil {
		as = *o
	}
	stored, err := r.meta()
	if err == nil && stored != nil {
		as = Options{Block: as.Block}
		if stored.Compression == Zstd.String() {
			as.Compression = Zstd
		}
	}
	k := new(keeper)
	if err == nil {
		err = k.open(r, &as)
	}
	return k, err
}

func conflict(text string, values ...any) error {
	return &kv.Error{Op: "restore", Kind: kv.Conflict, Err: fmt.Errorf(text, values...), Hint: "restore into an empty feed"}
}
