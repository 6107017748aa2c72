package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/record"
)

// absentStore says that a store is not where it was looked for.
func absentStore(db *kv.DB, what string) error {
	return &kv.Error{Op: "inspect", Engine: db.Engine(), Path: db.Path(), Kind: kv.NotFound,
		Err:  errors.New("no " + what + " there"),
		Hint: "one that is in a namespace needs --namespace"}
}

// logMeta is what describes a log in keys: see stores/eventlog.
type logMeta struct {
	Format  int  `json:"format"`
	Streams bool `json:"streams"`
}

// metaOfLog reads what describes the event log in db.
func metaOfLog(ctx context.Context, db *kv.DB) (meta logMeta, err error) {
	text, err := db.Get(ctx, []byte("m"))
	switch {
	case errors.Is(err, kv.NotFound):
		return meta, absentStore(db, "event log")
	case err != nil:
		return meta, err
	case json.Unmarshal(text, &meta) != nil || meta.Format == 0:
		return meta, absentStore(db, "event log")
	}
	return meta, nil
}

// openLog opens the event log in db, as it was made.
func openLog(ctx context.Context, db *kv.DB) (logView, error) {
	if db.Engine() == "log" {
		return pairsOfLog{db}, nil
	}
	meta, err := metaOfLog(ctx, db)
	if err != nil {
		return nil, err
	}
	return eventlog.Open(ctx, db, &eventlog.Options{Streams: meta.Streams})
}

// withLog runs do with the event log in db.
func withLog(ctx context.Context, db *kv.DB, do func(l logView) error) error {
	l, err := openLog(ctx, db)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

// streams lists the streams of a log.
func (a *app) streams(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	return withLog(ctx, db, func(l logView) error {
		limit := cmp.Or(f.limit, mostShown)
		list, err := l.Streams(ctx, strings.Join(operands, ""), "", limit)
		if err != nil {
			return err
		}
		last, err := l.LastPosition(ctx)
		if err != nil {
			return err
		}
		if f.asJSON {
			shown := []map[string]any{}
			for _, s := range list {
				shown = append(shown, map[string]any{"stream": s.Name, "version": s.Version})
			}
			return writeJSON(a.stdout, map[string]any{"last_position": last, "streams": shown})
		}
		t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "stream\tversion")
		for _, s := range list {
			fmt.Fprintf(t, "%q\t%d\n", s.Name, s.Version)
		}
		fmt.Fprintf(t, "last position of the log\t%d\n", last)
		a.mayBeMore(len(list), limit)
		return t.Flush()
	})
}

// mayBeMore says that a list was cut.
func (a *app) mayBeMore(n, limit int) {
	if n == limit {
		fmt.Fprintf(a.stderr, "there may be more than these %d: --limit shows as many as it says\n", limit)
	}
}

// eventShown is an event as --json shows it.
type eventShown struct {
	Position uint64            `json:"position"`
	Stream   string            `json:"stream,omitempty"`
	Version  uint64            `json:"version,omitempty"`
	Type     string            `json:"type"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"id,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	Data     *string           `json:"data,omitempty"`        // if it is UTF-8
	Bytes    []byte            `json:"data_base64,omitempty"` // otherwise
}

func newEventShown(e eventlog.Event) eventShown {
	s := eventShown{Position: e.Position, Stream: e.Stream, Version: e.Version, Type: e.Type, Time: e.Time, ID: e.ID,
		Meta: e.Meta}
	s.Data, s.Bytes = textOrBytes(e.Data)
	return s
}

// events shows events of a log, or of one of its streams.
func (a *app) events(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	r := eventlog.Range{Limit: cmp.Or(f.limit, mostShown), Reverse: f.reverse}
	if f.from != "" {
		var err error
		if r.From, err = strconv.ParseUint(f.from, 10, 64); err != nil {
			return usage(fmt.Errorf("--from %s is no position", f.from), "give the number of an event")
		}
	}
	return withLog(ctx, db, func(l logView) (err error) {
		var list []eventlog.Event
		if len(operands) > 0 {
			list, err = l.LoadStream(ctx, operands[0], r)
		} else {
			list, err = l.Load(ctx, r)
		}
		if err != nil {
			return err
		}
		if f.asJSON {
			enc := json.NewEncoder(a.stdout)
			for _, e := range list {
				if err := enc.Encode(newEventShown(e)); err != nil {
					return err
				}
			}
			return nil
		}
		t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "position\tstream\tversion\ttype\ttime\tdata")
		for _, e := range list {
			fmt.Fprintf(t, "%d\t%q\t%d\t%q\t%s\t%s\n", e.Position, e.Stream, e.Version, e.Type,
				e.Time.Format(time.RFC3339), short(string(e.Data)))
		}
		a.mayBeMore(len(list), r.Limit)
		return t.Flush()
	})
}

// subscriptions shows who follows a log.
func (a *app) subscriptions(ctx context.Context, db *kv.DB, _ []string, f inspectFlags) error {
	return withLog(ctx, db, func(l logView) error {
		last, err := l.LastPosition(ctx)
		if err != nil {
			return err
		}
		marks, err := l.Subscriptions(ctx)
		if err != nil {
			return err
		}
		type shown struct {
			Name     string `json:"name"`
			Position uint64 `json:"position"`
			Behind   uint64 `json:"behind"` // positions
			Parked   int    `json:"parked"`
		}
		list := []shown{}
		for _, m := range marks {
			parked, err := l.Parked(ctx, m.Name)
			if err != nil {
				return err
			}
			list = append(list, shown{m.Name, m.Position, last - min(last, m.Position), len(parked)})
		}
		if f.asJSON {
			return writeJSON(a.stdout, map[string]any{"last_position": last, "subscriptions": list})
		}
		t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "subscription\tposition\tbehind\tparked")
		for _, s := range list {
			fmt.Fprintf(t, "%q\t%d\t%d\t%d\n", s.Name, s.Position, s.Behind, s.Parked)
		}
		return t.Flush()
	})
}

// collection is a collection of records as it describes itself: see stores/record.
type collection struct {
	Name    string `json:"name"`
	Records int64  `json:"records"`
	Codec   string `json:"codec"`
	ID      string `json:"id"`
	Fields  []struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"fields"`
	Indexes []struct {
		Name     string   `json:"name"`
		Fields   []string `json:"fields"`
		Unique   bool     `json:"unique,omitempty"`
		Building bool     `json:"building,omitempty"`
	} `json:"indexes,omitempty"`
}

// readCollection reads what is in s, the namespace of a collection; ok is false if there is none.
func readCollection(s *kv.Snapshot, name string) (c collection, ok bool, err error) {
	text, err := s.Get([]byte("h"))
	if errors.Is(err, kv.NotFound) {
		return c, false, nil
	}
	if err != nil || json.Unmarshal(text, &c) != nil || c.Codec == "" {
		return c, false, err
	}
	c.Name = name
	for range s.Keys(kv.Prefix([]byte("r"))) {
		c.Records++
	}
	return c, true, s.Err()
}

// readCollections returns those of a store: the one without a name, and those with names.
func readCollections(s *kv.Snapshot) (list []collection, err error) {
	c, ok, err := readCollection(s, "")
	if ok {
		list = append(list, c)
	}
	for r := kv.Prefix([]byte("c")); err == nil; {
		var prefix []byte
		var name string
		for k := range s.Keys(r) {
			if bytes.IndexByte(k, 0) < 0 {
				continue // no text ends in it
			}
			if n, rest, is := kv.CutString(k[1:]); is {
				prefix, name = bytes.Clone(k[:len(k)-len(rest)]), n
				break
			}
		}
		if prefix == nil {
			return list, s.Err()
		}
		if c, ok, err = readCollection(s.Namespace(prefix), name); ok {
			list = append(list, c)
		}
		if r.Start = kv.PrefixEnd(prefix); r.Start == nil {
			break
		}
	}
	return list, err
}

// collections shows the collections of records in a store.
func (a *app) collections(ctx context.Context, db *kv.DB, _ []string, f inspectFlags) error {
	var list []collection
	err := db.View(ctx, func(s *kv.Snapshot) (err error) {
		list, err = readCollections(s)
		return err
	})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return absentStore(db, "collection of records")
	}
	if f.asJSON {
		return writeJSON(a.stdout, map[string]any{"collections": list})
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for i, c := range list {
		if i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "collection\t%q\nrecords\t%d\ncodec\t%s\n", c.Name, c.Records, c.Codec)
		for _, field := range c.Fields {
			what := field.Kind
			if field.Name == c.ID {
				what += ", the id"
			}
			fmt.Fprintf(t, "field %s\t%s\n", field.Name, what)
		}
		for _, index := range c.Indexes {
			what := strings.Join(index.Fields, ", ")
			if index.Unique {
				what += ", unique"
			}
			if index.Building {
				what += ", being built"
			}
			fmt.Fprintf(t, "index %s\t%s\n", index.Name, what)
		}
	}
	return t.Flush()
}

// records shows the records of a collection.
func (a *app) records(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	name := strings.Join(operands, "")
	limit, n := cmp.Or(f.limit, mostShown), 0
	enough := errors.New("enough")
	err := db.View(ctx, func(s *kv.Snapshot) error {
		return record.Dump(s, name, f.reverse, func(fields []record.Item) error {
			if n++; n > limit {
				return enough
			}
			line := []byte{'{'}
			for i, field := range fields {
				if i > 0 {
					line = append(line, ',')
				}
				line = append(append(strconv.AppendQuote(line, field.Name), ':'), field.Value...)
			}
			_, err := a.stdout.Write(append(line, "}\n"...))
			return err
		})
	})
	switch {
	case errors.Is(err, enough):
		a.mayBeMore(limit, limit)
		return nil
	case errors.Is(err, kv.NotFound):
		what := "collection of records"
		if name != "" {
			what = fmt.Sprintf("collection %q", name)
		}
		return absentStore(db, what)
	}
	return err
}
