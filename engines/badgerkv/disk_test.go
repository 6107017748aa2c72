package badgerkv_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/lab/powertest"
)

func TestOnADiskThatFails(t *testing.T) {
	drivertest.RunOnDisk(t, drivertest.Config{Engine: "badger"}, powertest.NewDisk(t, nil))
}

// Badger logs a failed sync of its file of values, and acknowledges the commit. Whichever call
// fails: what is acknowledged can be read after a power cut. What is in doubt may lack its values
// then, which the package comment says.
func TestLargeValuesOnADiskThatFails(t *testing.T) {
	ctx := t.Context()
	disk := powertest.NewDisk(t, nil)
	value := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 5000) }
	inDoubt, step := 0, 1
	if testing.Short() {
		step = 7
	}
	for n := 1; ; n += step {
		name := fmt.Sprint("db", n)
		failed := disk.Failed()
		db, err := kv.Open(ctx, "badger:"+filepath.Join(disk.Dir(), name)+"?ValueThreshold=256")
		if err != nil {
			t.Fatal(err)
		}
		disk.Fail(n, syscall.EIO)
		acked := 0
		for i := 0; err == nil && i < 6; i++ {
			if err = db.Put(ctx, kv.Synced, fmt.Append(nil, i), value(i)); err == nil {
				acked = i + 1
			}
		}
		if errors.Is(err, kv.InDoubt) {
			inDoubt++
		}
		hit := disk.Failed() > failed
		if hit {
			left, err := kv.Open(ctx, "badger:"+filepath.Join(disk.Cut(t), name)+"?ValueThreshold=256")
			if err != nil {
				t.Fatalf("call %d failed, %d commits were done: after a power cut: %v", n, acked, err)
			}
			for i := range acked {
				if v, err := left.Get(ctx, fmt.Append(nil, i)); !bytes.Equal(v, value(i)) {
					t.Errorf("call %d failed, %d commits were done: value %d after a power cut: %d bytes, %v", n, acked,
						i, len(v), err)
				}
			}
			if err := left.Close(); err != nil {
				t.Error(err)
			}
		}
		_ = db.Close() // it may say that it could not write any more
		disk.Heal()
		if !hit {
			break
		}
	}
	if inDoubt == 0 {
		t.Error("no commit was in doubt, whatever failed")
	}
}
