// Package detect tells by the content of a file or folder which engine wrote it. It knows the
// formats of all engines, whether a program has them or not, and opens nothing for writing.
//
// It looks at headers, names and sizes, and at the list of its files that an engine keeps, so that
// it takes no longer for a large store: what was cut off is found where the content tells how much
// there must be. Of the value log of Badger, and of a BuntDB file without frames that was cut
// behind a command, nothing tells. Whether all that is there is as it was written, an engine's own
// check says. A file of BuntDB of up to 64 MiB is read from its beginning to its end: what was
// overwritten amid it shows by the frames' sums, or by commands that do not follow one another.
package detect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is what the next one who opens a store will meet.
type State string

// The states. Pebble and LevelDB leave a log, which the next opening replays, whenever they are
// closed.
const (
	Clean    State = "clean"    // nothing is to be done
	Recovery State = "recovery" // a log or journal is to be replayed or rolled back: opening does that
	Damaged  State = "damaged"  // what must be there is not, or is not whole
)

// Found is what a path holds.
type Found struct {
	Engine string `json:"engine"`           // the scheme of its URLs
	Format string `json:"format,omitempty"` // the version of its format, as the engine counts; "" if it does not say
	State  State  `json:"state"`
	Locked bool   `json:"locked"`           // by a process that has it open; told on Linux alone
	Detail string `json:"detail,omitempty"` // why it is in that state
}

// String returns "bbolt, format 2, clean".
func (f Found) String() string {
	text := f.Engine
	if f.Format != "" {
		text += ", format " + f.Format
	}
	text += ", " + string(f.State)
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	if f.Locked {
		text += ", in use by another process"
	}
	return text
}

// ErrUnknown says that the content is of no engine that this package knows.
var ErrUnknown = errors.New("not a store of a known engine")

// Path looks at the file or folder at path. What is empty, or no store, is [ErrUnknown]; what
// cannot be read is the system's error.
//
// On systems where closing a file drops the locks that the process has on it (POSIX), it must not
// be called for an SQLite file that this process has open.
func Path(path string) (Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Found{}, err
	}
	look := file
	if info.IsDir() {
		look = whole
	}
	found, err := settled(path, look)
	if err == nil && found.Engine == "" {
		err = ErrUnknown
	}
	if err != nil {
		return Found{}, err
	}
	found.Locked, err = locked(path)
	return found, err
}

// settled looks again at what seems to be damaged, until it looks the same twice: another process
// may have written, or removed, files amid the look.
func settled(path string, look func(path string) (Found, error)) (found Found, err error) {
	const looks = 10
	for n := range looks {
		before := found
		if found, err = look(path); err != nil || found.State != Damaged || n > 0 && found == before {
			break
		}
	}
	return found, err
}

// headBytes is how much of a file is looked at: the second page of bbolt at its largest size of a
// page lies within.
const headBytes = 128 << 10

// headOf returns the first bytes of a file, at most n, and its size once they were read.
func headOf(name string, n int64) (head []byte, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if head, err = io.ReadAll(io.LimitReader(f, n)); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return head, info.Size(), nil
}

// tailOf returns the last bytes of a file, at most n, and its size.
func tailOf(name string, n int64) (tail []byte, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	size = info.Size()
	tail = make([]byte, min(n, size))
	read, err := f.ReadAt(tail, size-int64(len(tail)))
	if errors.Is(err, io.EOF) { // it was cut meanwhile
		err = nil
	}
	return tail[:read], size, err
}

// file tells what a file is.
func file(path string) (Found, error) {
	head, size, err := headOf(path, headBytes)
	switch {
	case err != nil:
		return Found{}, err
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return sqlite(path, head, size), nil
	case len(head) >= 20 && string(head[8:12]) == "DUCK":
		return duckdb(path, head, size), nil
	case redis(head):
		return bunt(path, head)
	}
	return bbolt(head, size), nil
}

// sizeOf returns the size of a file, 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// short makes found damaged, as there are fewer bytes than there must be.
func (f Found) short(what string, size, want int64) Found {
	f.State, f.Detail = Damaged, fmt.Sprintf("%s has %d bytes of %d", what, size, want)
	return f
}

// files are those of a folder, sorted by their names.
type files struct {
	path    string
	entries []fs.DirEntry
}

// Folder tells which engine wrote a folder, by a few names and heads of files: for one who is about
// to open it. It does not look whether all is there. What is no store has no Engine.
func Folder(path string) (Found, error) {
	found, _, err := folder(path)
	return found, err
}

// whole is Folder, and looks whether the files are there that must be.
func whole(path string) (Found, error) {
	found, f, err := folder(path)
	if err != nil || found.State == Damaged {
		return found, err
	}
	switch found.Engine {
	case "badger":
		return f.badgerTables(found)
	case "pebble", "leveldb":
		return f.levels(found)
	case "margaret":
		return f.margaret(found)
	}
	return found, nil
}

func folder(path string) (Found, files, error) {
	entries, err := os.ReadDir(path)
	f := files{path, entries}
	if err != nil {
		return Found{}, f, err
	}
	found := Found{}
	switch options := f.last("OPTIONS-*"); {
	case f.have("MANIFEST"):
		found, err = f.badger()
	case f.have("marker.manifest.*"):
		found = f.pebble()
	case f.have("CURRENT") && options != "":
		found, err = f.withOptions(options)
	case f.have("CURRENT") && f.have("MANIFEST-*"):
		found = Found{Engine: "leveldb", State: f.filled("*.log")}
	case f.have("data") && f.have("ofst") && f.have("jrnl"):
		found = Found{Engine: "margaret", Format: "offset2", State: Clean}
	case f.have("switch.json") && f.have("lock"):
		head, _, herr := headOf(filepath.Join(path, "switch.json"), 8)
		if err = herr; string(head) == `{"old":"` {
			found = Found{Engine: "switch", State: Clean} // transfer/live: its two stores are elsewhere
		}
	case f.have("data-*.moss"):
		found = Found{Engine: "moss", State: Clean}
	}
	return found, f, err
}

// last returns the last name that matches the pattern, or "".
func (f files) last(pattern string) string {
	for _, e := range slices.Backward(f.entries) {
		if fits, _ := filepath.Match(pattern, e.Name()); fits {
			return e.Name()
		}
	}
	return ""
}

func (f files) have(pattern string) bool { return f.last(pattern) != "" }

// filled returns Recovery if a file that matches the pattern is not empty.
func (f files) filled(pattern string) State {
	for _, e := range f.entries {
		fits, _ := filepath.Match(pattern, e.Name())
		if info, err := e.Info(); fits && err == nil && info.Size() > 0 {
			return Recovery
		}
	}
	return Clean
}

// pebble reads its format and the name of its manifest from the names of markers:
// marker.format-version.SEQUENCE.VERSION, and marker.manifest.SEQUENCE.NAME.
func (f files) pebble() Found {
	return Found{Engine: "pebble", Format: strings.TrimLeft(f.marked("format-version"), "0"), State: f.filled("*.log")}
}

// marked returns what the marker of a name says, or "".
func (f files) marked(name string) string {
	parts := strings.Split(f.last("marker."+name+".*.*"), ".")
	return parts[len(parts)-1]
}

// withOptions tells an old store of Pebble from one of RocksDB by the file that both write.
func (f files) withOptions(name string) (Found, error) {
	text, err := os.ReadFile(filepath.Join(f.path, name))
	for _, engine := range []string{"pebble", "rocksdb"} {
		if bytes.Contains(text, []byte(engine+"_version=")) {
			return Found{Engine: engine, State: f.filled("*.log")}, err
		}
	}
	return Found{}, err
}
