package etcdkv_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv"
)

// TestAPartedNodeRefuses: what a node is asked that is parted from the others is refused, and not
// in doubt, once it knows; and goes on once they are together again.
func TestAPartedNodeRefuses(t *testing.T) {
	cluster := etcdtest.Start(t, 3)
	leader, err := cluster.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parted := (leader + 1) % 3
	db, err := kv.Open(t.Context(), "etcd:parted?"+cluster.NodeParams(parted))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put := func() error { return db.Put(t.Context(), kv.Synced, []byte("k"), []byte("1")) }
	if err := put(); err != nil {
		t.Fatal(err)
	}
	client, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cluster.Part(parted)
	for {
		status, err := client.Status(t.Context(), cluster.Endpoints()[parted])
		if err == nil && status.Leader == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := put(); !errors.Is(err, kv.Aborted) || errors.Is(err, kv.InDoubt) || kv.HintOf(err) == "" {
		t.Errorf("put at a parted node: %v", err)
	}
	cluster.Part()
	for err = put(); errors.Is(err, kv.Aborted); err = put() {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("put at a node that is back: %v", err)
	}
}
