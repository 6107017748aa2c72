package etcdkv

import (
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// again sends a read of a revision that a majority has confirmed. What it holds never changes: any
// node that has it answers by itself, also one that is parted from the others. Where one does not
// have it yet, a majority is asked.
func (r *reader) again(key string, options []clientv3.OpOption) (*clientv3.GetResponse, error) {
	response, err := r.ask(r.ctx, key, append(slices.Clip(options), clientv3.WithSerializable()))
	if errors.Is(err, rpctypes.ErrFutureRev) {
		return r.ask(clientv3.WithRequireLeader(r.ctx), key, options)
	}
	return response, err
}
