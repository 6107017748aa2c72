package driver_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

func TestFailureKeepsTheFirstError(t *testing.T) {
	var f driver.Failure
	if err := errors.Join(f.Err(), f.Cause()); err != nil {
		t.Errorf("a store that works: got %v", err)
	}
	first := &driver.Error{Kind: driver.Full, Err: errors.New("no space")}
	if !f.Stop(first) || f.Stop(fs.ErrPermission) {
		t.Error("Stop must report the first failure, and that alone")
	}
	if cause := f.Cause(); !errors.Is(cause, first) || driver.KindOf(cause) != driver.Full {
		t.Errorf("the cause: got %v, want the first error", cause)
	}
	err := f.Err()
	var e *driver.Error
	if !strings.Contains(err.Error(), first.Error()) || driver.KindOf(err) != driver.Stopped ||
		errors.Is(err, driver.Full) {
		t.Errorf("got %v, want Stopped with the text of the first error", err)
	}
	if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, "free some space") {
		t.Errorf("got %#v, want a hint that tells to free space", err)
	}
}
