package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// TestPower: after a power cut every event whose append was acknowledged as synced is there, whole,
// in its place, appends are there as a whole or not at all, a bookmark is where it was left, and no
// position that anybody knows is used again.
func TestPower(t *testing.T) {
	synced := []kv.Durability{kv.Synced}
	mixed := []kv.Durability{kv.Buffered, kv.Synced, kv.Buffered} // for stores that are intact whatever is lost
	rarely := append(slices.Repeat([]kv.Durability{kv.Buffered}, 7),
		kv.Synced) // so that much is lost whose positions are known
	for _, c := range []struct {
		name string
		poweredLog
	}{
		{"bbolt", poweredLog{open: openKV("bbolt"), classes: synced, reserve: 8}},
		{"pebble", poweredLog{open: openKV("pebble"), classes: mixed, reserve: 8}},
		{"pebble, rarely synced", poweredLog{open: openKV("pebble"), classes: rarely, reserve: 8, unread: true}},
		{"sqlite, rarely synced", poweredLog{open: openKV("sqlite"), classes: rarely, reserve: 8, unread: true}},
		{"sqllog, rarely synced", poweredLog{open: openSQL, classes: rarely, reserve: 8, unread: true}},
		{"sqlite", poweredLog{open: openKV("sqlite"), classes: mixed, reserve: 8}},
		{"sqllog", poweredLog{open: openSQL, classes: mixed, reserve: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "bbolt" && c.name != "pebble, rarely synced" && c.name != "sqllog, rarely synced" {
				t.Skip("synced rarely, more is lost of it, and SQLite does the same with tables: without -short")
			}
			powertest.Run(t, c.power())
		})
	}
}

func TestPowerTakesWhatIsNotSynced(t *testing.T) {
	l := poweredLog{open: openKV("pebble"), classes: []kv.Durability{kv.Buffered}, unread: true}
	powertest.MustFail(t, powertest.Case[change]{Work: l.work,
		Check: func(dir string, h powertest.History[change]) error {
			for i := range h.Done {
				h.Done[i].Class = kv.Synced // as a program has it that takes one for the other
			}
			return l.check(dir, h)
		}}, 10)
}

// poweredLog is a log on a disk that loses power.
type poweredLog struct {
	open    func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error)
	classes []kv.Durability // of the appends, in turn
	reserve int             // positions; so few that they are used up, or 0 to sync once for all
	unread  bool            // there is no reader, for a subscription begins with a sync
}

func (l poweredLog) power() powertest.Case[change] {
	return powertest.Case[change]{Work: l.work, Check: l.check}
}

func openKV(engine string) func(string, eventlog.Options) (*eventlog.Log, func() error, error) {
	return func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
		return logtest.OpenKV(engine+":"+filepath.Join(dir, "log"), o)
	}
}

func openSQL(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
	log, err := sqllog.Open(context.Background(), filepath.Join(dir, "log"), &sqllog.Options{Options: o})
	if err != nil {
		return nil, nil, err
	}
	return log, log.Close, nil
}

func (l poweredLog) options() eventlog.Options {
	return eventlog.Options{Streams: true, Reserve: l.reserve}
}

// change is an append of Count events, an event that a reader saw, or how far a subscription was
// acknowledged.
type change struct {
	Append   string        `json:",omitempty"` // its events are called so, with their number behind it
	Stream   string        `json:",omitempty"`
	Count    int           `json:",omitempty"`
	Class    kv.Durability `json:",omitempty"`
	Position uint64        `json:",omitempty"` // of the first event
	Saw      string        `json:",omitempty"` // the event at Position
	Read     uint64        `json:",omitempty"` // up to it
}

const (
	poweredWriters = 2 // wait for each other, so that appends are committed together
	poweredAppends = 16
	reader         = "reader"
)

func (l poweredLog) work(dir string, say *powertest.Log[change]) error {
	log, closeAll, err := l.open(dir, l.options())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := make([]error, poweredWriters+1)
	var all sync.WaitGroup
	events := 0
	for w := range poweredWriters {
		for i := range poweredAppends {
			events += count(w, i)
		}
		all.Go(func() {
			if errs[w] = l.write(ctx, log, w, say); errs[w] != nil {
				cancel()
			}
		})
	}
	if !l.unread {
		all.Go(func() { errs[poweredWriters] = follow(ctx, log, events, say) })
	}
	all.Wait()
	return errors.Join(append(errs, closeAll())...)
}

func count(writer, i int) int { return 1 + (writer+i)%3 }

func (l poweredLog) write(ctx context.Context, log *eventlog.Log, w int, say *powertest.Log[change]) error {
	for i := range poweredAppends {
		c := change{Append: fmt.Sprintf("%d/%d", w, i), Stream: fmt.Sprint("stream ", i%2), Count: count(w, i),
			Class: l.classes[i%len(l.classes)]}
		say.Try(c)
		done, err := log.Append(ctx, c.Class, c.Stream, eventlog.Any, c.drafts()...)
		if err != nil {
			return err
		}
		c.Position = done.First
		say.Done(c)
	}
	return nil
}

func (c change) drafts() (drafts []eventlog.Draft) {
	for i := range c.Count {
		drafts = append(drafts, eventlog.Draft{Type: "T", Data: fmt.Appendf(nil, "%q", c.event(i)),
			Time: time.Unix(1e9, 0)})
	}
	return drafts
}

func (c change) event(i int) string { return fmt.Sprintf("%s/%d", c.Append, i) }

// follow reads until it has seen so many events.
func follow(ctx context.Context, log *eventlog.Log, events int, say *powertest.Log[change]) error {
	sub, err := log.Subscribe(ctx, reader)
	for n := 0; n < events && err == nil; {
		var some []eventlog.Event
		if some, err = sub.Next(ctx, 5); err != nil {
			break
		}
		for _, e := range some {
			say.Done(change{Saw: string(e.Data), Position: e.Position})
		}
		n += len(some)
		c := change{Read: some[len(some)-1].Position}
		say.Try(c)
		if err = sub.Ack(ctx, kv.Synced, c.Read); err == nil {
			say.Done(c)
		}
	}
	return err
}

// check looks twice: at what the power cut left, and once more after an append to it.
func (l poweredLog) check(dir string, h powertest.History[change]) error {
	for range 2 {
		log, closeAll, err := l.open(dir, l.options())
		if err != nil {
			return err
		}
		c, err := l.examine(log, h)
		if err = errors.Join(err, closeAll()); err != nil {
			return err
		}
		h.Tried, h.Done = append(h.Tried, c), append(h.Done, c)
	}
	return nil
}

// examine compares the log with the history, appends to it and returns that append.
func (l poweredLog) examine(log *eventlog.Log, h powertest.History[change]) (c change, err error) {
	ctx := context.Background()
	events, err := log.Load(ctx, eventlog.Range{})
	if err != nil {
		return c, err
	}
	at := map[uint64]string{}
	for _, e := range events {
		at[e.Position] = string(e.Data)
	}
	if err := errors.Join(whole(events, h.Tried), kept(at, h.Done), streams(ctx, log, events),
		bookmark(ctx, log, h)); err != nil {
		return c, err
	}
	c = change{Append: fmt.Sprintf("afterwards %d", len(events)), Stream: "stream 0", Count: 2}
	done, err := log.Append(ctx, c.Class, c.Stream, eventlog.Any, c.drafts()...)
	if err != nil {
		return c, err
	}
	c.Position = done.First
	for _, before := range h.Done {
		if last := before.Position + uint64(max(before.Count, 1)) - 1; c.Position <= last {
			return c, fmt.Errorf("position %d is given out again: %+v", c.Position, before)
		}
	}
	return c, nil
}

// whole checks that events are those of whole appends that were tried, each once, with its events
// side by side.
func whole(events []eventlog.Event, tried []change) error {
	appends := map[string]change{}
	for _, c := range tried {
		if c.Append != "" {
			appends[fmt.Sprintf("%q", c.event(0))] = c
		}
	}
	for i := 0; i < len(events); {
		first := events[i]
		c, ok := appends[string(first.Data)]
		if !ok || i+c.Count > len(events) {
			return fmt.Errorf("event %d, %s, is no append, or part of one", first.Position, first.Data)
		}
		delete(appends, string(first.Data))
		for j, d := range c.drafts() {
			e := events[i+j]
			if e.Position != first.Position+uint64(j) || string(e.Data) != string(d.Data) || e.Stream != c.Stream ||
				e.Type != d.Type || !e.Time.Equal(d.Time) {
				return fmt.Errorf("event %d of append %s is %+v", j, c.Append, e)
			}
		}
		i += c.Count
	}
	return nil
}

// kept checks that what was acknowledged as synced is at its position, and that no known position
// holds anything else.
func kept(at map[uint64]string, done []change) error {
	for _, c := range done {
		for i := range c.Count {
			position, want := c.Position+uint64(i), fmt.Sprintf("%q", c.event(i))
			if got, ok := at[position]; ok && got != want || !ok && c.Class == kv.Synced {
				return fmt.Errorf("position %d holds %q, acknowledged as %v was %s", position, got, c.Class, want)
			}
		}
		if got, ok := at[c.Position]; c.Saw != "" && ok && got != c.Saw {
			return fmt.Errorf("position %d holds %s, and was seen to be %s", c.Position, got, c.Saw)
		}
	}
	return nil
}

// streams checks that the index of streams agrees with the log.
func streams(ctx context.Context, log *eventlog.Log, events []eventlog.Event) error {
	of := map[string][]eventlog.Event{"stream 0": nil, "stream 1": nil}
	for _, e := range events {
		of[e.Stream] = append(of[e.Stream], e)
	}
	for name, want := range of {
		got, err := log.LoadStream(ctx, name, eventlog.Range{})
		if err != nil {
			return err
		}
		if len(got) != len(want) {
			return fmt.Errorf("%s has %d events, the log %d of it", name, len(got), len(want))
		}
		for i, e := range got {
			if e.Version != uint64(i+1) || e.Position != want[i].Position || string(e.Data) != string(want[i].Data) {
				return fmt.Errorf("event %d of %s is %+v, in the log %+v", i, name, e, want[i])
			}
		}
	}
	return nil
}

// bookmark checks that the subscription is as far as it was acknowledged, and no further than was
// tried.
func bookmark(ctx context.Context, log *eventlog.Log, h powertest.History[change]) error {
	var least, most uint64
	for _, c := range h.Done {
		least = max(least, c.Read)
	}
	for _, c := range h.Tried {
		most = max(most, c.Read)
	}
	marks, err := log.Subscriptions(ctx)
	at := uint64(0)
	for _, m := range marks {
		at = m.Position
	}
	if err == nil && (at < least || at > most) {
		err = fmt.Errorf("the subscription is at %d, acknowledged were %d, tried %d", at, least, most)
	}
	return err
}
