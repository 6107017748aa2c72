package pairs

import (
	"context"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

var feeds = &kind{name: "feed", summary: "a feed in any of its forms, to be moved", apart: inFiles, openApart: openFiles,
	options: driver.Table[options]{
		driver.Whole("block", "BYTES", 0, "how much of a new feed is compressed together",
			func(o *options) *int { return &o.feed.Block }).WithDefault("16384"),
		driver.OneOf("compression", "of a new feed in keys",
			func(o *options) *feed.Compression { return &o.feed.Compression },
			driver.Named[feed.Compression]{Name: "plain", Value: feed.Plain},
			driver.Named[feed.Compression]{Name: "zstd", Value: feed.Zstd}),
		driver.Text("form", "margaret|ENGINE", "what keeps the feed: Margaret's files, or the engine of that name",
			func(o *options) *string { return &o.form }).WithDefault("as the content says"),
		table[1],
	},
	dumpKV: func(s *kv.Snapshot, emit func(k, v []byte) error) error {
		return feed.Dump(s, feedCodec.emitting(emit))
	},
	restoreKV: func(tx *kv.Tx, o *options) (restorer, error) {
		r, err := feed.NewRestorer(tx, &o.feed)
		return feedRestorer{r}, err
	},
}

var feedCodec = codec[feed.Item]{encodeFeed, decodeFeed}

// feedRestorer restores a feed in keys.
type feedRestorer struct{ *feed.Restorer }

// Put implements restorer.
func (r feedRestorer) Put(k, v []byte) error {
	p, err := decodeFeed(k, v)
	if err != nil {
		return err
	}
	return r.Restorer.Put(p)
}

// What keys of a feed begin with.
const (
	feedHead    = 'a'
	feedMessage = 'm'
)

// feedLine is what a value may have.
type feedLine struct {
	First  uint64 `json:"first,omitempty"`
	Erased bool   `json:"erased,omitempty"`
}

func encodeFeed(key []byte, p *feed.Item) (k, v []byte, err error) {
	if p.Head {
		v, err = line(&feedLine{First: p.Seq}, nil)
		return append(key, feedHead), v, err
	}
	v, err = line(&feedLine{Erased: p.Message == nil}, p.Message)
	return kv.AppendUint64(append(key, feedMessage), p.Seq), v, err
}

func decodeFeed(k, v []byte) (*feed.Item, error) {
	var l feedLine
	message, err := cutLine(v, &l)
	if err != nil {
		return nil, notAPair("feed", k, err)
	}
	seq, _ := kv.LastUint64(k)
	switch {
	case len(k) == 1 && k[0] == feedHead:
		return &feed.Item{Head: true, Seq: l.First}, nil
	case len(k) != 9 || k[0] != feedMessage:
		return nil, notAPair("feed", k, nil)
	case l.Erased:
		message = nil
	}
	return &feed.Item{Seq: seq, Message: message}, nil
}

// filesForm keeps a feed in Margaret's files.
type filesForm struct{ log *margaret.Log }

// openFiles opens the log in a folder.
func openFiles(ctx context.Context, c driver.Config, _ bool) (form, error) {
	log, err := margaret.Open(ctx, c.Path, &margaret.Options{Wait: margaret.NoWait,
		ReadOnly: c.Mode == driver.ReadOnly})
	if err != nil {
		return nil, err
	}
	return &filesForm{log}, nil
}

func (f *filesForm) begin(ctx context.Context, _ bool) (state, error) {
	n, err := f.log.Len(ctx)
	return &filesState{log: f.log, n: n}, err
}

func (f *filesForm) check(ctx context.Context) error    { return f.log.Check(ctx) }
func (*filesForm) others(context.Context) (bool, error) { return false, nil }
func (f *filesForm) close() error                       { return f.log.Close() }

// filesState is the first n messages, and those to come behind them.
type filesState struct {
	log   *margaret.Log
	n     uint64
	added [][]byte
}

func (s *filesState) dump(emit func(k, v []byte) error) error {
	give := feedCodec.emitting(emit)
	return s.log.View(context.Background(), func(r *feed.Snapshot) error {
		for seq, message := range r.Scan(0, s.n) {
			if err := give(&feed.Item{Seq: seq, Message: message}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *filesState) restore(k, v []byte) error {
	p, err := decodeFeed(k, v)
	if err != nil {
		return err
	}
	next := s.n + uint64(len(s.added))
	switch {
	case p.Head:
		return &driver.Error{Kind: driver.Unsupported,
			Err:  fmt.Errorf("the feed was trimmed before message %d, and Margaret's files begin with message 0", p.Seq),
			Hint: "keep it in keys: form=bbolt or another engine"}
	case p.Seq != next:
		return &driver.Error{Kind: driver.Conflict, Err: fmt.Errorf("message %d, and the next one is %d", p.Seq, next),
			Hint: "move the feed again, to another path"}
	}
	s.added = append(s.added, slices.Clone(p.Message))
	return nil
}

func (s *filesState) commit() error {
	if len(s.added) == 0 {
		return nil
	}
	_, err := s.log.Restore(s.added...)
	return err
}

func (s *filesState) close() error { return nil }
