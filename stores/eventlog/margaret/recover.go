package margaret

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Repair tells what Open did to the end of a log. The zero Repair is nothing.
type Repair struct {
	Unfinished uint64 // messages of an append that was not finished, cut off whole
	Bytes      int64  // cut off data
	Restored   uint64 // messages that the journal named and that were whole, whose offsets were written anew
	Lost       uint64 // messages that the journal named and that are not there whole, or whose length is 0
}

// found is what the files hold.
type found struct {
	data    int64  // bytes in data
	offsets uint64 // whole entries in ofst
	loose   bool   // bytes behind them
	named   uint64 // messages by the journal
	valid   []int64
	index   []byte // of entries to write behind valid
}

// recover reads where the log ends and makes the files end there.
func (b *backend) recover() error {
	f, err := b.find()
	if err != nil {
		return err
	}
	if err := b.readOffsets(f); err != nil {
		return err
	}
	end, err := b.lastEnd(f)
	if err != nil {
		return err
	}
	if end, err = b.rollForward(f, end); err != nil {
		return err
	}
	if err := b.checkRest(f, end); err != nil {
		return err
	}
	b.n, b.end = uint64(len(f.valid)), end
	if b.readOnly {
		return b.readable(f)
	}
	b.repaired.Lost = f.named - b.n
	b.repaired.Bytes = f.data - end
	if err := b.mend(f); err != nil {
		return err
	}
	return b.readMark()
}

// readable is the error of a log that only lets itself be read when it was mended.
func (b *backend) readable(f *found) error {
	if b.repaired = (Repair{}); len(f.index) == 0 {
		return nil
	}
	return &kv.Error{Kind: kv.NotWritable, Err: errors.New("a crash left messages without their offsets"),
		Hint: "open it once for writing, which mends that"}
}

// find measures the files.
func (b *backend) find() (*found, error) {
	f := &found{}
	var sizes [3]int64
	for i, file := range []file{b.data, b.offsets, b.journal} {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		sizes[i] = info.Size()
	}
	f.data, f.offsets, f.loose = sizes[0], uint64(sizes[1]/offsetSize), sizes[1]%offsetSize > 0
	switch sizes[2] {
	case 0:
	case journalSize:
		var raw [journalSize]byte
		if err := readFull(b.journal, raw[:], 0); err != nil {
			return nil, err
		}
		last := int64(binary.BigEndian.Uint64(raw[:]))
		if last < 0 || last == math.MaxInt64 {
			return nil, corrupt(fmt.Errorf("jrnl names message %d as the last", last))
		}
		f.named = uint64(last) + 1
	default:
		return nil, corrupt(fmt.Errorf("jrnl has %d bytes, not 0 or %d", sizes[2], journalSize))
	}
	if f.offsets > f.named+feed.MaxAppend {
		return nil, corrupt(fmt.Errorf("jrnl names %d messages, ofst %d: more than one append can leave", f.named,
			f.offsets))
	}
	return f, nil
}

// readOffsets reads the offsets of the messages that the journal names, up to the first that is
// behind the end of data.
func (b *backend) readOffsets(f *found) error {
	n := min(f.named, f.offsets)
	f.valid = make([]int64, 0, n)
	raw := make([]byte, min(n, scanOffsets)*offsetSize)
	for before := int64(-headerSize); uint64(len(f.valid)) < n; {
		part := raw[:min(n-uint64(len(f.valid)), scanOffsets)*offsetSize]
		if err := readFull(b.offsets, part, int64(len(f.valid))*offsetSize); err != nil {
			return err
		}
		for ; len(part) > 0; part = part[offsetSize:] {
			at := int64(binary.BigEndian.Uint64(part))
			if at < 0 || at-before < headerSize || len(f.valid) == 0 && at != 0 {
				return corrupt(fmt.Errorf("ofst has message %d at %d, behind one at %d", len(f.valid), at, before))
			}
			if at > f.data-headerSize {
				return nil
			}
			f.valid = append(f.valid, at)
			before = at
		}
	}
	return nil
}

// lastEnd returns where the last message ends in data. If it is not whole it is taken from f.valid.
func (b *backend) lastEnd(f *found) (end int64, err error) {
	for next := int64(-1); len(f.valid) > 0; f.valid = f.valid[:len(f.valid)-1] {
		last := len(f.valid) - 1
		size, err := b.size(f.valid[last])
		if err != nil {
			return 0, err
		}
		switch end := f.valid[last] + headerSize + size; {
		case next >= 0 && end != next:
			return 0, corrupt(fmt.Errorf("message %d: length %d, and %d bytes to the next one", last, size,
				next-f.valid[last]-headerSize))
		case end >= 0 && end <= f.data:
			return end, nil
		}
		next = f.valid[last]
	}
	return 0, nil
}

// size returns the length of the record at an offset in data, without its sign.
func (b *backend) size(at int64) (int64, error) {
	var header [headerSize]byte
	if err := readFull(b.data, header[:], at); err != nil {
		return 0, err
	}
	size := int64(binary.BigEndian.Uint64(header[:]))
	if size < 0 {
		size = -size
	}
	if size < 0 || size > math.MaxInt64-headerSize-at {
		return math.MaxInt64 - headerSize - at, nil // longer than any file
	}
	return size, nil
}

// rollForward finds the messages that the journal names and ofst does not, as Margaret leaves one
// when it is killed before it wrote the offset. Zeros are none: a power loss leaves them where
// something was to be written.
func (b *backend) rollForward(f *found, end int64) (int64, error) {
	if uint64(len(f.valid)) < f.offsets {
		return end, nil // the offsets are there, and end at what is not whole
	}
	for uint64(len(f.valid)) < f.named && end <= f.data-headerSize {
		size, err := b.size(end)
		if err != nil {
			return 0, err
		}
		if size == 0 || size > f.data-end-headerSize {
			break
		}
		f.valid = append(f.valid, end)
		f.index = binary.BigEndian.AppendUint64(f.index, uint64(end))
		end += headerSize + size
		b.repaired.Restored++
	}
	return end, nil
}

// checkRest refuses to cut off what cannot be an unfinished append. Where the last length was
// changed to a smaller one, what follows does not begin with a length.
func (b *backend) checkRest(f *found, end int64) error {
	var header [headerSize]byte // of which the end may not have been written
	if err := readFull(b.data, header[:min(f.data-end, headerSize)], end); err != nil {
		return err
	}
	if size := int64(binary.BigEndian.Uint64(header[:])); size < 0 || size > feed.MaxMessage {
		return corrupt(fmt.Errorf("what follows message %d in data is not the beginning of another", len(f.valid)-1))
	}
	return nil
}

// mend makes the files end after the messages in f. The journal is set back before what it names is
// cut off, so that a crash in between leaves what can be mended again.
func (b *backend) mend(f *found) error {
	written := uint64(len(f.valid)) - b.repaired.Restored
	if f.offsets > f.named {
		b.repaired.Unfinished = f.offsets - f.named
	}
	if b.repaired == (Repair{}) && !f.loose && f.offsets == b.n {
		return nil
	}
	var err error
	switch {
	case b.n == 0 && f.named > 0:
		err = b.journal.Truncate(0)
	case b.n < f.named:
		err = b.writeJournal(b.n)
	}
	if err = errors.Join(err, b.journal.Sync()); err != nil {
		return err
	}
	if err := b.offsets.Truncate(int64(written) * offsetSize); err != nil {
		return err
	}
	if len(f.index) > 0 {
		if _, err := b.offsets.WriteAt(f.index, int64(written)*offsetSize); err != nil {
			return err
		}
	}
	if err := b.data.Truncate(b.end); err != nil {
		return err
	}
	return errors.Join(b.offsets.Sync(), b.data.Sync())
}

// String says what was done, in words.
func (r Repair) String() string {
	if r == (Repair{}) {
		return "nothing to repair"
	}
	return fmt.Sprintf("cut %d bytes with %d messages of an unfinished append; wrote the offsets of %d messages anew; set the journal back by %d",
		r.Bytes, r.Unfinished, r.Restored, r.Lost)
}
