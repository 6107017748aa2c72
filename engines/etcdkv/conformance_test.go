package etcdkv_test

import (
	"os"
	"sync"
	"testing"

	_ "github.com/assaydb/assay/engines/etcdkv"
	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv/drivertest"
)

// paramsVar is the cluster of the test that started this process.
const paramsVar = "ASSAY_ETCD_PARAMS"

// ended are called when all tests have ended.
var ended []func()

func TestMain(m *testing.M) {
	etcdtest.Main()
	status := m.Run()
	for _, fn := range ended {
		fn()
	}
	os.Exit(status)
}

// shared starts the cluster of three nodes that the suites use, each in stores of its own names.
// They are Direct, because a case counts the goroutines that outlive Close.
var shared = sync.OnceValues(func() (params string, err error) {
	if params := os.Getenv(paramsVar); params != "" {
		return params, nil
	}
	dir, err := os.MkdirTemp("", "etcdkv")
	if err != nil {
		return "", err
	}
	ended = append(ended, func() { os.RemoveAll(dir) })
	cluster, err := etcdtest.New(dir, 3, etcdtest.Options{Unsynced: true, Direct: true})
	if err != nil {
		return "", err
	}
	ended = append([]func(){cluster.Stop}, ended...)
	params = cluster.Params() + "&ttl=2"
	return params, os.Setenv(paramsVar, params)
})

func params(t *testing.T) string {
	t.Helper()
	params, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return params
}

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Engine: "etcd", Params: params(t)})
}
