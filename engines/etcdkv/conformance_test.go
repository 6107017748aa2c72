package etcdkv_test

import (
	"os"
	"testing"

	_ "github.com/assaydb/assay/engines/etcdkv"
	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv/drivertest"
)

// paramsVar is the cluster of the test that started this process.
const paramsVar = "ASSAY_ETCD_PARAMS"

func TestMain(m *testing.M) {
	etcdtest.Main()
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	params := os.Getenv(paramsVar)
	if params == "" {
		params = etcdtest.Start(t, 3).Params() + "&ttl=2s"
		t.Setenv(paramsVar, params)
	}
	drivertest.Run(t, drivertest.Config{Engine: "etcd", Params: params})
}
