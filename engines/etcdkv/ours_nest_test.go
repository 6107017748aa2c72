package etcdkv

import (
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv/driver"
)

// etcd subtracts the length of each list from what it allows the lists within it.
func TestNestStaysWithinTheLimitOfEtcd(t *testing.T) {
	for _, n := range []int{1, flat, flat + 1, nested * nested, nested*nested + 1, most} {
		steps := make([]clientv3.Op, n)
		for i := range steps {
			steps[i] = clientv3.OpPut(fmt.Sprint(i), "")
		}
		list, err := nest(steps)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		var walk func(list []clientv3.Op, allowed int)
		walk = func(list []clientv3.Op, allowed int) {
			if len(list) > allowed {
				t.Fatalf("%d steps: a list of %d where %d are allowed", n, len(list), allowed)
			}
			for _, op := range list {
				if op.IsTxn() {
					_, within, _ := op.Txn()
					walk(within, allowed-len(list))
					continue
				}
				if string(op.KeyBytes()) != fmt.Sprint(next) {
					t.Fatalf("%d steps: %s stands where %d should", n, op.KeyBytes(), next)
				}
				next++
			}
		}
		walk(list, 127) // the mark of the handle stands beside them
		if next != n {
			t.Errorf("%d steps: %d are left", n, next)
		}
	}
	if _, err := nest(make([]clientv3.Op, most+1)); !errors.Is(err, driver.TooLarge) {
		t.Errorf("more than there can be: got %v, want too large", err)
	}
}
