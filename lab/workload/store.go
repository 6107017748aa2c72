package workload

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
)

// url returns the URL of the store called name in the folder of e.
func (e Env) url(name string) string {
	path := url.URL{Path: filepath.ToSlash(filepath.Join(e.Dir, name))}
	u := e.Engine + ":" + path.EscapedPath()
	if e.Options != "" {
		u += "?" + e.Options
	}
	return u
}

// kvStore is what the Runners on one kv store have in common: everything but Prepare, Do and
// Verify. Embed it, call create in Setup, and set closed before that if the iterations open the
// store themselves.
type kvStore struct {
	env    Env
	url    string
	needs  []kv.Option
	db     *kv.DB // nil while the store is closed
	closed bool   // the store is closed between two calls
	about  Description
}

func newKVStore(env Env) kvStore {
	s := kvStore{env: env, url: env.url("store"), needs: []kv.Option{kv.WithWeakest(env.Durability)}}
	if env.Logger != nil {
		s.needs = append(s.needs, kv.WithLogger(env.Logger))
	}
	return s
}

// open opens the store for the caller, who closes it.
func (s *kvStore) open(ctx context.Context) (*kv.DB, error) { return kv.Open(ctx, s.url, s.needs...) }

// create creates the store, lets load fill it, and opens it again, timed; unless closed is set it
// then stays open. A store that does not outlive Close is not opened again, and Open is zero.
func (s *kvStore) create(ctx context.Context, load func(*kv.DB) error) error {
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := load(db); err != nil {
		return errors.Join(err, db.Close())
	}
	var took time.Duration
	if db.Caps().Persistent { // a store in memory would be empty
		if err := db.Close(); err != nil {
			return err
		}
		start := time.Now()
		if db, err = s.open(ctx); err != nil {
			return err
		}
		took = time.Since(start)
	}
	s.about = Description{
		Open:     took,
		Promise:  db.Caps().Promise(s.env.Durability),
		Settings: db.Settings(),
	}
	if s.closed {
		return db.Close()
	}
	s.db = db
	return nil
}

// with runs fn on the open store, which it opens and closes for that if it is not.
func (s *kvStore) with(ctx context.Context, fn func(*kv.DB) error) error {
	if s.db != nil {
		return fn(s.db)
	}
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// Describe tells what the store was when it was created.
func (s *kvStore) Describe() Description { return s.about }

// Size returns the space that the store takes.
func (s *kvStore) Size() (size kv.Size, err error) {
	err = s.with(context.Background(), func(db *kv.DB) error {
		size, err = db.Size()
		return err
	})
	return size, err
}

// Compact compacts the store.
func (s *kvStore) Compact(ctx context.Context) error {
	return s.with(ctx, func(db *kv.DB) error { return db.Compact(ctx) })
}

// Close closes the store if it is open.
func (s *kvStore) Close() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// loadBatch is how many records a commit of loading holds; the largest transactions of Badger are
// above that.
const loadBatch = 1000

// fill puts n records into db in the order of i, each batch one commit of the class of the store's
// environment.
func (s *kvStore) fill(ctx context.Context, db *kv.DB, n int, record func(i int, b *kv.Batch)) error {
	var b kv.Batch
	for i := range n {
		record(i, &b)
		if b.Len() < loadBatch && i < n-1 {
			continue
		}
		if err := db.Write(ctx, s.env.Durability, &b); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}
