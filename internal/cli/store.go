package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer"
)

// storeURL returns the URL of a store that was named by its URL, or by its path alone: then its
// content says which engine it is of.
func storeURL(name string) (string, error) {
	if isURL(name) {
		return name, nil
	}
	path, query, _ := strings.Cut(name, "?")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if strings.Contains(name, ":") {
			return name, nil // what opens it says what is wrong
		}
		return "", &kv.Error{Op: "open", Path: path, Kind: kv.KindOf(err), Err: errors.New("nothing is there"),
			Hint: "name a store that exists"}
	}
	found, err := detect.Path(path)
	if errors.Is(err, detect.ErrUnknown) {
		return "", usage(fmt.Errorf("%s: %w", path, err), "name the engine: ENGINE:%s", path)
	}
	if err != nil {
		return "", &kv.Error{Op: "open", Path: path, Kind: kv.KindOf(err), Err: err,
			Hint: "name a store that you may read"}
	}
	if _, known := driver.Lookup(found.Engine); !known {
		return "", usage(fmt.Errorf("%s is a store of %s, which this binary does not have", path, found.Engine),
			"assay engines lists what it has")
	}
	if found.State == detect.Damaged {
		return "", &kv.Error{Op: "open", Engine: found.Engine, Path: path, Kind: kv.Corrupt,
			Err:  fmt.Errorf("the store is damaged: %s", found.Detail),
			Hint: fmt.Sprintf("restore a backup; what the engine says of it tells: assay inspect %s:%s check", found.Engine, path)}
	}
	if query != "" {
		query = "?" + query
	}
	return transfer.WithPath(found.Engine+":"+query, path), nil
}

// isURL reports whether name begins with an engine of this binary and a colon.
func isURL(name string) bool {
	scheme, _, ok := strings.Cut(name, ":")
	_, known := driver.Lookup(scheme)
	return ok && known
}
