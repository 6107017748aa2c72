package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var (
	buntShrinksUnsynced = fault{module: "github.com/tidwall/buntdb", defence: "engines/buntkv",
		sentence: "Shrink renames the new file over the old one before it is synced: a power cut leaves a " +
			"database that opens without an error and lacks pairs that were committed with SyncPolicy Always"}
	buntLoadsAPart = fault{module: "github.com/tidwall/buntdb", defence: "engines/buntkv",
		sentence: "a transaction of several keys that was written in part, as by a process that is killed within " +
			"write(2), is loaded in part: no record of the file says where a transaction ends"}
)

const buntPairs = 30

// TestBuntDBShrinkLosesPairs cuts the power once Shrink has returned, and before.
func TestBuntDBShrinkLosesPairs(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	db, err := buntdb.Open(filepath.Join(disk.Dir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.SetConfig(buntdb.Config{SyncPolicy: buntdb.Always, AutoShrinkDisabled: true}); err != nil {
		t.Fatal(err)
	}
	for i := range buntPairs {
		if err := setBunt(db, i, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if lacking, how := buntImages(t, disk); lacking > 0 {
		t.Fatal("before Shrink: " + how)
	}
	if err := db.Shrink(); err != nil {
		t.Fatal(err)
	}
	lacking, how := buntImages(t, disk)
	buntShrinksUnsynced.report(t, lacking > 0, how)
}

// buntImages looks at what power cuts at this moment may leave, and returns how many images open
// without an error and lack pairs.
func buntImages(t *testing.T, disk *powertest.Disk) (lacking int, how string) {
	t.Helper()
	images, least := 0, buntPairs
	for _, survivors := range []powerfs.Survivors{powerfs.Pages, powerfs.Sectors} {
		for seed := range uint64(16) {
			disk.Rule.Survivors, disk.Seed = survivors, seed
			images++
			n, err := lenBunt(filepath.Join(disk.Cut(t), "db"))
			if err == nil && n < buntPairs {
				lacking++
				least = min(least, n)
			}
		}
	}
	return lacking, fmt.Sprintf("of %d images, %d open and lack pairs; the least has %d of %d",
		images, lacking, least, buntPairs)
}

// TestBuntDBLoadsAPartOfATransaction kills a process while the kernel is at the second MiB of the
// one write that its transaction is.
func TestBuntDBLoadsAPartOfATransaction(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	disk, err := powerfs.New(powerfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	mount, err := disk.Mount(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Unmount()
	cmd := exec.Command(os.Args[0], childRole, filepath.Join(mount.Dir(), "db"))
	started, killed := make(chan *os.Process, 1), make(chan error, 1)
	// The file is made by the first call, and a write comes in pieces of a MiB.
	disk.CutBefore(3, func() { killed <- (<-started).Kill() })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started <- cmd.Process
	err = cmd.Wait()
	select {
	case err := <-killed:
		if err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the process ended by itself: %v", err)
	}
	dir := t.TempDir()
	if err := disk.Crash().Image(powerfs.Rule{Survivors: powerfs.Everything}, 0).Export(dir); err != nil {
		t.Fatal(err)
	}
	n, err := lenBunt(filepath.Join(dir, "db"))
	torn, kills := killsOnTheRealDisk(t)
	buntLoadsAPart.report(t, err == nil && n > 0 && n < buntTransaction,
		fmt.Sprintf("%d of the transaction's %d pairs are loaded, error %v; on this system's own disk "+
			"%d of %d kills left a part", n, buntTransaction, err, torn, kills))
}

// killsOnTheRealDisk kills the process as soon as its file begins to grow. Whether it is within the
// write then is chance, so nothing rests on it.
func killsOnTheRealDisk(t *testing.T) (torn, kills int) {
	t.Helper()
	for kills = 0; kills < 5; kills++ {
		path := filepath.Join(t.TempDir(), "db")
		cmd := exec.Command(os.Args[0], childRole, path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for grown := false; !grown; {
			select {
			case <-ended:
				grown = true
			default:
				info, err := os.Stat(path)
				grown = err == nil && info.Size() > 0
			}
		}
		if cmd.Process.Kill() == nil {
			<-ended
		}
		if n, err := lenBunt(path); err == nil && n > 0 && n < buntTransaction {
			torn++
		}
	}
	return torn, kills
}

const buntTransaction = 10000 // pairs, of more than a KiB

// commitUntilKilled commits one transaction.
func commitUntilKilled(path string) error {
	db, err := buntdb.Open(path)
	if err != nil {
		return err
	}
	return setBunt(db, 0, buntTransaction)
}

func setBunt(db *buntdb.DB, from, to int) error {
	return db.Update(func(tx *buntdb.Tx) error {
		for i := from; i < to; i++ {
			if _, _, err := tx.Set(fmt.Sprintf("%06d", i), strings.Repeat("v", 1024), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// lenBunt returns how many pairs BuntDB finds in a file.
func lenBunt(path string) (n int, err error) {
	db, err := buntdb.Open(path)
	if err != nil {
		return 0, err
	}
	err = db.View(func(tx *buntdb.Tx) (err error) {
		n, err = tx.Len()
		return err
	})
	return n, errors.Join(err, db.Close())
}
