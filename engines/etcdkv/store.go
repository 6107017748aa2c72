package etcdkv

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// store is a handle of a store in a cluster.
type store struct {
	client *clientv3.Client
	owned  bool // the client ends with the store
	keys   keys
	mode   driver.Mode
	o      Options

	// kv has one writer at a time.
	session *concurrency.Session
	mark    string // the key of the handle
	last    int64  // revision at which the mark was put last
	serial  uint64 // of commits
}

var (
	_ driver.Store   = (*store)(nil)
	_ driver.Getter  = (*store)(nil)
	_ driver.Applier = (*store)(nil)
)

func (s *store) Caps() driver.Caps { return caps }

// Snapshot fixes the revision by a read that a majority confirms.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := &reader{store: s, ctx: ctx}
	return r, r.fix()
}

func (s *store) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	r := reader{store: s, ctx: ctx}
	return r.Get(dst, key)
}

// Begin sends nothing: the first read fixes the revision.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	r := &reader{store: s, ctx: ctx}
	return &txn{reader: r, Txn: overlay.Txn{Reader: r, Writes: overlay.New()}, read: map[string]int64{}}, nil
}

// Apply commits without a read, and so without a conflict.
func (s *store) Apply(ctx context.Context, ops []driver.Op, _ driver.Durability) error {
	return s.commit(ctx, nil, overlay.Of(ops))
}

// Close lets go of the handle's lease.
func (s *store) Close() error {
	s.leave(s.session) // nothing that was committed depends on it
	if !s.owned {
		return nil
	}
	return s.client.Close()
}

// request returns a context for one request, which ends with ctx and after the option timeout. A
// node that is parted from the others refuses it, once it knows, where it would let it wait.
func (s *store) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(clientv3.WithRequireLeader(ctx), s.o.timeout())
}
