package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// file is the kv store that holds the buckets of one kind; for some engines it is a folder.
type file struct {
	store            *Store
	kind             Kind
	path             string
	fresh            string // where a new one is built
	url, freshURL    string // of path and of fresh
	line, sign       string // files of the line of those who want it
	class            kv.Durability
	reading, writing opening
	engine           driver.Info

	// looks: a call that reads must look at the file before it opens it, because opening would
	// create it, or because its mode matters.
	looks bool
}

func (f *file) init(s *Store, kind Kind, rawURL string, engine driver.Info) error {
	dir, err := kv.PathOf(rawURL)
	if err != nil {
		return err
	}
	name := s.options.fileName(kind)
	*f = file{store: s, kind: kind, path: filepath.Join(dir, name), engine: engine, class: s.options.Durability}
	if kind == Cache {
		f.class = kv.Flushed
	}
	f.fresh = filepath.Join(dir, freshPrefix+kind.String())
	f.url, f.freshURL = fileURL(rawURL, name), fileURL(rawURL, filepath.Base(f.fresh))
	f.line, f.sign = filepath.Join(dir, linePrefix+kind.String()), filepath.Join(dir, signPrefix+kind.String())
	options := []kv.Option{kv.WithWeakest(f.class), kv.WithLogger(s.options.Logger)}
	f.writing = newOpening(s.options.Wait, options...)
	f.reading = f.writing
	if engine.Caps.Supports(kv.ReadOnly) {
		f.reading = newOpening(s.options.Wait, append(options, kv.WithMode(kv.ReadOnly))...)
		f.reading.together = engine.Caps.SharedReading || engine.Caps.Supports(kv.Shared)
	}
	f.looks = kind == Secret || engine.Caps.Folder || !engine.Caps.Supports(kv.ReadOnly)
	return nil
}

// fileURL returns the URL of the file called name in the folder that rawURL names.
func fileURL(rawURL, name string) string {
	folder, query, found := strings.Cut(rawURL, "?")
	u := strings.TrimRight(folder, "/") + "/" + url.PathEscape(name)
	if found {
		u += "?" + query
	}
	return u
}

func (f *file) now() time.Time { return f.store.options.Now() }

// trouble is the error of a file that cannot be used as it is. Anything else that a call returns is
// its result.
type trouble struct{ error }

// attempt is which time a call is tried.
type attempt uint8

const (
	first attempt = iota
	alone         // after trouble, while the process has the folder's lock
	last          // after a repair
)

// view opens, runs fn and closes. From the second attempt on it opens for writing, as some engines
// cannot open a file read-only that a killed process left behind.
func (f *file) view(ctx context.Context, b *bucket, try attempt, fn func(*View) error) (err error) {
	if f.unmoved(false) != "" {
		return trouble{errUnmoved}
	}
	if f.looks || try > first {
		there, err := f.look()
		if err != nil {
			return err
		}
		if !there {
			return f.nothing(b, fn)
		}
	}
	how := f.reading
	if try > first {
		how = f.writing
	}
	db, p, err := f.open(ctx, try, how)
	defer func() { err = released(err, p.leave()) }()
	switch kv.KindOf(err) {
	case kv.NoStore:
		if _, serr := os.Stat(f.path); errors.Is(serr, fs.ErrNotExist) && !f.interrupted() {
			return f.nothing(b, fn)
		}
		return trouble{err}
	case kv.Permission, kv.NotWritable:
		if try == first { // SQLite: what a killed writer left in a journal is undone by one who may write
			return trouble{err}
		}
		return err
	default:
		if err != nil {
			return f.usable(err)
		}
	}
	c := viewing{fn: fn}
	c.view = View{access: &c.access, b: b}
	err = closing(db, func() error { return db.View(ctx, c.run) })
	if c.err == nil {
		err = f.waited(ctx, err)
	}
	if try == first && c.err == nil && kv.KindOf(err) == kv.NotWritable {
		return trouble{err}
	}
	return f.result(&c.access, err, c.err)
}

// viewing is one View: everything that it needs in one place.
type viewing struct {
	access
	view View
	fn   func(*View) error
	err  error // of fn
}

func (c *viewing) run(s *kv.Snapshot) error {
	defer c.end()
	c.s = s
	c.err = c.fn(&c.view)
	return c.err
}

// update opens, runs fn in a transaction and closes.
func (f *file) update(ctx context.Context, b *bucket, try attempt, fn func(*Tx) error) (err error) {
	if f.unmoved(false) != "" {
		return trouble{errUnmoved}
	}
	there, err := f.look()
	if err != nil {
		return err
	}
	if !there {
		return trouble{kv.NoStore}
	}
	db, p, err := f.open(ctx, try, f.writing)
	if err != nil {
		return f.usable(err)
	}
	defer func() { err = released(err, p.leave()) }()
	c := updating{fn: fn}
	c.tx.View = View{access: &c.access, b: b}
	err = closing(db, func() error { return db.Update(ctx, f.class, c.run) })
	if c.err == nil {
		err = f.waited(ctx, err)
	}
	return f.result(&c.access, err, c.err)
}

// updating is one Update: everything that it needs in one place.
type updating struct {
	access
	tx  Tx
	fn  func(*Tx) error
	err error // of fn
}

func (c *updating) run(tx *kv.Tx) error {
	defer c.end()
	c.s, c.tx.tx = tx.Snapshot, tx
	if c.err = c.fn(&c.tx); c.err == nil && c.damage == nil {
		c.err = c.tx.prune()
	}
	if c.err == nil && c.damage != nil {
		return c.damage // nothing must be committed on top of it
	}
	return c.err
}

// closing runs fn and closes db, even if fn panics: nobody else may be kept waiting for this
// process to end.
func closing(db *kv.DB, fn func() error) (err error) {
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	return fn()
}

// result returns what a call returns that met a.damage, whose function returned ferr, and which
// ended with err.
func (f *file) result(a *access, err, ferr error) error {
	damage := a.damage
	if damage == nil && err != nil && ferr == nil && errors.Is(err, kv.Corrupt) {
		damage = f.damaged(err)
	}
	switch {
	case damage == nil:
		return err
	case f.kind == Cache:
		return trouble{damage}
	case ferr != nil:
		return ferr
	}
	return damage
}

// look reports whether the file exists. An empty one is trouble: a file gets its name only when it
// is whole, so that an empty one was cut. A file of secrets that others may read is closed to them.
func (f *file) look() (bool, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.interrupted() {
			return false, trouble{kv.NoStore}
		}
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().IsRegular() && info.Size() == 0:
		return false, trouble{errCut}
	case f.kind == Secret && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		if err := os.Chmod(f.path, ownerOnly(info)); err != nil {
			return false, err
		}
		f.store.report(Incident{What: "mode tightened", Path: f.path,
			Err: fmt.Errorf("others had access: mode was %v", info.Mode())})
	}
	return true, nil
}

var errCut = &kv.Error{Op: "open", Kind: kv.Corrupt, Err: errors.New("the file is empty")}

func ownerOnly(info fs.FileInfo) fs.FileMode {
	if info.IsDir() {
		return 0o700
	}
	return 0o600
}

// openURL opens the file, a folder under the folder's lock: it cannot be replaced at one stroke,
// and who opens it in between would make another one.
func (f *file) openURL(ctx context.Context, needs []kv.Option) (db *kv.DB, err error) {
	if !f.engine.Caps.Folder {
		return openWhole(ctx, f.url, needs)
	}
	unlock, err := f.store.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = released(err, unlock()) }()
	if _, err := os.Stat(f.path); err != nil {
		return nil, err // Missing
	}
	return openWhole(ctx, f.url, needs)
}

// openWhole opens a store whose transactions a kill leaves whole: entries are kept in step with
// what describes them. One that is read needs no more.
func openWhole(ctx context.Context, url string, needs []kv.Option) (*kv.DB, error) {
	db, err := kv.Open(ctx, url, needs...)
	if err != nil || db.Mode() == kv.ReadOnly {
		return db, err
	}
	whole, err := db.RequireAtomic()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return whole, nil
}

// waited returns err, which if it is Busy says what was waited for.
func (f *file) waited(ctx context.Context, err error) error {
	switch kind := kv.KindOf(err); {
	case kind != kv.Busy && kind != kv.Canceled:
		return err
	case ctx.Err() != nil:
		return &kv.Error{Op: "open", Engine: f.engine.Name, Path: f.path, Kind: kv.Canceled, Err: ctx.Err()}
	}
	return &kv.Error{Op: "open", Engine: f.engine.Name, Path: f.path, Kind: kv.Busy,
		Err:  fmt.Errorf("another process kept it locked for %v", f.store.options.Wait),
		Hint: "keep what is done inside Update short, or set Options.Wait higher"}
}

// usable returns err, as trouble if it is about the content of the file.
func (f *file) usable(err error) error {
	if hopeless(err) {
		return trouble{err}
	}
	return err
}

// damaged returns err, which is Corrupt, with the file's name and the way to go on.
func (f *file) damaged(err error) error {
	e := &kv.Error{Op: "read", Err: err}
	var inner *kv.Error
	if errors.As(err, &inner) {
		c := *inner
		e = &c
	}
	e.Engine, e.Path, e.Kind = f.engine.Name, f.path, kv.Corrupt
	e.Hint = fmt.Sprintf("restore %s from a backup, or begin anew with: mv %[1]s %[1]s.damaged", f.path)
	return e
}
