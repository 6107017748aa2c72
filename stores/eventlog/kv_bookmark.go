package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
)

// Bookmark implements Backend.
func (b *kvBackend) Bookmark(ctx context.Context, name string) (position uint64, err error) {
	key := bookmarkKey(name)
	err = b.db.View(ctx, func(s *kv.Snapshot) (err error) {
		position, err = readBookmark(s, key)
		return err
	})
	if !errors.Is(err, kv.NotFound) {
		return position, err
	}
	err = b.db.Update(ctx, b.strongest, func(tx *kv.Tx) (err error) {
		if position, err = readBookmark(tx.Snapshot, key); errors.Is(err, kv.NotFound) {
			return tx.Put(key, kv.AppendUint64(nil, 0))
		}
		return err
	})
	return position, err
}

// SetBookmarks implements Backend.
func (b *kvBackend) SetBookmarks(ctx context.Context, d kv.Durability, marks []*Mark) error {
	if b.marks != nil && !slices.ContainsFunc(marks, func(m *Mark) bool { return m.Holder != "" }) {
		return b.setKnownBookmarks(ctx, d, marks)
	}
	return b.db.Update(ctx, d, func(tx *kv.Tx) error {
		b.marksChanged(tx)
		for _, m := range marks {
			if m.Err = setBookmark(tx, m); m.Err == nil {
				continue
			}
			if kind := kv.KindOf(m.Err); kind != kv.NotFound && kind != kv.Conflict {
				return m.Err
			}
		}
		return nil
	})
}

func setBookmark(tx *kv.Tx, m *Mark) error {
	if m.Holder != "" {
		if _, holder, err := readLease(tx.Snapshot, m.Name); err != nil || holder != m.Holder {
			return cmp.Or(err, NotHeld(m.Name))
		}
	}
	return raiseBookmark(tx, bookmarkKey(m.Name), m.Position)
}

// setKnownBookmarks is SetBookmarks where nobody else writes but this program. It reads only what
// it does not know, and begins anew if a transaction changed bookmarks meanwhile.
func (b *kvBackend) setKnownBookmarks(ctx context.Context, d kv.Durability, marks []*Mark) error {
	for {
		b.markBatch.Reset()
		if b.marksSeen != b.marksEpoch.Load() || len(b.marks) > cachedVersions {
			b.marksSeen = b.marksEpoch.Load()
			clear(b.marks)
		}
		for _, m := range marks {
			if err := b.planMark(ctx, m); err != nil {
				clear(b.marks)
				return err
			}
		}
		if b.markBatch.Len() == 0 {
			return nil
		}
		b.markBatch.OnTurn(b.marksAreCurrent)
		err := b.db.Write(ctx, d, &b.markBatch)
		if err != nil {
			clear(b.marks)
		}
		if err != errJoined {
			return err
		}
	}
}

// planMark plans to raise a bookmark.
func (b *kvBackend) planMark(ctx context.Context, m *Mark) error {
	m.Err = nil
	before, ok := b.marks[m.Name]
	if !ok {
		err := b.db.View(ctx, func(s *kv.Snapshot) (err error) {
			before, err = readBookmark(s, bookmarkKey(m.Name))
			return err
		})
		if errors.Is(err, kv.NotFound) {
			m.Err = err
			return nil
		}
		if err != nil {
			return err
		}
	}
	b.marks[m.Name] = max(before, m.Position)
	if m.Position > before {
		b.markKey = append(append(b.markKey[:0], bookmarkPrefix), m.Name...)
		b.markBatch.Put(b.markKey, kv.AppendUint64(b.markBatch.AvailableBuffer(), m.Position))
	}
	return nil
}

// currentMarks stops a batch that was planned before somebody else changed bookmarks. It is called
// in the batch's turn.
func (b *kvBackend) currentMarks() error {
	if b.marksSeen != b.marksEpoch.Load() {
		return errJoined
	}
	return nil
}

// marksChanged is called in a transaction that changes bookmarks.
func (b *kvBackend) marksChanged(tx *kv.Tx) {
	tx.OnCommit(func() { b.marksEpoch.Add(1) })
}

func raiseBookmark(tx *kv.Tx, key []byte, position uint64) error {
	before, err := readBookmark(tx.Snapshot, key)
	if err != nil || position <= before {
		return err
	}
	return tx.Put(key, kv.AppendUint64(nil, position))
}

// Bookmarks implements Backend.
func (b *kvBackend) Bookmarks(ctx context.Context) (all []Bookmark, err error) {
	err = b.db.View(ctx, func(s *kv.Snapshot) error {
		for key, value := range s.Scan(kv.Prefix([]byte{bookmarkPrefix})) {
			position, err := number(key, value)
			if err != nil {
				return err
			}
			all = append(all, Bookmark{Name: string(key[1:]), Position: position})
		}
		return nil
	})
	return all, err
}

// highestBookmark returns how far the subscription has come that is ahead of all others.
func highestBookmark(s *kv.Snapshot) (highest uint64, err error) {
	for key, value := range s.Scan(kv.Prefix([]byte{bookmarkPrefix})) {
		position, err := number(key, value)
		if err != nil {
			return 0, err
		}
		highest = max(highest, position)
	}
	return highest, s.Err()
}

// DeleteBookmark implements Backend.
func (b *kvBackend) DeleteBookmark(ctx context.Context, name string) error {
	key := bookmarkKey(name)
	return b.db.Update(ctx, b.strongest, func(tx *kv.Tx) error {
		if _, err := readBookmark(tx.Snapshot, key); err != nil {
			return err
		}
		b.marksChanged(tx)
		return errors.Join(tx.Delete(key), tx.Delete(leaseKey(name)), tx.DeleteRange(kv.Prefix(parkedBefore(name))))
	})
}

// Park implements Backend.
func (b *kvBackend) Park(ctx context.Context, d kv.Durability, name string, position uint64, cause string) error {
	var batch kv.Batch
	batch.Put(parkedKey(name, position), []byte(cause))
	return b.db.Write(ctx, d, &batch)
}

// Parked implements Backend.
func (b *kvBackend) Parked(ctx context.Context, name string) (all []Parked, err error) {
	err = b.db.View(ctx, func(s *kv.Snapshot) error {
		for key, value := range s.Scan(kv.Prefix(parkedBefore(name))) {
			position, ok := kv.LastUint64(key)
			if !ok {
				return corrupt(fmt.Errorf("key %q is not that of a parked event", key))
			}
			all = append(all, Parked{Event: Event{Position: position}, Err: string(value)})
		}
		return s.Err()
	})
	return all, err
}

// Unpark implements Backend.
func (b *kvBackend) Unpark(ctx context.Context, d kv.Durability, name string, position uint64) error {
	key := parkedKey(name, position)
	return b.db.Update(ctx, d, func(tx *kv.Tx) error {
		if _, err := tx.Get(key); err != nil {
			if errors.Is(err, kv.NotFound) {
				err = NotParked(name, position)
			}
			return err
		}
		return tx.Delete(key)
	})
}

// NotParked is the NotFound of an event that is not parked. It is for backends.
func NotParked(name string, position uint64) error {
	return &kv.Error{Op: "unpark", Kind: kv.NotFound, Err: fmt.Errorf("event %d of subscription %q", position, name),
		Hint: "list the events that are parked"}
}

func readBookmark(s *kv.Snapshot, key []byte) (uint64, error) {
	value, err := s.Get(key)
	if errors.Is(err, kv.NotFound) {
		return 0, NoSubscription(string(key[1:]))
	}
	if err != nil {
		return 0, err
	}
	return number(key, value)
}

// NoSubscription is the NotFound of a subscription. It is for backends.
func NoSubscription(name string) error {
	return &kv.Error{Op: "subscription", Kind: kv.NotFound, Err: fmt.Errorf("subscription %q", name),
		Hint: "list the subscriptions, or Subscribe to create it"}
}
