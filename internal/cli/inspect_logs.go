package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// logView is what inspect shows of an event log.
type logView interface {
	Streams(ctx context.Context, prefix, after string, limit int) ([]eventlog.Stream, error)
	LastPosition(ctx context.Context) (uint64, error)
	Load(ctx context.Context, r eventlog.Range) ([]eventlog.Event, error)
	LoadStream(ctx context.Context, stream string, r eventlog.Range) ([]eventlog.Event, error)
	Subscriptions(ctx context.Context) ([]eventlog.Bookmark, error)
	Parked(ctx context.Context, name string) ([]eventlog.Parked, error)
	Close() error
}

var (
	_ logView = (*eventlog.Log)(nil)
	_ logView = pairsOfLog{}
)

// pairsOfLog shows a log in SQL tables by the pairs that it is moved as (docs/formats.md): package
// sqllog would open it for writing. Each call reads all of one kind, and changes nothing.
type pairsOfLog struct{ db *kv.DB }

// pairOfLog is the line that a value begins with.
type pairOfLog struct {
	Position uint64            `json:"position"`
	Streams  bool              `json:"streams"`
	Stream   string            `json:"stream"`
	Version  uint64            `json:"version"`
	Type     string            `json:"type"`
	Time     int64             `json:"time"` // ns since 1970
	ID       string            `json:"id"`
	Meta     map[string]string `json:"meta"`
}

// each gives do the pairs whose keys begin with a kind, without that. Both slices are for the call
// alone.
func (l pairsOfLog) each(ctx context.Context, kind byte,
	do func(key []byte, line pairOfLog, behind []byte) error) error {
	return l.db.View(ctx, func(s *kv.Snapshot) error {
		return s.Each(kv.Prefix([]byte{kind}), func(k, v []byte) error {
			head, behind, _ := bytes.Cut(v, []byte("\n"))
			var line pairOfLog
			if err := json.Unmarshal(head, &line); err != nil {
				return fmt.Errorf("key %q: %w", k, err)
			}
			return do(k[1:], line, behind)
		})
	})
}

// Streams implements logView.
func (l pairsOfLog) Streams(ctx context.Context, prefix, after string, limit int) ([]eventlog.Stream, error) {
	versions, indexed := map[string]uint64{}, false
	err := l.each(ctx, 'a', func(_ []byte, line pairOfLog, _ []byte) error {
		indexed = line.Streams
		return nil
	})
	if err == nil && !indexed {
		return nil, &kv.Error{Op: "streams", Kind: kv.Unsupported, Err: errors.New("the log keeps no index of streams"),
			Hint: "its events are shown by: events"}
	}
	add := func(name string, version uint64) {
		if version > 0 && name > after && strings.HasPrefix(name, prefix) {
			versions[name] = max(versions[name], version)
		}
	}
	if err == nil {
		err = l.each(ctx, 'e', func(_ []byte, line pairOfLog, _ []byte) error {
			add(line.Stream, line.Version)
			return nil
		})
	}
	if err == nil {
		err = l.each(ctx, 's', func(key []byte, line pairOfLog, _ []byte) error {
			add(string(key), line.Version)
			return nil
		})
	}
	var all []eventlog.Stream
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		if all = append(all, eventlog.Stream{Name: name, Version: versions[name]}); len(all) == limit {
			break
		}
	}
	return all, err
}

// LastPosition implements logView.
func (l pairsOfLog) LastPosition(ctx context.Context) (last uint64, err error) {
	err = l.each(ctx, 'e', func(key []byte, _ pairOfLog, _ []byte) error {
		last, _ = kv.LastUint64(key)
		return nil
	})
	return last, err
}

// Load implements logView.
func (l pairsOfLog) Load(ctx context.Context, r eventlog.Range) ([]eventlog.Event, error) {
	return l.load(ctx, r, func(e eventlog.Event) (uint64, bool) { return e.Position, true })
}

// LoadStream implements logView.
func (l pairsOfLog) LoadStream(ctx context.Context, stream string, r eventlog.Range) ([]eventlog.Event, error) {
	return l.load(ctx, r, func(e eventlog.Event) (uint64, bool) { return e.Version, e.Stream == stream })
}

// load returns the events of which number says that they are wanted, from r.From on.
func (l pairsOfLog) load(ctx context.Context, r eventlog.Range, number func(eventlog.Event) (uint64, bool)) (
	list []eventlog.Event, err error) {
	enough := errors.New("enough")
	err = l.each(ctx, 'e', func(key []byte, line pairOfLog, data []byte) error {
		position, _ := kv.LastUint64(key)
		e := eventlog.Event{Position: position, Stream: line.Stream, Version: line.Version, Type: line.Type,
			Time: time.Unix(0, line.Time).UTC(), ID: line.ID, Meta: line.Meta}
		if n, ok := number(e); !ok || n < r.From {
			return nil
		}
		e.Data = bytes.Clone(data)
		list = append(list, e)
		switch {
		case len(list) == r.Limit && !r.Reverse:
			return enough
		case len(list) == 2*r.Limit: // the last ones are wanted
			list = append(list[:0], list[r.Limit:]...)
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	if r.Reverse {
		list = list[max(0, len(list)-cmp.Or(r.Limit, len(list))):]
		slices.Reverse(list)
	}
	return list, err
}

// Subscriptions implements logView.
func (l pairsOfLog) Subscriptions(ctx context.Context) (all []eventlog.Bookmark, err error) {
	err = l.each(ctx, 'b', func(key []byte, line pairOfLog, _ []byte) error {
		all = append(all, eventlog.Bookmark{Name: string(key), Position: line.Position})
		return nil
	})
	return all, err
}

// Parked implements logView.
func (l pairsOfLog) Parked(ctx context.Context, name string) (all []eventlog.Parked, err error) {
	err = l.each(ctx, 'p', func(key []byte, _ pairOfLog, cause []byte) error {
		of, rest, ok := kv.CutString(key)
		if position, isNumber := kv.LastUint64(rest); ok && isNumber && of == name {
			all = append(all, eventlog.Parked{Event: eventlog.Event{Position: position}, Err: string(cause)})
		}
		return nil
	})
	return all, err
}

// Close implements logView. Who opened the pairs closes them.
func (pairsOfLog) Close() error { return nil }
