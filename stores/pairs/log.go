package pairs

import (
	"bytes"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

var logs = newKind("log", "an event log in any of its forms, to be moved", "eventlog",
	codec[eventlog.Item]{encodeLog, decodeLog}, eventlog.Dump, eventlog.Restore,
	sqllog.Dump, sqllog.Restore, sqllog.Create)

// logKinds are what keys begin with.
var logKinds = []byte{eventlog.HeadItem: 'a', eventlog.BookmarkItem: 'b', eventlog.EventItem: 'e', eventlog.IDItem: 'i',
	eventlog.LeaseItem: 'l', eventlog.ParkedItem: 'p', eventlog.EndedItem: 's'}

// logLine is what a value of any kind may have.
type logLine struct {
	Position uint64            `json:"position,omitempty"`
	Streams  bool              `json:"streams,omitempty"`
	Stream   string            `json:"stream,omitempty"`
	Version  uint64            `json:"version,omitempty"`
	Type     string            `json:"type,omitempty"`
	Time     int64             `json:"time,omitempty"`
	ID       string            `json:"id,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	Sum      uint32            `json:"sum,omitempty"`
	Holder   string            `json:"holder,omitempty"`
	Until    int64             `json:"until,omitempty"`
}

func encodeLog(key []byte, p *eventlog.Item) (k, v []byte, err error) {
	key = append(key, logKinds[p.Kind])
	l := logLine{Position: p.Position, Version: p.Version, Sum: p.Sum, Holder: p.Holder, Until: p.Until}
	texts, behind := []string{p.Holder}, []byte(p.Cause)
	switch p.Kind {
	case eventlog.HeadItem:
		l.Streams = p.Streams
	case eventlog.EventItem:
		e := &p.Event
		key = kv.AppendUint64(key, e.Position)
		l = logLine{Stream: e.Stream, Version: e.Version, Type: e.Type, Time: e.Time.UnixNano(), ID: e.ID, Meta: e.Meta}
		texts, behind = append(texts, e.Stream, e.Type, e.ID), e.Data
		for k, v := range e.Meta {
			texts = append(texts, k, v)
		}
	case eventlog.ParkedItem:
		key = kv.AppendUint64(kv.AppendString(key, p.Name), p.Position)
		l.Position = 0
	case eventlog.EndedItem:
		key, l.Position = append(key, p.Name...), 0 // where it was no form but one says
	default:
		key = append(key, p.Name...)
	}
	v, err = line(&l, behind, texts...)
	return key, v, err
}

func decodeLog(k, v []byte) (*eventlog.Item, error) {
	n := bytes.IndexByte(logKinds, k[0])
	if n < 0 {
		return nil, notAPair("log", k, nil)
	}
	var l logLine
	behind, err := cutLine(v, &l)
	if err != nil {
		return nil, notAPair("log", k, err)
	}
	p := &eventlog.Item{Kind: eventlog.ItemKind(n), Name: string(k[1:]), Position: l.Position, Version: l.Version,
		Streams: l.Streams, Sum: l.Sum, Holder: l.Holder, Until: l.Until}
	switch p.Kind {
	case eventlog.EventItem:
		position, ok := kv.LastUint64(k[1:])
		if !ok || len(k) != 9 {
			return nil, notAPair("log", k, nil)
		}
		p.Event = eventlog.Event{Position: position, Stream: l.Stream, Version: l.Version, Type: l.Type, Data: behind,
			Time: time.Unix(0, l.Time).UTC(), ID: l.ID, Meta: l.Meta}
	case eventlog.ParkedItem:
		name, rest, ok := kv.CutString(k[1:])
		position, isNumber := kv.LastUint64(rest)
		if !ok || !isNumber || len(rest) != 8 {
			return nil, notAPair("log", k, nil)
		}
		p.Name, p.Position, p.Cause = strings.Clone(name), position, string(behind)
	}
	return p, nil
}
