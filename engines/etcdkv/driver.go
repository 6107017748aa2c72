// Package etcdkv is the engine "etcd": a store in an etcd cluster, reached over the network.
//
// etcd keeps a small amount of data (2 GB by default, 8 GB at most by its documentation) on three
// or five nodes, of which a minority may fail. Every commit is agreed on by a majority and synced
// there before it returns; every read sees all commits that returned before it. A program that
// began with a file goes on with several machines by a change of its URL:
//
//	db, err := kv.Open(ctx, "etcd:orders?endpoints=10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379")
//
// The path is the name of the store in the cluster: all its keys begin with it. It is no path of a
// file system.
//
// Transactions are serializable by optimism: a transaction reads one revision, keeps its writes,
// and commits if nothing of what it read has changed since. Otherwise it is Aborted and kv runs it
// again. One that has scanned a range meets every other commit to the store.
//
// Durability: every class is Synced, by a majority of the nodes.
//
// Limits: a transaction is one request, 1.5 MiB by default of the server (TooLarge above). A
// snapshot may be read until the cluster compacts its revision; then reads of it are Aborted.
//
// Locks: a handle has a lease. If its program dies, the handle's mode holds until the lease ends:
// another program may wait as long as the option ttl to open the store Exclusive.
//
// # What is ours
//
// A transaction's writes are kept by kv/overlay until it commits.
//
//   - ours_handle.go: the modes, and a mark of each handle by which a commit in doubt is resolved
//   - ours_layout.go: where a store lies among the cluster's keys
//   - ours_conditions.go: what must not have changed for a transaction to commit
//   - ours_again.go: reads of a snapshot that ask no majority
//   - ours_nest.go: more operations in a request than etcd allows in a list
package etcdkv

import (
	"context"
	"errors"
	"math"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens stores in etcd. The zero Driver is ready.
type Driver struct{}

var _ driver.Driver = Driver{}

var synced = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true, PowerAtomic: true}

var caps = driver.Caps{
	PureGo:        true,
	Persistent:    true,
	Modes:         []driver.Mode{driver.Shared, driver.Exclusive, driver.ReadOnly},
	SharedReading: true,
	Promises:      [3]driver.Promise{synced, synced, synced},
	MayAbort:      true,
	Remote:        true,
	MaxKey:        64 << 10,
	MaxValue:      1 << 20,
	TxnLimit:      true,
}

// Info describes etcd.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    "etcd",
		Summary: "keys on a cluster of nodes that agree (Raft), over the network",
		Modules: []string{"go.etcd.io/etcd/client/v3"},
		Options: table.Options(defaults()),
		Caps:    caps,
	}
}

// Open connects to the cluster and opens the store called c.Path in it.
func (Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	o := defaults()
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	if o.Endpoints == "" {
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("no endpoints"),
			Hint: "write etcd:NAME?endpoints=HOST:2379,HOST:2379"}
	}
	return dial(ctx, c, o, clientv3.Config{Endpoints: strings.Split(o.Endpoints, ","), DialTimeout: o.timeout(),
		MaxCallSendMsgSize: math.MaxInt32}) // the cluster says what is too large
}

// dial opens the store with a client of its own.
func dial(ctx context.Context, c driver.Config, o Options, config clientv3.Config) (driver.Store, error) {
	if config.Logger == nil && config.LogConfig == nil {
		config.Logger = zap.NewNop() // errors are returned
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, &driver.Error{Kind: driver.Invalid, Err: err, Hint: "write the endpoints as HOST:PORT"}
	}
	s, err := open(ctx, c, o, client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.owned = true
	return s, nil
}
