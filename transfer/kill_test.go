package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// task is the variable that makes the test binary a process that copies, which is killed.
const task = "ASSAY_TRANSFER_COPY"

func TestMain(m *testing.M) {
	if to := os.Getenv(writeTask); to != "" {
		writeInChild(to)
	}
	if from := os.Getenv(olderTask); from != "" {
		first, err := strconv.ParseInt(os.Getenv(olderTask+"_FIRST"), 10, 64)
		if err != nil {
			panic(err)
		}
		os.Exit(olderInChild(from, first))
	}
	if from := os.Getenv(moveTask); from != "" {
		os.Exit(moveInChild(from, os.Getenv(moveTask+"_TO"), os.Getenv(moveTask+"_OLD")))
	}
	var err error
	if to := os.Getenv(fillTask); to != "" {
		err = fillInChild(to)
	} else if from := os.Getenv(task); from != "" {
		_, err = transfer.Copy(context.Background(), from, os.Getenv(task+"_TO"), nil)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestKilled kills the process that copies at random moments. The destination is then whole or
// absent; the next process goes on. At last it is whole, and nothing is left beside it.
// ASSAY_KILLS=200 kills as often.
func TestKilled(t *testing.T) {
	kills := number(t, "ASSAY_KILLS", 2, 20)
	engines := []string{"pebble", "sqlite", "bbolt", "badger", "bunt"}
	if testing.Short() {
		engines = engines[:2] // a folder, a file
	}
	for _, engine := range engines {
		t.Run("to "+engine, func(t *testing.T) { killed(t, engine, kills) })
	}
}

func killed(t *testing.T, engine string, kills int) {
	dir := t.TempDir()
	from := "leveldb:" + filepath.Join(dir, "old")
	fill(t, from, 3000)
	began := time.Now()
	if err := copying(t, from, engine+":"+filepath.Join(dir, "first")).Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	amid, resumed := 0, 0
	for n := 0; n < kills; {
		path := filepath.Join(dir, fmt.Sprint("new", n))
		to := engine + ":" + path
		for {
			c := copying(t, from, to)
			time.Sleep(rand.N(whole))
			_ = c.Process.Kill() // it may have ended
			_ = c.Wait()
			n++
			if _, err := os.Lstat(path); err == nil || n >= kills {
				break
			}
			amid++
		}
		report, err := transfer.Copy(t.Context(), from, to, nil)
		switch {
		case err == nil && report.Resumed > 0:
			resumed++
		case err != nil && !errors.Is(err, kv.Invalid): // it is there
			t.Fatal(err)
		}
		c, err := transfer.Verify(t.Context(), from, to, nil)
		if err != nil || c.Differing > 0 {
			t.Fatalf("after %d kills: %d pairs of %d differ, %v", n, c.Differing, c.A.Pairs, err)
		}
		nothingBeside(t, path)
	}
	t.Logf("%d kills, %d of them amid a copy; %d copies went on to the end", kills, amid, resumed)
}

// copying starts a process that copies, with more in its environment.
func copying(t testing.TB, from, to string, more ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), task+"="+from, task+"_TO="+to), more...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}
