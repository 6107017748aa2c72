package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// A failure says how to go on also where nobody has written that for it: a damaged file, a full
// disk, a path that leads nowhere.
func TestFailuresWithoutAHintGetThatOfTheirKind(t *testing.T) {
	for _, err := range []error{
		&kv.Error{Kind: kv.Corrupt}, &kv.Error{Kind: kv.Full}, &kv.Error{Kind: kv.Busy}, &kv.Error{Kind: kv.InDoubt},
		&kv.Error{Kind: kv.Stopped}, fs.ErrPermission, fs.ErrNotExist,
		&fs.PathError{Op: "mkdir", Path: "a/b", Err: errors.New("not a directory")},
	} {
		var stderr bytes.Buffer
		if status := (&app{stderr: &stderr}).status(err); status != exitFailed ||
			!strings.Contains(stderr.String(), "\n  hint: ") {
			t.Errorf("%v: status %d, %q", err, status, stderr.String())
		}
	}
	var stderr bytes.Buffer
	(&app{stderr: &stderr}).status(&kv.Error{Kind: kv.Corrupt, Hint: "its own"})
	if !strings.HasSuffix(stderr.String(), "  hint: its own\n") {
		t.Errorf("a hint of its own: %q", stderr.String())
	}
}
