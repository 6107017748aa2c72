package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/assaydb/assay/kv"
)

// noLimit as the last visible position is every position.
const noLimit = math.MaxUint64

// limit returns the last position that readers may see.
func (b *kvBackend) limit() uint64 {
	if b.inMemory {
		return b.visible.Load()
	}
	return noLimit
}

// LastPosition implements Backend.
func (b *kvBackend) LastPosition(ctx context.Context) (last uint64, err error) {
	if b.inMemory {
		return b.visible.Load(), nil
	}
	err = b.db.View(ctx, func(s *kv.Snapshot) (err error) {
		last, err = lastEvent(s)
		return err
	})
	return last, err
}

// presize is up to how many events memory is taken before they are read.
const presize = 1024

// Load implements Backend.
func (b *kvBackend) Load(ctx context.Context, r Span) ([]Event, error) {
	if r.To = min(r.To, b.limit()); r.From > r.To {
		return nil, nil
	}
	var bounds [18]byte
	scan := kv.Range{Start: appendEventKey(bounds[:0:9], r.From), End: appendEventKey(bounds[9:9], r.To+1),
		Reverse: r.Reverse}
	var c decoder
	err := b.db.View(ctx, func(s *kv.Snapshot) error {
		for key, value := range s.Scan(scan) {
			if c.events == nil {
				c.events = make([]Event, 0, min(uint64(r.Limit), r.To-r.From+1, presize))
			}
			position, _ := kv.LastUint64(key)
			if err := c.add(position, value); err != nil {
				return err
			}
			if len(c.events) == r.Limit {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.events, nil
}

// LoadStream implements Backend.
func (b *kvBackend) LoadStream(ctx context.Context, stream string, r Span) ([]Event, error) {
	scan := kv.Range{Start: appendStreamKey(nil, stream, r.From), End: appendStreamKey(nil, stream, r.To+1),
		Reverse: r.Reverse}
	limit := b.limit()
	var c decoder
	err := b.db.View(ctx, func(s *kv.Snapshot) error {
		var key, value []byte
		for index, v := range s.Scan(scan) {
			position, err := number(index, v)
			if err != nil {
				return err
			}
			if position > limit {
				if r.Reverse {
					continue
				}
				break
			}
			key = appendEventKey(key[:0], position)
			if value, err = s.Append(value[:0], key); errors.Is(err, kv.NotFound) && position < truncatedBelow(s) {
				continue
			} else if err != nil {
				return corrupt(fmt.Errorf("stream %q names event %d: %w", stream, position, err))
			}
			if err := c.add(position, value); err != nil {
				return err
			}
			if len(c.events) == r.Limit {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.events, nil
}

// StreamVersion implements Backend.
func (b *kvBackend) StreamVersion(ctx context.Context, stream string) (version uint64, err error) {
	limit := b.limit()
	err = b.db.View(ctx, func(s *kv.Snapshot) (err error) {
		version, err = streamVersion(s, stream, limit)
		return err
	})
	return version, err
}

// streamVersion returns the version of the stream's last event whose position is at most limit.
func streamVersion(s *kv.Snapshot, stream string, limit uint64) (uint64, error) {
	last := kv.Prefix(appendStreamPrefix(nil, stream))
	last.Reverse = true
	for key, value := range s.Scan(last) {
		position, err := number(key, value)
		if err != nil {
			return 0, err
		}
		if position <= limit {
			version, _ := kv.LastUint64(key)
			return version, nil
		}
	}
	return 0, s.Err()
}

// Streams implements Backend.
func (b *kvBackend) Streams(ctx context.Context, prefix, after string, limit int) (all []Stream, err error) {
	begin := appendStreamPrefix(nil, prefix)
	left := kv.Prefix(begin[:len(begin)-2]) // without the end of the string
	left.KeysOnly = true
	if above := kv.PrefixEnd(appendStreamPrefix(nil, after)); bytes.Compare(above, left.Start) > 0 {
		left.Start = above
	}
	visible := b.limit()
	err = b.db.View(ctx, func(s *kv.Snapshot) error {
		for len(all) < limit {
			name, err := firstStream(s, left)
			if name == "" || err != nil {
				return err
			}
			version, err := streamVersion(s, name, visible)
			if err != nil {
				return err
			}
			if version > 0 {
				all = append(all, Stream{Name: name, Version: version})
			}
			if left.Start = kv.PrefixEnd(appendStreamPrefix(nil, name)); ctx.Err() != nil {
				return &kv.Error{Op: "streams", Kind: kv.Canceled, Err: ctx.Err()}
			}
		}
		return nil
	})
	return all, err
}

// firstStream returns the name in the first key of r, "" if there is none.
func firstStream(s *kv.Snapshot, r kv.Range) (string, error) {
	for key := range s.Scan(r) {
		name, rest, ok := kv.CutString(key[1:])
		if !ok || len(rest) != 8 || name == "" {
			return "", corrupt(fmt.Errorf("key %q is not that of a stream", key))
		}
		return name, nil
	}
	return "", s.Err()
}
