package eventlog

import (
	"context"
	"errors"
	"fmt"

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
	return b.db.Update(ctx, d, func(tx *kv.Tx) error {
		for _, m := range marks {
			m.Err = raiseBookmark(tx, bookmarkKey(m.Name), m.Position)
			if m.Err != nil && !errors.Is(m.Err, kv.NotFound) {
				return m.Err
			}
		}
		return nil
	})
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
		return errors.Join(tx.Delete(key), tx.DeleteRange(kv.Prefix(parkedBefore(name))))
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
