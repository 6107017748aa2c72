package etcdkv

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the store called name in the cluster that config names, for what a URL cannot say:
// TLS, users, timeouts of the connection. Its mode is Shared unless an option says otherwise.
func Open(ctx context.Context, name string, config clientv3.Config, options ...kv.Option) (*kv.DB, error) {
	return kv.OpenDriver(ctx, typed{config: &config}, driver.Config{Path: name, Mode: driver.Shared}, options...)
}

// Wrap opens the store called name by a client that the program has. Closing the DB leaves the
// client open.
func Wrap(ctx context.Context, client *clientv3.Client, name string, options ...kv.Option) (*kv.DB, error) {
	return kv.OpenDriver(ctx, typed{client: client}, driver.Config{Path: name, Mode: driver.Shared}, options...)
}

// typed is the driver with what comes from no URL.
type typed struct {
	Driver
	config *clientv3.Config
	client *clientv3.Client
}

func (d typed) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o := defaults()
	if d.client != nil {
		return open(ctx, c, o, d.client)
	}
	return dial(ctx, c, o, *d.config)
}

// Handle returns the client by which db reaches the cluster; false if db is of another engine. A
// program may do with it what it likes outside the keys that begin with the store's name, and
// must not close it.
func Handle(db *kv.DB) (*clientv3.Client, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	return s.client, true
}
