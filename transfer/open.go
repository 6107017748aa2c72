package transfer

import (
	"context"
	"fmt"
	"os"

	"github.com/assaydb/assay/kv"
)

// Access is what a store is opened for.
type Access uint8

// The ways to open a store that is there.
const (
	Look   Access = iota // read-only where its engine can
	Change               // as the engine does by itself
)

// OpenExisting opens a store that is there, on this machine or, of an engine that is Remote, on
// another. One that is not is NoStore, and is not created. Options override what access says.
func OpenExisting(ctx context.Context, rawURL string, access Access, options ...kv.Option) (*kv.DB, error) {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return nil, err
	}
	d, err := lookup(rawURL)
	if err != nil {
		return nil, err
	}
	switch caps := d.Info().Caps; {
	case !caps.Remote:
		if _, err := os.Stat(path); err != nil {
			return nil, &kv.Error{Op: "open", Path: path, Kind: kv.KindOf(err), Err: err, Hint: "name a store that exists"}
		}
	case access == Change: // who may write makes the store, who reads does not
		db, err := kv.Open(ctx, rawURL, kv.WithMode(kv.ReadOnly))
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			return nil, err
		}
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
