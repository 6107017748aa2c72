package etcdkv_test

import (
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv"
)

// TestCommitsGoOnBehindALateOne: a commit that was in doubt has come after all, and has left its
// mark. Those that follow see that, once.
func TestCommitsGoOnBehindALateOne(t *testing.T) {
	cluster := etcdtest.Start(t, 1)
	client, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	db, err := kv.Open(t.Context(), "etcd:late?"+cluster.Params())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Put(t.Context(), kv.Synced, []byte("k"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	marks := slices.DeleteFunc(all.Kvs, func(pair *mvccpb.KeyValue) bool { return pair.Lease == 0 })
	if len(marks) != 1 || !strings.Contains(string(marks[0].Key), "late") {
		t.Fatalf("%d marks of the handle: %v", len(marks), marks)
	}
	lease := clientv3.WithLease(clientv3.LeaseID(marks[0].Lease))
	if _, err := client.Put(t.Context(), string(marks[0].Key), "late", lease); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), []byte("2")); err != nil {
			t.Fatal(err)
		}
	}
}
