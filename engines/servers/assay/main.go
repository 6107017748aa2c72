// Command assay is the command assay with PostgreSQL and etcd in, beside two engines on this
// machine's disk:
//
//	go run ./assay run ycsb --engines 'bbolt,pg=postgres:?dsn=host=/run/postgresql,etcd=etcd:?endpoints=127.0.0.1:2379'
//
// It proves servers that it starts itself: PostgreSQL where that is installed, and three nodes of
// etcd, which are this program, started again.
//
//	go run ./assay prove --engines postgres,etcd
package main

import (
	"github.com/assaydb/assay"
	"github.com/assaydb/assay/engines/etcdkv/etcdtest"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/etcdkv"
	_ "github.com/assaydb/assay/engines/postgreskv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// catalog names the engines in this binary. A server is measured where it is named.
var catalog = []assay.Engine{
	{Name: "bbolt", Engine: "bbolt", Default: true, Summary: "B+ tree in one file"},
	{Name: "sqlite", Engine: "sqlite", Default: true, Summary: "B-tree in one file"},
	{Name: "postgres", Engine: "postgres", Summary: "a table of a server", Servers: &postgres},
	{Name: "etcd", Engine: "etcd", Summary: "cluster of nodes that agree, over the network", Servers: &etcd},
}

func main() {
	etcdtest.Main()
	assay.Main(assay.Config{Engines: catalog})
}
