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
//   - ours_handle.go: the modes, and a mark of each handle by which a commit in doubt is resolved
//   - ours_txn.go: the writes of a transaction, over what it reads
//   - ours_nest.go: more operations in a request than etcd allows in a list
package etcdkv

import (
	"context"
	"errors"
	"strings"
	"time"

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
	return dial(ctx, c, o, clientv3.Config{Endpoints: strings.Split(o.Endpoints, ","), DialTimeout: o.Timeout})
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

// open opens the store called c.Path by client.
func open(ctx context.Context, c driver.Config, o Options, client *clientv3.Client) (*store, error) {
	if strings.ContainsRune(c.Path, 0) {
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("a NUL in the name of the store"),
			Hint: "choose another name"}
	}
	s := &store{client: client, keys: keysOf(c.Path), mode: c.Mode, o: o}
	if err := s.register(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// keys are where a store lies in the cluster.
type keys struct {
	data   string // before every key of the program
	head   string // put by every commit; its value is the version of this layout
	lock   string // of the Exclusive handle
	handle string // before the mark of each handle
}

func keysOf(name string) keys {
	name += "\x00"
	return keys{data: name + "d", head: name + "head", lock: name + "lock", handle: name + "handle/"}
}

// layout is the version of the layout.
const layout = "assay 1"

// Options are what a URL may say. Endpoints is required there.
type Options struct {
	Endpoints string        // HOST:PORT of the nodes, separated by commas
	Timeout   time.Duration // of one request; also how long a commit in doubt is looked for
	TTL       time.Duration // of the lease of a handle, in whole seconds
}

func defaults() Options { return Options{Timeout: 5 * time.Second, TTL: 10 * time.Second} }
