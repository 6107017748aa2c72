package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

func leaseKey(name string) []byte { return append([]byte{leasePrefix}, name...) }

// readLease returns when a lease ends and who holds it; 0 if nobody does.
func readLease(s *kv.Snapshot, name string) (until int64, holder string, err error) {
	value, err := s.Get(leaseKey(name))
	switch {
	case errors.Is(err, kv.NotFound):
		return 0, "", nil
	case err == nil && len(value) < 8:
		err = corrupt(fmt.Errorf("lease of %q: %d bytes", name, len(value)))
	case err == nil:
		until, holder = int64(binary.BigEndian.Uint64(value)), string(value[8:])
	}
	return until, holder, err
}

// Lease implements Backend.
func (b *kvBackend) Lease(ctx context.Context, name, holder string, now, until int64) error {
	return b.db.Update(ctx, b.db.Caps().Cheapest(), func(tx *kv.Tx) error {
		key := bookmarkKey(name)
		if _, err := readBookmark(tx.Snapshot, key); errors.Is(err, kv.NotFound) {
			b.marksChanged(tx)
			err = tx.Put(key, kv.AppendUint64(nil, 0))
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		end, who, err := readLease(tx.Snapshot, name)
		switch {
		case err != nil:
			return err
		case who != holder && end > now:
			return NotHeld(name)
		case until == 0 && who != holder:
			return nil
		case until == 0:
			return tx.Delete(leaseKey(name))
		}
		return tx.Put(leaseKey(name), append(kv.AppendUint64(nil, uint64(until)), holder...))
	})
}

// NotHeld is the Conflict of a subscription that another one holds. It is for backends.
func NotHeld(name string) error {
	return &kv.Error{Op: "lease", Kind: kv.Conflict, Err: fmt.Errorf("another holds subscription %q", name),
		Hint: "wait until its lease ends"}
}

// Leases implements Backend.
func (b *kvBackend) Leases(ctx context.Context, prefix string) (all []Leased, err error) {
	err = b.db.View(ctx, func(s *kv.Snapshot) error {
		for key, value := range s.Scan(kv.Prefix(bookmarkKey(prefix))) {
			position, err := number(key, value)
			if err != nil {
				return err
			}
			all = append(all, Leased{Bookmark: Bookmark{Name: string(key[1:]), Position: position}})
		}
		if err := s.Err(); err != nil {
			return err
		}
		for i := range all {
			if all[i].Until, _, err = readLease(s, all[i].Name); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}
