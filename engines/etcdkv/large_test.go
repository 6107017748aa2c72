package etcdkv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv"
)

// TestTheClusterSaysWhatIsTooLarge: a transaction that etcd's default does not take is refused,
// with the way to have it taken, and that is the way.
func TestTheClusterSaysWhatIsTooLarge(t *testing.T) {
	for _, maxRequest := range []uint{0, 16 << 20} {
		db, err := kv.Open(t.Context(), "etcd:large?"+etcdtest.StartWith(t, 1, etcdtest.Options{MaxRequest: maxRequest}).Params())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var b kv.Batch
		for i := range 8 {
			b.Put(fmt.Append(nil, i), make([]byte, 900<<10))
		}
		err = db.Write(t.Context(), kv.Synced, &b)
		switch {
		case maxRequest > 0 && err != nil:
			t.Errorf("with requests of %d bytes: %v", maxRequest, err)
		case maxRequest == 0 && (!errors.Is(err, kv.TooLarge) || !strings.Contains(kv.HintOf(err), "--max-request-bytes")):
			t.Errorf("with etcd's default: %v (hint %q), want too large", err, kv.HintOf(err))
		}
	}
}
