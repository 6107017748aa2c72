package etcdkv

import (
	"context"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads one revision: that of its first request.
type reader struct {
	store    *store
	ctx      context.Context
	revision int64 // 0 until it is fixed
}

var _ driver.Reader = (*reader)(nil)

// get sends one read of the revision. It fixes it if it is the first.
func (r *reader) get(key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	options = append(slices.Clip(options), clientv3.WithRev(r.revision))
	if r.revision != 0 {
		return r.again(key, options)
	}
	response, err := r.ask(clientv3.WithRequireLeader(r.ctx), key, options)
	if err == nil {
		r.revision = response.Header.Revision
	}
	return response, err
}

func (r *reader) ask(ctx context.Context, key string, options []clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, r.store.o.timeout())
	defer cancel()
	response, err := r.store.get(ctx, key, options...)
	return response, classify(r.ctx, err)
}

// fix fixes the revision.
func (r *reader) fix() error {
	if r.revision != 0 {
		return nil
	}
	_, err := r.get(r.store.keys.head, clientv3.WithKeysOnly())
	return err
}

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	pair, err := r.pair(key)
	switch {
	case err != nil:
		return dst, err
	case pair == nil:
		return dst, driver.NotFound
	}
	return append(dst, pair.Value...), nil
}

// pair returns the pair of key, nil if there is none.
func (r *reader) pair(key []byte) (*mvccpb.KeyValue, error) {
	response, err := r.get(r.store.keys.data + string(key))
	if err != nil || len(response.Kvs) == 0 {
		return nil, err
	}
	return response.Kvs[0], nil
}

func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	if err := r.fix(); err != nil {
		return nil, err
	}
	return newCursor(r, rg), nil
}

func (r *reader) Close() error { return nil }
