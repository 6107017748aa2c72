package detect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// levels looks whether the tables are there, as long as they were, that the manifest of a store of
// Pebble or LevelDB names. It is a log of edits.
func (f files) levels(found Found) (Found, error) {
	name := f.marked("manifest")
	if name == "" {
		current, err := os.ReadFile(filepath.Join(f.path, "CURRENT"))
		if err != nil {
			return found, err
		}
		name = strings.TrimSuffix(string(current), "\n")
	}
	if !f.have(name) {
		found.State, found.Detail = Damaged, "its manifest "+name+" is missing"
		return found, nil
	}
	log, err := os.ReadFile(filepath.Join(f.path, name))
	if err != nil || f.have("REMOTE-OBJ-CATALOG-*") { // some tables are elsewhere
		return found, err
	}
	edits, torn := records(log)
	m := manifest{tables: map[[2]uint64]uint64{}, backings: map[uint64]uint64{}, blobs: map[uint64]uint64{}}
	for _, e := range edits {
		if !m.apply(e) {
			return found, nil // of a format that is not known here
		}
	}
	switch {
	case len(edits) == 0:
		found.State, found.Detail = Damaged, "its manifest "+name+" holds nothing whole"
		return found, nil
	case torn:
		found.State, found.Detail = Recovery, "its manifest "+name+" ends within an edit"
	}
	for of, size := range m.tables {
		m.backings[of[1]] = size
	}
	return f.unnamed(f.lacking(f.lacking(found, m.backings, "ldb", "sst"), m.blobs, "blob"), m.backings, "ldb", "sst"), nil
}

// unnamed tells of a table that is in no list: a crash leaves one whose making was not finished, or
// the list lacks its end. Opening the store removes it.
func (f files) unnamed(found Found, named map[uint64]uint64, extensions ...string) Found {
	for _, e := range f.entries {
		name, ext, _ := strings.Cut(e.Name(), ".")
		number, err := strconv.ParseUint(name, 10, 64)
		_, ok := named[number]
		if err == nil && !ok && slices.Contains(extensions, ext) && found.State == Clean {
			found.State, found.Detail = Recovery, e.Name()+" is in no level"
		}
	}
	return found
}

// lacking makes found damaged if one of the files that are numbered so is missing, or shorter than
// it must be. Its name ends with one of the extensions.
func (f files) lacking(found Found, sizes map[uint64]uint64, extensions ...string) Found {
	there := map[string]int64{}
	for _, e := range f.entries {
		if info, err := e.Info(); err == nil {
			there[e.Name()] = info.Size()
		}
	}
	least := ^uint64(0)
	for number, want := range sizes {
		var name string
		var size int64
		ok := false
		for _, ext := range extensions {
			if !ok {
				name = fmt.Sprintf("%06d.%s", number, ext)
				size, ok = there[name]
			}
		}
		switch {
		case number > least || ok && size >= int64(want):
			continue // the first one is named, so that a second look finds the same
		case ok:
			found = found.short(name, size, int64(want))
		default:
			found.State, found.Detail = Damaged, name+" is missing"
		}
		least = number
	}
	return found
}

// records returns the records of a log in the format of LevelDB
// (https://github.com/google/leveldb/blob/main/doc/log_format.md), and whether it ends within one.
func records(log []byte) (list [][]byte, torn bool) {
	const block, header, full, first, last = 32 << 10, 7, 1, 2, 4
	const masked = 0xa282ead8
	var record []byte
	within := false
	for len(log) > 0 {
		b := log[:min(block, len(log))]
		log = log[len(b):]
		for len(b) >= header {
			size, kind := int(binary.LittleEndian.Uint16(b[4:])), b[6]
			if size == 0 && kind == 0 {
				break // room that was never written
			}
			if len(b) < header+size {
				return list, true
			}
			sum := crc32.Checksum(b[6:header+size], castagnoli)
			if binary.LittleEndian.Uint32(b) != (sum>>15|sum<<17)+masked {
				return list, true
			}
			if kind == full || kind == first {
				record = nil
			}
			record = append(record, b[header:header+size]...)
			if within = kind != full && kind != last; !within {
				list = append(list, record)
			}
			b = b[header+size:]
		}
		if len(log) == 0 && len(b) > 0 && len(b) < header {
			return list, within || strings.Trim(string(b), "\x00") != ""
		}
	}
	return list, within
}

// manifest is what a manifest's edits say of the files that are in use, by their numbers.
type manifest struct {
	tables   map[[2]uint64]uint64 // sizes, by level and number
	backings map[uint64]uint64    // of files of which tables are parts
	blobs    map[uint64]uint64
}

// apply reads an edit, and reports whether it knows all in it: what LevelDB has (version_edit.cc),
// and what Pebble has added (internal/manifest/version_edit.go).
func (m *manifest) apply(edit []byte) bool {
	const (
		comparer, logNumber, nextFile, sequence, compacted, deleted, added, previousLog = 1, 2, 3, 4, 5, 6, 7, 9

		added2, added4, added5, backing, noBacking, blob, noBlob = 100, 103, 104, 105, 106, 107, 108
	)
	r := reader{b: edit}
	for len(r.b) > 0 && !r.bad {
		switch tag := r.number(); tag {
		case comparer:
			r.bytes()
		case logNumber, nextFile, sequence, previousLog:
			r.number()
		case compacted:
			r.number()
			r.bytes()
		case deleted:
			delete(m.tables, [2]uint64{r.number(), r.number()})
		case added, added2, added4, added5:
			m.add(&r, tag == added5, tag != added, tag >= added4)
		case backing:
			number := r.number()
			m.backings[number] = r.number()
		case noBacking:
			delete(m.backings, r.number())
		case blob:
			r.number()
			number := r.number()
			m.blobs[number] = r.number()
			r.number()
			r.number()
		case noBlob:
			r.number()
			delete(m.blobs, r.number())
		default:
			return false
		}
	}
	return !r.bad
}

// add reads a new table: level, number, size, bounds, and what later formats have behind them.
func (m *manifest) add(r *reader, ranges, sequences, fields bool) {
	const end, virtual, references = 1, 66, 69
	of := [2]uint64{r.number(), r.number()}
	size := r.number()
	bounds := 2
	if ranges && r.byte()&1 != 0 { // keys of points have bounds of their own
		bounds = 4
	}
	for range bounds {
		r.bytes()
	}
	if sequences {
		r.number()
		r.number()
	}
	whole := true
	for fields && !r.bad {
		switch field := r.number(); field {
		case end:
			fields = false
		case virtual:
			whole = false
			r.number()
		case references:
			r.number()
			for n := r.number(); n > 0 && !r.bad; n-- {
				r.number()
				r.number()
			}
		default:
			r.bytes()
		}
	}
	if whole {
		m.tables[of] = size
	}
}

// reader reads numbers and bytes as protocol buffers, LevelDB and Pebble write them.
type reader struct {
	b   []byte
	bad bool // it ended before what was to be read
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}
