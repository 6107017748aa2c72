package feed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

// TestPower: after a power cut every message whose append was acknowledged as synced is there, byte
// for byte, under its number; appends are there as a whole or not at all; numbers have no gaps; and
// the feed goes on from its end.
func TestPower(t *testing.T) {
	synced := []kv.Durability{kv.Synced}
	mixed := []kv.Durability{kv.Buffered, kv.Synced, kv.Buffered} // for stores that are intact whatever is lost
	for _, c := range []struct {
		name string
		poweredFeed
	}{
		{"bbolt", poweredFeed{openKV("bbolt", nil), synced}},
		{"pebble", poweredFeed{openKV("pebble", nil), mixed}},
		{"sqlite", poweredFeed{openKV("sqlite", nil), mixed}},
		{"bbolt in blocks", poweredFeed{openKV("bbolt", small), synced}},
		{"pebble in blocks", poweredFeed{openKV("pebble", small), mixed}},
		{"sqlite in blocks", poweredFeed{openKV("sqlite", small), mixed}},
		{"margaret", poweredFeed{openMargaret, synced}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && (c.name == "bbolt" || c.name == "pebble" || c.name == "sqlite") {
				t.Skip("in blocks it does all that, and more")
			}
			powertest.Run(t, c.power())
		})
	}
}

func TestPowerTakesWhatIsNotSynced(t *testing.T) {
	for name, open := range map[string]opener{"pebble": openKV("pebble", small), "margaret": openMargaret} {
		t.Run(name, func(t *testing.T) {
			f := poweredFeed{open, []kv.Durability{kv.Buffered}}
			powertest.MustFail(t, powertest.Case[batch]{Work: f.work,
				Check: func(dir string, h powertest.History[batch]) error {
					for i := range h.Done {
						h.Done[i].Class = kv.Synced // as a program has it that takes one for the other
					}
					return f.check(dir, h)
				}}, 10)
		})
	}
}

type opener func(dir string) (*feed.Feed, func() error, error)

func openKV(engine string, o *feed.Options) opener {
	return func(dir string) (*feed.Feed, func() error, error) {
		return feedtest.OpenKV(engine+":"+filepath.Join(dir, "feed"), o)
	}
}

func openMargaret(dir string) (*feed.Feed, func() error, error) {
	log, err := margaret.Open(context.Background(), filepath.Join(dir, "feed"), nil)
	if err != nil {
		return nil, nil, err
	}
	return log.Feed, func() error { return errors.Join(log.Check(context.Background()), log.Close()) }, nil
}

// poweredFeed is a feed on a disk that loses power.
type poweredFeed struct {
	open    opener
	classes []kv.Durability // of the appends, in turn
}

func (f poweredFeed) power() powertest.Case[batch] {
	return powertest.Case[batch]{Work: f.work, Check: f.check}
}

// batch is an append of Count messages.
type batch struct {
	Name  string
	Count int
	Class kv.Durability
	First uint64 // sequence, once it is known
}

// messages are between 20 bytes and 2 KB each. All tell the append.
func (b batch) messages() (list [][]byte) {
	for i := range b.Count {
		list = append(list, bytes.Repeat(fmt.Appendf(nil, "%s: %d ", b.Name, i), 2+(len(b.Name)+7*b.Count+i)%90))
	}
	return list
}

const (
	poweredWriters = 2
	poweredAppends = 16
)

var poweredSizes = []int{1, 2, 1, 9, 1, 1, 3}

func (f poweredFeed) work(dir string, say *powertest.Log[batch]) error {
	feed, closeAll, err := f.open(dir)
	if err != nil {
		return err
	}
	errs := make([]error, poweredWriters)
	var all sync.WaitGroup
	for w := range poweredWriters {
		all.Go(func() {
			for i := range poweredAppends {
				b := batch{Name: fmt.Sprintf("%d/%d", w, i), Count: poweredSizes[(w+i)%len(poweredSizes)],
					Class: f.classes[i%len(f.classes)]}
				say.Try(b)
				if b.First, errs[w] = feed.Append(context.Background(), b.Class, b.messages()...); errs[w] != nil {
					return
				}
				say.Done(b)
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, closeAll())...)
}

// check looks twice: at what the power cut left, and once more after an append to it.
func (f poweredFeed) check(dir string, h powertest.History[batch]) error {
	for range 2 {
		feed, closeAll, err := f.open(dir)
		if err != nil {
			return err
		}
		b, err := examine(feed, h)
		if err = errors.Join(err, closeAll()); err != nil {
			return err
		}
		h.Tried, h.Done = append(h.Tried, b), append(h.Done, b)
	}
	return nil
}

// examine compares the feed with the history, appends to it and returns that append.
func examine(f *feed.Feed, h powertest.History[batch]) (b batch, err error) {
	ctx := context.Background()
	var found [][]byte
	err = f.View(ctx, func(s *feed.Snapshot) error {
		for _, m := range s.Scan(0, s.Len()) {
			found = append(found, bytes.Clone(m))
		}
		if s.Err() == nil && uint64(len(found)) != s.Len() {
			return fmt.Errorf("%d messages, the feed says %d", len(found), s.Len())
		}
		return nil
	})
	if err = errors.Join(err, whole(found, h.Tried)); err != nil {
		return b, err
	}
	for _, b := range h.Done {
		there := b.First+uint64(b.Count) <= uint64(len(found)) &&
			slices.EqualFunc(found[b.First:][:b.Count], b.messages(), bytes.Equal)
		if b.Class == kv.Synced && !there {
			return b, fmt.Errorf("append %s, acknowledged as synced, is not at %d of %d", b.Name, b.First, len(found))
		}
	}
	b = batch{Name: fmt.Sprint("afterwards ", len(found)), Count: 3}
	if b.First, err = f.Append(ctx, b.Class, b.messages()...); err == nil && b.First != uint64(len(found)) {
		err = fmt.Errorf("an append to %d messages begins at %d", len(found), b.First)
	}
	return b, err
}

// whole checks that the messages are those of whole appends that were tried, each once.
func whole(found [][]byte, tried []batch) error {
	appends := map[string]batch{}
	for _, b := range tried {
		appends[b.Name] = b
	}
	for i := 0; i < len(found); {
		name, _, _ := bytes.Cut(found[i], []byte(": "))
		b, ok := appends[string(name)]
		if !ok || i+b.Count > len(found) || !slices.EqualFunc(found[i:][:b.Count], b.messages(), bytes.Equal) {
			return fmt.Errorf("messages from %d on, %.40q, are no append, or part of one", i, found[i])
		}
		delete(appends, string(name))
		i += b.Count
	}
	return nil
}
