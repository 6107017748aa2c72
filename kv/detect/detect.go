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
		look = folder
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

// file tells what a file is.
func file(path string) (Found, error) {
	f, err := os.Open(path)
	if err != nil {
		return Found{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Found{}, err
	}
	head = head[:n]
	switch {
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
	first := make([]byte, 1)
	if f, err := os.Open(path + "-journal"); err == nil {
		if n, _ := f.Read(first); n > 0 && first[0] != 0 {
			found.State, found.Detail = Recovery, "a transaction is to be rolled back"
		}
		_ = f.Close() // nothing was written
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

// bbolt looks for one of the two meta pages: a header of 16 bytes, then magic, version, size of a
// page, flags, root (16), freelist, high-water mark, transaction, and an FNV-1a sum of all before
// it (go.etcd.io/bbolt/internal/common/meta.go).
func bbolt(head []byte) Found {
	const magic, header, summed = 0xED0CDAED, 16, 56
	whole, seen := 0, false
	var version uint32
	meta := func(at int) (pageSize int) {
		if len(head) < at+header+summed+8 {
			return 0
		}
		m := head[at+header:]
		if binary.LittleEndian.Uint32(m) != magic {
			return 0
		}
		seen = true
		h := fnv.New64a()
		h.Write(m[:summed])
		if h.Sum64() == binary.LittleEndian.Uint64(m[summed:]) {
			whole++
			version = binary.LittleEndian.Uint32(m[4:])
		}
		return int(binary.LittleEndian.Uint32(m[8:]))
	}
	if size := meta(0); size >= 512 && size <= headBytes/2 {
		meta(size)
	} else {
		for size := 1024; size <= headBytes/2 && whole == 0; size *= 2 {
			meta(size)
		}
	}
	if !seen {
		return Found{}
	}
	found := Found{Engine: "bbolt", State: Clean, Format: fmt.Sprint(version)}
	switch whole {
	case 0:
		found.State, found.Format, found.Detail = Damaged, "", "neither meta page is whole"
	case 1:
		found.State, found.Detail = Recovery, "one meta page is not whole; the other one holds"
	}
	return found
}

// folder tells what a folder is.
func folder(path string) (Found, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return Found{}, err
	}
	has := func(match func(name string) bool) (name string) {
		for _, e := range entries {
			if match(e.Name()) {
				return e.Name()
			}
		}
		return ""
	}
	called := func(want string) bool { return has(func(name string) bool { return name == want }) != "" }
	starts := func(prefix string) string {
		return has(func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	switch {
	case called("MANIFEST"):
		return badger(path)
	case starts("marker.manifest.") != "":
		return pebble(path, starts("marker.format-version."), entries), nil
	case called("CURRENT") && starts("MANIFEST-") != "" && starts("OPTIONS-") == "":
		return Found{Engine: "leveldb", State: filled(entries, ".log")}, nil
	case called("CURRENT") && starts("OPTIONS-") != "":
		return options(path, starts("OPTIONS-"), entries)
	case called("data") && called("ofst") && called("jrnl"):
		return Found{Engine: "margaret", Format: "offset2", State: Clean}, nil
	case starts("data-") != "" && strings.HasSuffix(starts("data-"), ".moss"):
		return Found{Engine: "moss", State: Clean}, nil
	}
	return Found{}, nil
}

// filled returns Recovery if a file with that ending is not empty.
func filled(entries []fs.DirEntry, ending string) State {
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ending) && info.Size() > 0 {
			return Recovery
		}
	}
	return Clean
}

// badger reads the head of the MANIFEST: "Bdgr", a number of its user (2 bytes) and the version (2
// bytes), big-endian.
func badger(path string) (Found, error) {
	f, err := os.Open(filepath.Join(path, "MANIFEST"))
	if err != nil {
		return Found{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	head := make([]byte, 8)
	if _, err := io.ReadFull(f, head); err != nil || string(head[:4]) != "Bdgr" {
		return Found{}, nil
	}
	entries, err := os.ReadDir(path)
	return Found{Engine: "badger", Format: fmt.Sprint(binary.BigEndian.Uint16(head[6:])),
		State: filled(entries, ".mem")}, err
}

// pebble reads its format from the name of the marker: marker.format-version.SEQUENCE.VERSION.
func pebble(path, marker string, entries []fs.DirEntry) Found {
	found := Found{Engine: "pebble", State: filled(entries, ".log")}
	if parts := strings.Split(marker, "."); len(parts) == 4 {
		found.Format = strings.TrimLeft(parts[3], "0")
	}
	manifest := ""
	for _, e := range entries {
		if parts := strings.Split(e.Name(), "."); strings.HasPrefix(e.Name(), "marker.manifest.") && len(parts) == 4 {
			manifest = parts[3]
		}
	}
	if _, err := os.Stat(filepath.Join(path, manifest)); manifest != "" && err != nil {
		found.State, found.Detail = Damaged, "its manifest "+manifest+" is missing"
	}
	return found
}

// options tells an old store of Pebble from one of RocksDB by the file that both write.
func options(path, name string, entries []fs.DirEntry) (Found, error) {
	text, err := os.ReadFile(filepath.Join(path, name))
	switch {
	case err != nil:
		return Found{}, err
	case bytes.Contains(text, []byte("pebble_version=")):
		return Found{Engine: "pebble", State: filled(entries, ".log")}, nil
	case bytes.Contains(text, []byte("rocksdb_version=")):
		return Found{Engine: "rocksdb", State: filled(entries, ".log")}, nil
	}
	return Found{}, nil
}
