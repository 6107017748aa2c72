package margaret

import (
	"encoding/binary"
	"errors"
)

// The file "unsynced" names the first message that may not be on the disk, or is empty. It is
// written before the first append that is not synced, and emptied once all is synced. It is never
// synced: a process that follows one that died reads it, and after a power loss what the files hold
// is what the disk holds.
//
// It is there because of syncs that fail: the kernel drops what was to be synced and still shows
// it, so that a later sync succeeds without it. Whoever opens the log next writes those messages
// once more before it syncs what stands behind them.

// mark notes that what is appended from now on is not synced.
func (b *backend) mark() error {
	if b.marked {
		return nil
	}
	if _, err := b.unsynced.WriteAt(binary.BigEndian.AppendUint64(nil, b.n), 0); err != nil {
		return err
	}
	b.marked = true
	return nil
}

// readMark reads what an earlier process noted. What a power loss left of a note, or what names
// more messages than there are, counts for nothing.
func (b *backend) readMark() error {
	info, err := b.unsynced.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var raw [markSize]byte
	if info.Size() == markSize {
		if err := readFull(b.unsynced, raw[:], 0); err != nil {
			return err
		}
		if b.first = binary.BigEndian.Uint64(raw[:]); b.first <= b.n {
			b.marked, b.suspect = true, b.first < b.n
			return nil
		}
	}
	return b.unsynced.Truncate(0)
}

// rewrite writes the messages once more that an earlier process did not sync, and their offsets, so
// that the next sync has them to write.
func (b *backend) rewrite() error {
	if !b.suspect {
		return nil
	}
	var raw [offsetSize]byte
	if err := readFull(b.offsets, raw[:], int64(b.first)*offsetSize); err != nil {
		return err
	}
	return errors.Join(
		again(b.data, int64(binary.BigEndian.Uint64(raw[:])), b.end),
		again(b.offsets, int64(b.first)*offsetSize, int64(b.n)*offsetSize))
}

// again writes the bytes of a file between two places as they are.
func again(f file, from, to int64) error {
	part := make([]byte, min(max(to-from, 0), 1<<20))
	for ; from < to; from += int64(len(part)) {
		part = part[:min(to-from, int64(len(part)))]
		if err := readFull(f, part, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(part, from); err != nil {
			return err
		}
	}
	return nil
}

// synced notes that all is. If the note stays, more is written again than needs to be.
func (b *backend) synced() {
	b.dirty, b.suspect = false, false
	if b.marked && b.unsynced.Truncate(0) == nil {
		b.marked = false
	}
}
