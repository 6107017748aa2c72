package bboltkv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// fewVar has this test binary open a store in a process that may not have many addresses.
const fewVar = "ASSAY_BBOLT_FEW_ADDRESSES"

func TestAStoreOpensWhereAddressesAreFew(t *testing.T) {
	path := os.Getenv(fewVar)
	if path == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fewVar+"="+filepath.Join(t.TempDir(), "db"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	limit := syscall.Rlimit{Cur: 16 << 30, Max: 16 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(path+".raw", 0o600, &bolt.Options{InitialMmapSize: 64 << 30}); err == nil {
		t.Fatal("64 GiB are mapped in spite of the limit")
	}
	db := open(t, path, "")
	fill(t, db, 0, 1000)
	if n := count(snapshots(t, db, 1)[0]); n != 1000 {
		t.Errorf("the store holds %d pairs, want 1000", n)
	}
}
