package transfer

import (
	"context"
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
	if access == Look {
		rawURL = inBulk(rawURL, readOnce[d.Info().Name])
	}
	return kv.Open(ctx, rawURL, options...)
}

// readOnce is what an engine is opened with that is read from one end to the other: blocks that
// Badger keeps, up to 256 MB of them, are not asked for again.
var readOnce = map[string]map[string]string{"badger": {"BlockCacheSize": "8388608"}}

// apart refuses a source and a destination that are the same file or folder, by whatever names, and
// a destination within the source: an engine does not expect strangers in its folder, and who
// removes the old store would remove the new one with it.
func apart(from, to string) error {
	var paths [2]string
	for i, rawURL := range []string{from, to} {
		path, err := kv.PathOf(rawURL)
		if err != nil || path == "" {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		paths[i] = resolved(path)
	}
	same := paths[0] == paths[1]
	if a, err := os.Stat(paths[0]); err == nil && !same {
		b, err := os.Stat(paths[1])
		same = err == nil && os.SameFile(a, b)
	}
	if same {
		return refuse(true, "name another path", "source and destination are the same")
	}
	way, err := filepath.Rel(paths[0], paths[1])
	return refuse(err == nil && filepath.IsLocal(way), "name a path beside it",
		"the destination is within the source, %s", paths[0])
}

// resolved returns an absolute path without symbolic links, as far as it is there.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); err != nil && parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return real
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
	between := map[bool]string{false: " to ", true: " and "}[op == "verify"]
	return &kv.Error{Op: op, Path: from + between + to, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
}
