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
	"github.com/assaydb/assay/stores/eventlog/sqlfeed"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
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
	_ feedStore = (*sqlFeed)(nil)
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
	case form == sqlForm && env.Engine == "sqlite":
		return newSQLFeed(env, options)
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
		f, err := s.feed(db)
		if err != nil {
			return err
		}
		return errors.Join(load(f), f.Close())
	})
	if err != nil {
		return nil, err
	}
	return s.feed(s.db)
}

func (s *kvFeed) feed(db *kv.DB) (*feed.Feed, error) {
	if s.littleEndian {
		return newLittleEndianFeed(db)
	}
	return feed.New(db, &s.options)
}

// sqlFeed keeps a feed in tables of an SQLite database.
type sqlFeed struct {
	*sqlEvents // what a database is, apart from its tables
	options    sqlfeed.Options
}

func newSQLFeed(env Env, options feed.Options) (*sqlFeed, error) {
	base, err := newSQLEvents(env, sqllog.Options{})
	if err != nil {
		return nil, err
	}
	return &sqlFeed{sqlEvents: base, options: sqlfeed.Options{Options: options, Pragmas: base.options.Pragmas}}, nil
}

func (s *sqlFeed) create(ctx context.Context, load func(*feed.Feed) error) (*feed.Feed, error) {
	f, err := sqlfeed.Open(ctx, s.path, &s.options)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(f), f.Close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if f, err = sqlfeed.Open(ctx, s.path, &s.options); err != nil {
		return nil, err
	}
	s.about.Open = time.Since(start)
	// sqlfeed: appends of class Synced are committed with synchronous = FULL, all others with NORMAL, in WAL mode.
	s.about.Promise = kv.Promise{Supported: true, Class: min(s.durability, kv.Flushed), Intact: true}
	if err := s.readSettings(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
