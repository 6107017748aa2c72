package pairs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

func init() {
	driver.Register(logs)
	driver.Register(queues)
	driver.Register(feeds)
}

// options are those of a URL.
type options struct {
	form, prefix string
	feed         feed.Options
}

var table = driver.Table[options]{
	driver.Text("form", "sql|ENGINE", "what keeps the store: tables of an SQLite file, or the engine of that name",
		func(o *options) *string { return &o.form }).WithDefault("as the file's content says"),
	driver.Text("prefix", "KEY", "the store's keys in the engine's begin so",
		func(o *options) *string { return &o.prefix }),
}

// The forms that are no engine of keys.
const (
	inSQL   = "sql"
	inFiles = "margaret"
)

var caps = func() driver.Caps {
	c := driver.Caps{PureGo: true, Persistent: true, Modes: []driver.Mode{driver.Exclusive, driver.ReadOnly},
		SharedReading: true, Checks: true,
		ReadersBlockWriters: driver.Always, WritersBlockReaders: driver.Always} // as the strictest engine
	for d := range c.Promises {
		c.Promises[d] = driver.Promise{Supported: true, Class: driver.Synced, Intact: true, KillAtomic: true,
			PowerAtomic: true}
	}
	return c
}()

// Info describes the scheme.
func (k *kind) Info() driver.Info {
	return driver.Info{Name: k.name, Summary: k.summary, Modules: k.modules,
		Options: k.options.Options(options{}), Caps: caps, Forms: true, Companions: []string{"-wal", "-shm"}}
}

// Open opens the store in its form. One that is not there is made, if the form is named.
func (k *kind) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	var o options
	if err := k.options.Read(c.Params, &o); err != nil {
		return nil, err
	}
	_, err := os.Stat(c.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && c.Mode == driver.ReadOnly:
		return nil, &driver.Error{Kind: driver.NoStore, Err: err}
	case err != nil && !missing:
		return nil, err
	case missing && o.form == "":
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("there is no file whose content says what keeps the store"),
			Hint: "name it: " + k.name + ":PATH?form=" + k.apart + ", or form=bbolt or another engine"}
	case o.form == "":
		if o.form, err = k.formOf(ctx, c.Path); err != nil {
			return nil, err
		}
	}
	opened := &store{kind: k, caps: caps}
	if o.form == k.apart {
		if o.prefix != "" {
			return nil, &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("prefix %q of form %s", o.prefix, o.form),
				Hint: "it has no prefix: only keys have"}
		}
		opened.form, err = k.openApart(ctx, c, missing)
	} else {
		err = k.openEngine(ctx, c, o, opened)
	}
	if err != nil {
		return nil, err
	}
	if c.Mode == driver.ReadOnly {
		if err := opened.exists(ctx); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	return opened, nil
}

// exists refuses to read a place that holds other things and no store: it would be taken for an
// empty one.
func (s *store) exists(ctx context.Context) error {
	some := false
	err := driver.EachPair(ctx, s, func(_, _ []byte) error {
		some = true
		return errStop
	})
	if some || err != nil { // reading the rest tells what is wrong
		return nil
	}
	others, err := s.form.others(ctx)
	if err == nil && others {
		err = &driver.Error{Kind: driver.NotFound, Err: fmt.Errorf("there is no %s there, and there are other things", s.kind.name),
			Hint: "name the namespace that the program keeps it in: prefix=..."}
	}
	return err
}

// formOf tells by the content of a file what keeps the store.
func (k *kind) formOf(ctx context.Context, path string) (string, error) {
	found, err := detect.Path(path)
	if err != nil || found.Engine != "sqlite" || k.apart != inSQL {
		return found.Engine, err
	}
	has, err := k.inTables(ctx, path)
	if has {
		return inSQL, err
	}
	return found.Engine, err
}

// openEngine opens a store of an engine as the form of s.
func (k *kind) openEngine(ctx context.Context, c driver.Config, o options, s *store) error {
	d, ok := driver.Lookup(o.form)
	if _, same := d.(*kind); !ok || same || o.form == inFiles {
		return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("form %q is no engine of this program", o.form),
			Hint: "name " + k.apart + ", or an engine as bbolt"}
	}
	use := []kv.Option{kv.WithWait(0), kv.WithLogger(c.Logger)}
	if c.Mode == driver.ReadOnly && d.Info().Caps.Supports(driver.ReadOnly) {
		use = append(use, kv.WithMode(kv.ReadOnly))
	}
	opened, err := kv.Open(ctx, withPath(o.form, c.Path), use...)
	if err != nil {
		return err
	}
	db, err := opened.RequireAtomic()
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	if o.prefix != "" {
		db = db.Namespace([]byte(o.prefix))
	}
	s.form = &engineForm{kind: k, o: o, opened: opened, db: db}
	// of keys nothing is said: they are no longer than those that the store itself makes of them
	s.caps.MaxValue, s.caps.PureGo = opened.Caps().MaxValue, opened.Caps().PureGo
	return nil
}
