package feed

import (
	"context"
	"time"

	"github.com/assaydb/assay/kv"
)

// A follower reads so many messages, or about so many bytes, at a time.
const (
	followMessages = 1000
	followBytes    = 1 << 20
)

// Follow calls handle with every message from a sequence on, in order, and with those to come as
// they are appended, until ctx ends, the feed is closed or handle returns an error: it returns why.
// A message is borrowed until handle returns; one that was erased is nil. Where it must go on is
// for the program to keep: after the last message that it has dealt with.
//
// handle may append to the feed, and takes as long as it needs: no view is open while it runs.
// Follow is told of appends through this Feed at once; where other processes may append too it also
// looks, every 100 ms at least. If messages that it did not come to are trimmed, it fails with
// NotFound.
func (f *Feed) Follow(ctx context.Context, from uint64, handle func(seq uint64, message []byte) error) error {
	pause := time.Millisecond
	var batch []byte
	var ends []int // of the messages in batch; below 0 of one that was erased
	for {
		rung := f.bell.Listen()
		batch, ends = batch[:0], ends[:0]
		err := f.View(ctx, func(s *Snapshot) error {
			if first := s.First(); from < first {
				return trimmed(from, first)
			}
			for seq, message := range s.Scan(from, min(s.Len(), from+followMessages)) {
				if seq != from+uint64(len(ends)) { // trimmed since this view began
					return trimmed(from, seq)
				}
				batch = append(batch, message...)
				end := len(batch)
				if message == nil {
					end = -1
				}
				if ends = append(ends, end); len(batch) >= followBytes {
					break
				}
			}
			return s.Err()
		})
		if err != nil {
			return err
		}
		if len(ends) > 0 {
			pause = time.Millisecond
			if from, err = handleAll(ctx, from, batch, ends, handle); err != nil {
				return err
			}
			continue
		}
		if err := f.wait(ctx, rung, pause); err != nil {
			return err
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// handleAll calls handle with messages, the first of which has the sequence from, and returns the
// sequence after the last.
func handleAll(ctx context.Context, from uint64, batch []byte, ends []int, handle func(uint64, []byte) error) (uint64,
	error) {
	start := 0
	for _, end := range ends {
		if err := ctx.Err(); err != nil {
			return from, &kv.Error{Op: "follow", Kind: kv.Canceled, Err: err}
		}
		var message []byte
		if end >= 0 {
			message, start = batch[start:end:end], end
		}
		if err := handle(from, message); err != nil {
			return from, err
		}
		from++
	}
	return from, nil
}

// wait returns when something was appended, or, where others may append, after a pause.
func (f *Feed) wait(ctx context.Context, rung <-chan struct{}, pause time.Duration) error {
	var look <-chan time.Time
	if k, ok := f.backend.(*keeper); ok && k.shared {
		look = time.After(pause)
	}
	select {
	case <-rung:
	case <-look:
	case <-ctx.Done():
		return &kv.Error{Op: "follow", Kind: kv.Canceled, Err: ctx.Err()}
	}
	return nil
}
