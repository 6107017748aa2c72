package detect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// badger reads the head of the MANIFEST: "Bdgr", a number of its user (2 bytes) and the version (2
// bytes), big-endian.
func (f files) badger() (Found, error) {
	head, _, err := headOf(filepath.Join(f.path, "MANIFEST"), manifestHead)
	if len(head) < manifestHead || string(head[:4]) != "Bdgr" {
		return Found{}, err
	}
	return Found{Engine: "badger", Format: fmt.Sprint(binary.BigEndian.Uint16(head[6:])), State: f.filled("*.mem")}, err
}

const manifestHead = 8

// badgerTables looks whether the tables are there, and have their ends, that the MANIFEST names:
// behind its head are sets of changes, each with its length and CRC-32C, in protocol buffers
// (badger/pb/badgerpb4.proto). What a file of the value log must have nothing tells.
func (f files) badgerTables(found Found) (Found, error) {
	const create, remove = 0, 1
	log, err := os.ReadFile(filepath.Join(f.path, "MANIFEST"))
	if err != nil || len(log) < manifestHead {
		return found, err
	}
	live := map[uint64]uint64{} // least sizes
	for log = log[manifestHead:]; len(log) > 0; {
		const head = 8
		size := uint64(len(log))
		if size >= head {
			size = head + uint64(binary.BigEndian.Uint32(log))
		}
		if size < head || size > uint64(len(log)) {
			found.State, found.Detail = Recovery, "its MANIFEST ends within a change"
			break
		}
		set := reader{b: log[head:size]}
		if crc32.Checksum(set.b, castagnoli) != binary.BigEndian.Uint32(log[4:]) {
			found.State, found.Detail = Damaged, "its MANIFEST is not as it was written"
			return found, nil
		}
		for log = log[size:]; len(set.b) > 0 && !set.bad; {
			set.number() // the field of a change, of which a set consists
			change := fieldsOf(set.bytes())
			switch change[2] {
			case create:
				live[change[1]] = tableLengths
			case remove:
				delete(live, change[1])
			}
		}
	}
	found = f.unnamed(f.lacking(found, live, "sst"), live, "sst")
	if found.State == Damaged {
		return found, nil
	}
	for _, e := range f.entries {
		var number uint64
		if _, err := fmt.Sscanf(e.Name(), "%d.sst", &number); err != nil || live[number] == 0 {
			continue
		}
		whole, err := badgerTable(filepath.Join(f.path, e.Name()))
		if err != nil || !whole {
			if err == nil {
				found.State, found.Detail = Damaged, e.Name()+" lacks its end"
			}
			return found, err
		}
	}
	return found, nil
}

// fieldsOf returns the fields of a message of protocol buffers that has numbers alone.
func fieldsOf(message []byte) map[uint64]uint64 {
	fields := map[uint64]uint64{}
	for r := (reader{b: message}); len(r.b) > 0; {
		field := r.number() >> 3
		fields[field] = r.number()
	}
	return fields
}

// badgerTable reports whether a table has its end: an index, the length of it (4 bytes), its sum in
// protocol buffers, and the length of that (4 bytes), big-endian.
func badgerTable(name string) (bool, error) {
	const longest = 32 // of a sum: two numbers
	tail, size, err := tailOf(name, longest+tableLengths)
	if err != nil || len(tail) < tableLengths {
		return false, err
	}
	sum := int64(binary.BigEndian.Uint32(tail[len(tail)-4:]))
	if sum == 0 || sum > min(longest, int64(len(tail)-tableLengths)) {
		return false, nil
	}
	index := int64(binary.BigEndian.Uint32(tail[int64(len(tail))-tableLengths-sum:]))
	return 0 < index && index <= size-tableLengths-sum, nil
}

const tableLengths = 8 // bytes of the two lengths
