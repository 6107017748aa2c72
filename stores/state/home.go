package state

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/assaydb/assay/kv"
)

// DefaultEngine is the engine that Home names. Of those that assay measures in the workload hook it
// is the fastest to open, read and close, and its readers do not wait for each other. A program
// imports it with
//
//	import _ "github.com/assaydb/assay/engines/bboltkv"
const DefaultEngine = "bbolt"

// Home returns the URL of the folder where the operating system wants the state of the program
// called app: $XDG_STATE_HOME or ~/.local/state on Unix, the folder of os.UserConfigDir on macOS
// and Windows. The engine is DefaultEngine. A name that is not that of a folder is Invalid.
func Home(app string) (string, error) {
	if !plainName(app) {
		return "", invalid(errors.New("the program's name is no name of a folder"), "give a plain name, such as mytool")
	}
	dir, err := homeDir()
	if err != nil {
		return "", &kv.Error{Op: "new state", Kind: kv.NoStore, Err: err, Hint: "give New a URL, such as bbolt:FOLDER"}
	}
	path := url.URL{Path: filepath.ToSlash(filepath.Join(dir, app))}
	return DefaultEngine + ":" + path.EscapedPath(), nil
}

func homeDir() (string, error) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return os.UserConfigDir()
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}
