package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

// feedStore keeps the feed, in one of the forms.
type feedStore interface {
	// create lets load fill a new feed, and opens it again, timed.
	create(ctx context.Context, load func(*feed.Feed) error) (*feed.Feed, error)

	Describe() Description
	Size() (kv.Size, error)
	Compact(ctx context.Context) error
	Close() error // after the feed was closed
}

var (
	_ feedStore = (*kvFeed)(nil)
	_ feedStore = (*margaretFeed)(nil)
)

// newFeedStore returns what keeps the feed in the form of env, of which "" is kv.
func newFeedStore(env Env, options feed.Options, littleEndian bool) (feedStore, error) {
	form := env.Form
	if form == "" {
		form = "kv"
	}
	switch {
	case littleEndian && form != "kv" && form != margaretForm: // which has no keys
		return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Unsupported,
			Err: fmt.Errorf("variant le-keys in the form %s", form), Hint: "use the form kv"}
	case form == margaretForm && env.Engine == margaretForm:
		return &margaretFeed{env: env}, nil
	case (form == "kv" || form == zstdForm) && env.Engine != margaretForm:
		return &kvFeed{kvStore: newKVStore(env), options: options, littleEndian: littleEndian}, nil
	}
	return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: fmt.Errorf("form %q", env.Form),
		Hint: "use " + strings.Join(feedForms(env.Engine, env.Options), " or ")}
}

// kvFeed keeps a feed in an engine of kv.
type kvFeed struct {
	kvStore
	options      feed.Options
	littleEndian bool
}

func (s *kvFeed) create(ctx context.Context, load func(*feed.Feed) error) (*feed.Feed, error) {
	err := s.kvStore.create(ctx, func(db *kv.DB) error {
		f, err := s.feed(ctx, db)
		if err != nil {
			return err
		}
		return errors.Join(load(f), f.Close())
	})
	if err != nil {
		return nil, err
	}
	return s.feed(ctx, s.db)
}

func (s *kvFeed) feed(ctx context.Context, db *kv.DB) (*feed.Feed, error) {
	if s.littleEndian {
		return newLittleEndianFeed(db)
	}
	return feed.Open(ctx, db, &s.options)
}

// margaretFeed keeps a feed in the files of Margaret's log format.
type margaretFeed struct {
	env   Env
	log   *margaret.Log
	about Description
}

func (s *margaretFeed) create(ctx context.Context, load func(*feed.Feed) error) (*feed.Feed, error) {
	dir := filepath.Join(s.env.Dir, "store")
	log, err := margaret.Open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(log.Feed), log.Close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if s.log, err = margaret.Open(ctx, dir, nil); err != nil {
		return nil, err
	}
	s.about = Description{
		Open:     time.Since(start),
		Promise:  margaret.Promises[s.env.Durability],
		Settings: []kv.Setting{{Name: "format", Value: "offset2"}},
	}
	return s.log.Feed, nil
}

// Describe tells what the log was when it was created.
func (s *margaretFeed) Describe() Description { return s.about }

// Size returns the space that the files take.
func (s *margaretFeed) Size() (kv.Size, error) { return s.log.Size() }

// Compact does nothing: there is nothing in a log to give back.
func (s *margaretFeed) Compact(context.Context) error { return nil }

// Close does nothing: the feed's Close closed the log.
func (s *margaretFeed) Close() error { return nil }
