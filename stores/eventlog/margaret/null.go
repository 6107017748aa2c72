package margaret

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Null erases the message with a sequence: its bytes become zeros on the disk, and reading it is
// NotFound. It is synced when Null returns. To erase it again, or an empty one, changes nothing. A
// View that is running may see it erased.
//
// The negated length is synced before the first zero is written, so that a crash never leaves zeros
// that look like a message. A crash between the two leaves the message unreadable and its bytes on
// the disk: erase it again.
func (l *Log) Null(ctx context.Context, seq uint64) error {
	if err := ctx.Err(); err != nil {
		return wrap("null", l.b.dir, &kv.Error{Kind: kv.Canceled, Err: err})
	}
	return wrap("null", l.b.dir, l.b.null(seq))
}

func (b *backend) null(seq uint64) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.broken != nil {
		return b.broken
	}
	if seq >= b.n {
		return &kv.Error{Kind: kv.NotFound, Err: fmt.Errorf("message %d of %d", seq, b.n)}
	}
	var bounds [2]int64
	if err := (&reader{b: b, n: b.n, end: b.end}).bounds(bounds[:], seq); err != nil {
		return err
	}
	record := make([]byte, bounds[1]-bounds[0])
	if err := readFull(b.data, record, bounds[0]); err != nil {
		return err
	}
	if _, err := content(record, seq); err != nil {
		return err
	}
	clear(record[headerSize:])
	binary.BigEndian.PutUint64(record, -uint64(len(record)-headerSize))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, part := range [][2]int{{0, headerSize}, {headerSize, len(record)}} {
		if _, err := b.data.WriteAt(record[part[0]:part[1]], bounds[0]+int64(part[0])); err != nil {
			return b.stop(err)
		}
		if err := b.data.Sync(); err != nil {
			return b.stop(err)
		}
	}
	return nil
}

// Restore is [feed.Feed.Append], synced, of messages that another feed held: nil is one that was
// erased, and is so here. Who follows the log is not told.
func (l *Log) Restore(messages ...[]byte) (first uint64, err error) {
	return l.b.append(kv.Synced, messages, true)
}

// Check reads all offsets and lengths and compares them with each other. A fault is Corrupt.
func (l *Log) Check(ctx context.Context) error {
	return l.View(ctx, func(s *feed.Snapshot) error {
		for seq := range s.Scan(0, s.Len()) {
			if seq%scanOffsets == 0 && ctx.Err() != nil {
				return wrap("check", l.b.dir, &kv.Error{Kind: kv.Canceled, Err: ctx.Err()})
			}
		}
		return nil
	})
}
