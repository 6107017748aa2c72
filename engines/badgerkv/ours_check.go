package badgerkv

import (
	"context"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// Check verifies the checksum of every block of every table, and reads every value.
func (s *store) Check(ctx context.Context) error {
	return s.upkeep(func() (err error) {
		defer driver.Recovered(&err, panicked)
		if err := s.db.VerifyChecksum(); err != nil {
			return corrupt("%w", err)
		}
		return driver.EachPair(ctx, s, func(_, _ []byte) error { return nil })
	})
}

// appendValue appends the item's value to dst.
//
// Badger logs an error of its value log and returns no value instead of the error. An empty value
// in place of one that is known to be longer is that case; ValueSize, where the value is in the
// value log, is off by some bytes.
func appendValue(dst []byte, item *badger.Item) ([]byte, error) {
	const slack = 8
	n := len(dst)
	err := item.Value(func(v []byte) error { dst = append(dst, v...); return nil })
	if err == nil && len(dst) == n && item.ValueSize() > slack {
		err = corrupt("the value of %q cannot be read from the value log", item.Key())
	}
	return dst, classify(err)
}
