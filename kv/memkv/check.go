package memkv

import (
	"bytes"
	"context"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// checkOrder walks c to its end and returns Corrupt if a key is not above the one before it.
func checkOrder(ctx context.Context, c driver.Cursor) error {
	var last []byte
	for ctx.Err() == nil {
		k, _, err := c.Next()
		if k == nil || err != nil {
			return err
		}
		if last != nil && bytes.Compare(last, k) >= 0 {
			return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("key %q follows %q", k, last)}
		}
		last = k
	}
	return ctx.Err()
}
