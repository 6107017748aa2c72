package powerfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
)

// The test binary is also the process that works on a mount: child names what it does there.
const childRole = "powerfs-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childRole {
		if err := child(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A run that was killed, or has timed out, could not unmount.
	if _, err := DetachStale(os.TempDir()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func child(role string, args []string) error {
	switch role {
	case "commit":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return commit(args[0], n)
	case "verify":
		return verify(args[0])
	}
	return workOn(role, args)
}

// commit puts keys 0 to n-1, each in a synced commit, and prints the time of each acknowledgement.
func commit(url string, n int) error {
	ctx := context.Background()
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	for i := range n {
		err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return tx.Put(keyOf(i), valueOf(i)) })
		if err != nil {
			return err
		}
		fmt.Println(monotonicNow())
	}
	return db.Close()
}

// verify prints how many keys from 0 on are there with their values.
func verify(url string) error {
	ctx := context.Background()
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	n := 0
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for ; ; n++ {
			v, err := s.Get(keyOf(n))
			if err == kv.NotFound {
				return nil
			}
			if err != nil {
				return err
			}
			if string(v) != string(valueOf(n)) {
				return fmt.Errorf("key %d has a wrong value", n)
			}
		}
	})
	if err != nil {
		return err
	}
	fmt.Println(n)
	return db.Close()
}

func keyOf(i int) []byte   { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
func valueOf(i int) []byte { return []byte(strings.Repeat(fmt.Sprintf("value %d ", i), 20)) }

// start runs the test binary in the given role, and ends it with the test.
func start(t *testing.T, role string, args ...string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0], append([]string{childRole, role}, args...)...)
	cmd.Stderr = os.Stderr
	if testing.Verbose() {
		cmd.Stderr = os.Stdout
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe() // its end tells a child that waits that this process is gone
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}
