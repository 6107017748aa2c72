package margaret_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

func ctx() context.Context { return context.Background() }

const openVariable = "ASSAY_MARGARET_OPEN"

// TestHelperOpens is the other process of TestTwoProcesses: it opens the log and says how that went
// by its exit status.
func TestHelperOpens(t *testing.T) {
	dir := os.Getenv(openVariable)
	if dir == "" {
		t.Skip("this is a helper of another test")
	}
	_, err := margaret.Open(ctx(), dir, &margaret.Options{Wait: margaret.NoWait})
	if errors.Is(err, kv.Busy) && kv.HintOf(err) != "" {
		os.Exit(42)
	}
	os.Exit(43)
}

func TestTwoProcessesCannotHaveOneLogOpen(t *testing.T) {
	dir := t.TempDir()
	log, err := margaret.Open(ctx(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(binary, "-test.run=^TestHelperOpens$")
	child.Env = append(os.Environ(), openVariable+"="+dir)
	var exit *exec.ExitError
	if err := child.Run(); !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Errorf("the other process ended with %v, want Busy", err)
	}
	canceled, cancel := context.WithTimeout(ctx(), 30*time.Millisecond)
	defer cancel()
	if _, err := margaret.Open(canceled, dir, nil); !errors.Is(err, kv.Canceled) {
		t.Errorf("open with a context that ends: %v, want Canceled", err)
	}
	if _, err := margaret.Open(canceled, "", nil); !errors.Is(err, kv.Invalid) {
		t.Errorf("open of no path: %v, want Invalid", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := margaret.Open(ctx(), dir, &margaret.Options{Wait: margaret.NoWait})
	if err != nil {
		t.Fatalf("open once it is closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
