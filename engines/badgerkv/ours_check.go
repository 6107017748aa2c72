package badgerkv

import (
	"context"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
	badgertable "github.com/dgraph-io/badger/v4/table"

	"github.com/assaydb/assay/kv/driver"
)

// Check verifies the checksum of every block of every table, and reads every value that is not in
// one.
func (s *store) Check(ctx context.Context) error {
	return s.upkeep(func() (err error) {
		defer driver.Recovered(&err, panicked)
		if err := s.db.VerifyChecksum(); err != nil {
			return corrupt("%w", err)
		}
		if s.inTables() {
			return nil
		}
		return driver.EachPair(ctx, s, func(_, _ []byte) error { return nil })
	})
}

// inTables reports whether all pairs are known to be in tables, and no value in the value log.
// Badger: a table says of itself how long its blocks, its index and its values in the log are
// together. What ends its file, two lengths of 4 bytes and a checksum, is not in that, and shorter
// than an entry of the log.
func (s *store) inTables() bool {
	o := s.db.Opts()
	told := o.ReadOnly && len(o.EncryptionKey) == 0 // else pairs may be in memory, or what ends a file be longer
	return told && !slices.ContainsFunc(s.db.Tables(), func(t badger.TableInfo) bool {
		file, err := os.Stat(badgertable.NewFilename(t.ID, o.Dir))
		return err != nil || int64(t.OnDiskSize) > file.Size()-8
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
