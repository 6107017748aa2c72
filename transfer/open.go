package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
)

// Access is what a store is opened for.
type Access uint8

// The ways to open a store that is there.
const (
	Look   Access = iota // read-only where its engine can
	Change               // as the engine does by itself
)

// OpenExisting opens a store that is there. One that is not is NoStore, and is not created. Options
// override what access says.
func OpenExisting(ctx context.Context, rawURL string, access Access, options ...kv.Option) (*kv.DB, error) {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, &kv.Error{Op: "open", Path: path, Kind: kv.KindOf(err), Err: err, Hint: "name a store that exists"}
	}
	d, err := lookup(rawURL)
	if err != nil {
		return nil, err
	}
	if access == Look && d.Info().Caps.Supports(kv.ReadOnly) {
		options = append([]kv.Option{kv.WithMode(kv.ReadOnly)}, options...)
	}
	return kv.Open(ctx, rawURL, options...)
}

// samePath reports whether two URLs name the same file or folder.
func samePath(a, b string) (bool, error) {
	pathA, err := kv.PathOf(a)
	if err != nil {
		return false, err
	}
	pathB, err := kv.PathOf(b)
	if err != nil {
		return false, err
	}
	absA, errA := filepath.Abs(pathA)
	absB, errB := filepath.Abs(pathB)
	return absA == absB, errors.Join(errA, errB)
}

// refuse returns an error of kind Invalid if so, and nil otherwise.
func refuse(so bool, hint, text string, values ...any) error {
	if !so {
		return nil
	}
	return &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf(text, values...), Hint: hint}
}

// failed says what was done to what. The kind and the hint are those of err.
func failed(op, from, to string, err error) error {
	return &kv.Error{Op: op, Path: from + " to " + to, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
}
