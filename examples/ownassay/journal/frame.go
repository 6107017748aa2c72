package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// magic begins every journal.
const magic = "journal of commits, version 1\n"

// maxFrame is the largest transaction, in bytes of keys and values.
const maxFrame = 64 << 20

// A frame is the length of its operations, their checksum, which goes on from that of the frame
// before, and the operations: 0 for a pair or 1 for a deletion, the lengths of key and value, both.
const headSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func size(ops []driver.Op) (n int) {
	for _, op := range ops {
		n += len(op.Key) + len(op.Value)
	}
	return n
}

// encode returns the frame of ops behind one with the checksum before.
func encode(ops []driver.Op, before uint32) []byte {
	frame := make([]byte, headSize, headSize+size(ops)+8*len(ops))
	for _, op := range ops {
		kind := byte(0)
		if op.Delete {
			kind, op.Value = 1, nil
		}
		frame = append(frame, kind)
		frame = binary.AppendUvarint(frame, uint64(len(op.Key)))
		frame = binary.AppendUvarint(frame, uint64(len(op.Value)))
		frame = append(append(frame, op.Key...), op.Value...)
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-headSize))
	binary.LittleEndian.PutUint32(frame[4:], checksum(frame, before))
	return frame
}

// checksum is of the length and the operations.
func checksum(frame []byte, before uint32) uint32 {
	return crc32.Update(crc32.Update(before, castagnoli, frame[:4]), castagnoli, frame[headSize:])
}

func sumOf(frame []byte) uint32 { return binary.LittleEndian.Uint32(frame[4:]) }

// replay gives each frame of a journal to apply, up to the first that is not whole. A journal
// without its first frame is Corrupt: it was there before the file had its name.
func replay(content []byte, apply func([]driver.Op) error) error {
	rest, ok := strings.CutPrefix(string(content), magic)
	if !ok {
		return &driver.Error{Kind: driver.Corrupt, Err: errors.New("not a journal")}
	}
	log, sum, frames := []byte(rest), uint32(0), 0
	for len(log) >= headSize {
		length := uint64(binary.LittleEndian.Uint32(log))
		if uint64(len(log)-headSize) < length {
			break
		}
		frame := log[:headSize+length]
		if checksum(frame, sum) != sumOf(frame) {
			break
		}
		ops, err := decode(frame[headSize:])
		if err == nil {
			err = apply(ops)
		}
		if err != nil {
			return err
		}
		log, sum, frames = log[len(frame):], sumOf(frame), frames+1
	}
	if frames == 0 {
		return &driver.Error{Kind: driver.Corrupt, Err: errors.New("the journal's first frame is damaged")}
	}
	return nil
}

// decode returns the operations of a frame, which has the right checksum.
func decode(b []byte) (ops []driver.Op, err error) {
	for len(b) > 0 {
		kind := b[0]
		key, n := binary.Uvarint(b[1:])
		value, m := binary.Uvarint(b[1+max(n, 0):])
		start := 1 + n + m
		if kind > 1 || n <= 0 || m <= 0 || key > uint64(len(b)-start) || value > uint64(len(b)-start)-key {
			return nil, &driver.Error{Kind: driver.Corrupt, Err: errors.New("a frame with a right checksum and wrong lengths")}
		}
		end := start + int(key)
		ops = append(ops, driver.Op{Key: b[start:end], Value: b[end : end+int(value)], Delete: kind == 1})
		b = b[end+int(value):]
	}
	return ops, nil
}
