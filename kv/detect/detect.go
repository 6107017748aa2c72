// Package detect tells by the content of a file or folder which engine wrote it. It knows the
// formats of all engines, whether a program has them or not, and opens nothing for writing.
package detect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
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
		look = Folder
	}
	found, err := look(path)
	if err == nil && found.Engine == "" {
		err = ErrUnknown
	}
	if err != nil {
		return Found{}, err
	}
	found.Locked = locked(path)
	return found, nil
}

// headBytes is how much of a file is looked at: the second page of bbolt at its largest size of a
// page lies within.
const headBytes = 128 << 10

// headOf returns the first bytes of a file, at most n.
func headOf(name string, n int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return io.ReadAll(io.LimitReader(f, n))
}

// file tells what a file is.
func file(path string) (Found, error) {
	head, err := headOf(path, headBytes)
	switch {
	case err != nil:
		return Found{}, err
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return sqlite(path, head), nil
	case len(head) >= 20 && string(head[8:12]) == "DUCK":
		return Found{Engine: "duckdb", Format: fmt.Sprint(binary.LittleEndian.Uint64(head[12:])),
			State: logged(path + ".wal")}, nil
	case redis(head):
		return Found{Engine: "bunt", State: Clean}, nil
	}
	return bbolt(head), nil
}

// logged returns Recovery if there is something in a log.
func logged(path string) State {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return Recovery
	}
	return Clean
}

// sqlite follows https://www.sqlite.org/fileformat2.html: a journal that is not empty and does not
// begin with a zero is to be rolled back.
func sqlite(path string, head []byte) Found {
	found := Found{Engine: "sqlite", State: Clean}
	if len(head) < 100 {
		found.State, found.Detail = Damaged, "the header is cut off"
		return found
	}
	if v := binary.BigEndian.Uint32(head[96:]); v > 0 {
		found.Format = fmt.Sprintf("3 (written by %d.%d.%d)", v/1_000_000, v/1000%1000, v%1000)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		found.State, found.Detail = Recovery, fmt.Sprintf("%d bytes in its write-ahead log", info.Size())
	}
	if first, _ := headOf(path+"-journal", 1); len(first) > 0 && first[0] != 0 {
		found.State, found.Detail = Recovery, "a transaction is to be rolled back"
	}
	return found
}

// redis reports whether head begins as a file of BuntDB: a command in Redis's protocol, set or del.
func redis(head []byte) bool {
	line, rest, ok := bytes.Cut(head, []byte("\r\n"))
	if !ok || len(line) != 2 || line[0] != '*' {
		return false
	}
	return bytes.HasPrefix(rest, []byte("$3\r\nset\r\n")) || bytes.HasPrefix(rest, []byte("$3\r\ndel\r\n"))
}

// bbolt looks for the two meta pages, of which the second begins where the first one ends: a header
// of 16 bytes, then magic, version, size of a page, flags, root (16), freelist, high-water mark,
// transaction, and an FNV-1a sum of all before it (go.etcd.io/bbolt/internal/common/meta.go).
func bbolt(head []byte) Found {
	const magic, header, summed = 0xED0CDAED, 16, 56
	whole, seen := 0, false
	var version uint32
	for at := 0; len(head) >= at+header+summed+8; at = max(2*at, 512) { // pages of each size
		m := head[at+header:]
		if binary.LittleEndian.Uint32(m) != magic {
			continue
		}
		seen = true
		h := fnv.New64a()
		h.Write(m[:summed])
		if h.Sum64() == binary.LittleEndian.Uint64(m[summed:]) {
			whole++
			version = binary.LittleEndian.Uint32(m[4:])
		}
	}
	switch {
	case !seen:
		return Found{}
	case whole == 0:
		return Found{Engine: "bbolt", State: Damaged, Detail: "neither meta page is whole"}
	case whole == 1:
		return Found{Engine: "bbolt", Format: fmt.Sprint(version), State: Recovery,
			Detail: "one meta page is not whole; the other one holds"}
	}
	return Found{Engine: "bbolt", Format: fmt.Sprint(version), State: Clean}
}

// files are those of a folder, sorted by their names.
type files struct {
	path    string
	entries []fs.DirEntry
}

// Folder is Path of a folder, without a look at who has it locked: for one who is about to open it.
// What is no store has no Engine.
func Folder(path string) (Found, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return Found{}, err
	}
	f := files{path, entries}
	switch current, options := f.have("CURRENT"), f.last("OPTIONS-*"); {
	case f.have("MANIFEST"):
		return f.badger()
	case f.have("marker.manifest.*"):
		return f.pebble(), nil
	case current && options != "":
		return f.withOptions(options)
	case current && f.have("MANIFEST-*"):
		return Found{Engine: "leveldb", State: f.filled("*.log")}, nil
	case f.have("data") && f.have("ofst") && f.have("jrnl"):
		return Found{Engine: "margaret", Format: "offset2", State: Clean}, nil
	case f.have("data-*.moss"):
		return Found{Engine: "moss", State: Clean}, nil
	}
	return Found{}, nil
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

// badger reads the head of the MANIFEST: "Bdgr", a number of its user (2 bytes) and the version (2
// bytes), big-endian.
func (f files) badger() (Found, error) {
	head, err := headOf(filepath.Join(f.path, "MANIFEST"), 8)
	if len(head) < 8 || string(head[:4]) != "Bdgr" {
		return Found{}, err
	}
	return Found{Engine: "badger", Format: fmt.Sprint(binary.BigEndian.Uint16(head[6:])), State: f.filled("*.mem")}, err
}

// pebble reads its format and the name of its manifest from the names of markers:
// marker.format-version.SEQUENCE.VERSION, and marker.manifest.SEQUENCE.NAME.
func (f files) pebble() Found {
	of := func(marker string) string {
		parts := strings.Split(f.last("marker."+marker+".*.*"), ".")
		return parts[len(parts)-1]
	}
	found := Found{Engine: "pebble", Format: strings.TrimLeft(of("format-version"), "0"), State: f.filled("*.log")}
	if manifest := of("manifest"); manifest != "" && !f.have(manifest) {
		found.State, found.Detail = Damaged, "its manifest "+manifest+" is missing"
	}
	return found
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
