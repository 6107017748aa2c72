package etcdkv

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// etcd allows 128 operations in a list, by default, and a list within a list has what the lists
// around it leave: lists of 40, three deep, are within that.
const (
	flat   = 120
	nested = 40
	most   = nested * nested * nested
)

// stepsOf returns the writes as operations on the keys behind prefix.
func stepsOf(w *overlay.Writes, prefix string) []clientv3.Op {
	steps := make([]clientv3.Op, 0, w.Len()+1)
	for op := range w.All() {
		if op.Delete {
			steps = append(steps, clientv3.OpDelete(prefix+string(op.Key)))
		} else {
			steps = append(steps, clientv3.OpPut(prefix+string(op.Key), string(op.Value)))
		}
	}
	return steps
}

// nest returns steps as one list, of lists if there are many.
func nest(steps []clientv3.Op) ([]clientv3.Op, error) {
	if len(steps) > most {
		return nil, &driver.Error{Kind: driver.TooLarge, Err: fmt.Errorf("%d writes in a transaction", len(steps)),
			Hint: fmt.Sprintf("make it smaller: at most %d", most-1)}
	}
	for limit := flat; len(steps) > limit; limit = nested { // the mark of the handle comes beside them
		var groups []clientv3.Op
		for len(steps) > 0 {
			n := min(nested, len(steps))
			groups = append(groups, clientv3.OpTxn(nil, steps[:n:n], nil))
			steps = steps[n:]
		}
		steps = groups
	}
	return steps, nil
}
