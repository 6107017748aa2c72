package workload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/assaydb/assay/kv"
)

// Helper is the whole life of a helper process: what a program does that was started as Env.Self
// with the arguments args. It returns the error to be printed on standard error before the process
// exits with a status other than 0.
func Helper(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 0 {
		return &kv.Error{Op: "helper", Kind: kv.Invalid, Err: errors.New("no workload"), Hint: helperHint}
	}
	switch args[0] {
	case hookHelperName:
		return hookHelper(ctx, args[1:], stdin, stdout)
	case ownHelperName:
		return ownHelper(ctx, args[1:], stdin, stdout)
	case queueHelperName:
		return queueHelper(ctx, args[1:], stdin, stdout)
	}
	if w, ok := Lookup(args[0]); ok && w.Helper != nil {
		return w.Helper(ctx, args[1:], stdin, stdout)
	}
	return &kv.Error{Op: "helper", Kind: kv.Invalid, Err: fmt.Errorf("unknown workload %q", args[0]), Hint: helperHint}
}

const helperHint = "helpers are started by assay run, not by hand"
