// Package place says where a new store may lie.
package place

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
)

// Apart refuses two stores, by their URLs, that are the same file or folder, by whatever names, and
// a second one within the first: an engine does not expect strangers in its folder, and who removes
// the first store would remove the second with it. A store that is Remote lies in no folder.
func Apart(first, second string) error {
	var paths [2]string
	for i, rawURL := range []string{first, second} {
		path, err := kv.PathOf(rawURL)
		if err != nil || path == "" {
			return err
		}
		if Remote(rawURL) {
			return refuse(first == second, "name another one", "both stores are the same, %s", first)
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
		return refuse(true, "name another path", "both stores are the same, %s", paths[0])
	}
	way, err := filepath.Rel(paths[0], paths[1])
	return refuse(err == nil && filepath.IsLocal(way), "name a path beside it", "%s lies within the store %s",
		paths[1], paths[0])
}

// Outside refuses a new store at path, which is absolute, if it would lie in the folder of another
// one, of whatever engine: some remove what they do not know.
func Outside(path string) error {
	for dir := filepath.Dir(resolved(path)); ; dir = filepath.Dir(dir) {
		if found, err := detect.Folder(dir); err == nil && found.Engine != "" {
			return refuse(true, "name a path beside it", "%s would lie within %s, which is a store of %s", path, dir,
				found.Engine)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Remote reports whether the store at a URL is on another machine, so that its path is only a name.
func Remote(rawURL string) bool {
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := driver.Lookup(scheme)
	return ok && d.Info().Caps.Remote
}

// resolved returns an absolute path without symbolic links, as far as it is there.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); err != nil && parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return real
}

func refuse(so bool, hint, text string, values ...any) error {
	if !so {
		return nil
	}
	return &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf(text, values...), Hint: hint}
}
