package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
)

// DefaultWait is how long Open waits for another process's lock when nothing else was said.
const DefaultWait = 10 * time.Second

// discard is the logger of programs that want none.
var discard = slog.New(slog.DiscardHandler)

// Option says how to open a store, or what it must be able to do. Options override the URL's
// parameters.
type Option func(*request)

type request struct {
	info   driver.Info
	path   string // as the program wrote it
	config driver.Config
	mode   *Mode
	wait   time.Duration
	tracer Tracer
	must   []Durability
}

// WithMode asks for a mode. Without it the engine's default holds, which is always safe: Exclusive
// where the engine locks the store for one process, Shared where several processes may work on it.
func WithMode(m Mode) Option { return func(r *request) { r.mode = &m } }

// WithWeakest says which class is the weakest that the program will ask for; without it that is
// Synced. Engines that fix durability when they open (Badger) use it: opened with Synced they sync
// every commit, opened with Flushed they never do and refuse Synced. The URL parameter is
// durability=synced|flushed|buffered.
func WithWeakest(d Durability) Option { return func(r *request) { r.config.Weakest = d } }

// WithWait sets how long Open, and every later call, waits for a lock of another process; a call's
// context may end it earlier. Zero tries once. The URL parameter is wait=2s. It does not bound the
// wait for a writer's turn within this process: that comes in order, and only the context ends it.
// How long a transaction that is Aborted runs again stands at DB.Update.
func WithWait(d time.Duration) Option { return func(r *request) { r.wait = d } }

// WithLogger receives what the engine reports in the background. Without it such reports are
// dropped.
func WithLogger(l *slog.Logger) Option { return func(r *request) { r.config.Logger = l } }

// WithTracer tells t of the opening and of every operation of the store, its namespaces included.
// Given several times, all tracers are told.
func WithTracer(t Tracer) Option {
	return func(r *request) {
		switch before := r.tracer.(type) {
		case nil:
			r.tracer = t
		case tracers:
			r.tracer = append(before, t)
		default:
			r.tracer = tracers{before, t}
		}
	}
}

// MustDeliver refuses a store that does not deliver d or more when asked for d. [DB.RequireAtomic]
// asks for more; all else that a store promises stands in its Caps.
func MustDeliver(d Durability) Option { return func(r *request) { r.must = append(r.must, d) } }

// Open opens the store that rawURL names, creating it if it does not exist and is not opened
// read-only.
//
//	bbolt:/abs/p.db    bbolt:///abs/p.db    pebble:rel/dir?mode=exclusive    sqlite:f.db?journal_mode=DELETE&wait=2s
//
// The scheme is the engine, the rest the path. Parameters are the engine's own options by its own
// names, and mode=exclusive|shared|ro, durability=synced|flushed|buffered (see [WithWeakest]),
// wait=DURATION. An unknown engine or option is Invalid and the hint lists the valid ones; what the
// engine cannot honour is Unsupported.
//
// If another process holds the store, Open tries again until ctx ends or, by default, 10 seconds
// have passed, and then fails with Busy. That is so of all waits for locks, and one that ends with
// ctx fails with Canceled, too. An opening that takes long, as recovery may, goes on in the
// background when ctx ends, and what it opens is closed.
func Open(ctx context.Context, rawURL string, options ...Option) (*DB, error) {
	d, r, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	return open(ctx, d, r, options)
}

// OpenDriver is Open for packages of engines, which have a driver and a Config instead of a URL.
// The mode is that of c unless an option says otherwise.
func OpenDriver(ctx context.Context, d driver.Driver, c driver.Config, options ...Option) (*DB, error) {
	return open(ctx, d, &request{info: d.Info(), path: c.Path, mode: &c.Mode, wait: DefaultWait, config: c}, options)
}

func open(ctx context.Context, d driver.Driver, r *request, options []Option) (db *DB, err error) {
	for _, option := range options {
		option(r)
	}
	r.config.OnSync = onSync(r.tracer)
	err = traced(ctx, timerOf(r.tracer), Event{Op: "open"}, func(ctx context.Context) error {
		store, err := r.open(ctx, d)
		if err != nil {
			return wrapError("open", r.info.Name, r.path, err)
		}
		db = newDB(store, d, r)
		if w, ok := r.tracer.(Watcher); ok {
			w.Watch(db)
		}
		return nil
	})
	return db, err
}

func (r *request) open(ctx context.Context, d driver.Driver) (driver.Store, error) {
	if err := r.resolve(); err != nil {
		return nil, err
	}
	if err := r.alien(); err != nil {
		return nil, err
	}
	store, err := openWaiting(ctx, d, r)
	if err != nil {
		return nil, r.foreign(err)
	}
	for _, d := range r.must {
		if !store.Caps().Promise(d).Supported {
			return nil, errors.Join(refusal(Unsupported, "", "the store does not deliver %v", d), store.Close())
		}
	}
	return store, nil
}

// alien refuses a folder in which another engine keeps a store: these would make one of their own
// there, and Pebble and Badger remove the files that they do not know. A driver of another name may
// open what detect takes for Pebble's.
func (r *request) alien() error {
	if !slices.Contains([]string{"badger", "leveldb", "margaret", "pebble"}, r.info.Name) {
		return nil
	}
	found, err := detect.Folder(r.config.Path)
	if err != nil || found.Engine == "" || found.Engine == r.info.Name {
		return nil
	}
	return r.another(found.Engine)
}

// another says whose store it is.
func (r *request) another(engine string) error {
	return refusal(Invalid, fmt.Sprintf("open it as %s:%s", engine, r.path), "a store of %s, not of %s", engine, r.info.Name)
}

// foreign returns err, of an opening, or another one if a store of another engine lies at the path,
// or a folder in place of a file. Drivers of SQLite tell themselves of files: these must not be
// opened and closed beside it, which drops its locks.
func (r *request) foreign(err error) error {
	if r.info.Caps.Remote || r.info.Forms {
		return err
	}
	info, serr := os.Stat(r.config.Path)
	misplaced := serr == nil && r.info.Caps.Persistent && info.IsDir() != r.info.Caps.Folder
	kind := driver.KindOf(err)
	if kind == Busy || !misplaced && (kind != Corrupt || strings.HasPrefix(r.info.Name, "sqlite")) {
		return err
	}
	found, derr := detect.Path(r.config.Path)
	switch {
	case derr == nil && found.Engine != r.info.Name:
		return r.another(found.Engine)
	case misplaced && r.info.Caps.Folder:
		return refusal(Invalid, "name a folder", "%s keeps a store in a folder, and this is a file", r.info.Name)
	case misplaced:
		return refusal(Invalid, "name a file", "%s keeps a store in a file, and this is a folder", r.info.Name)
	}
	return err
}

// PathOf returns the file or folder that rawURL names, which may be none. What Open would refuse in
// rawURL before it opens anything, an unknown engine or option, is an error; options' values are
// not looked at.
func PathOf(rawURL string) (string, error) {
	_, r, err := parse(rawURL)
	if err != nil {
		return "", err
	}
	return r.path, nil
}

// parse finds the driver and reads path and parameters.
func parse(rawURL string) (driver.Driver, *request, error) {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	if !ok {
		return nil, nil, wrapError("open", "", "",
			refusal(Invalid, "write ENGINE:PATH, for example bbolt:app.db", "%q is not an engine's URL", rawURL))
	}
	d, ok := driver.Lookup(scheme)
	if !ok {
		return nil, nil, wrapError("open", "", "", refusal(Invalid,
			"choose one of these, or import the package of another from github.com/assaydb/assay/engines",
			"unknown engine %q; this program has %s", scheme, cmp.Or(strings.Join(driver.Names(), ", "), "none")))
	}
	r := &request{info: d.Info(), wait: DefaultWait}
	if err := r.read(rest); err != nil {
		return nil, nil, wrapError("open", scheme, r.path, err)
	}
	return d, r, nil
}

// read reads what follows the scheme of a URL.
func (r *request) read(rest string) error {
	path, query, _ := strings.Cut(rest, "?")
	if below, absolute := strings.CutPrefix(path, "//"); absolute {
		if path = below; path != "" && path[0] != '/' {
			hint := fmt.Sprintf("write %[1]s:%[2]s for a relative path, %[1]s:///%[2]s for an absolute one",
				r.info.Name, path)
			return refusal(Invalid, hint, "%s:%s names a host", r.info.Name, rest)
		}
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return &Error{Kind: Invalid, Err: err, Hint: "write a literal % as %25"}
	}
	r.path = filepath.FromSlash(path)
	if r.config.Path = r.path; query == "" { // the common case of programs that open and close all the time
		return nil
	}
	return r.parameters(query)
}

// parameters sorts the URL's parameters into kv's own and the engine's.
func (r *request) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return &Error{Kind: Invalid, Err: err, Hint: "write ?name=value&name=value"}
	}
	r.config.Params = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list := values[name]
		value := list[len(list)-1]
		switch name {
		case "mode":
			var m Mode
			m, err = driver.ParseMode(value)
			r.mode = &m
		case "durability":
			r.config.Weakest, err = ParseDurability(value)
		case "wait":
			if r.wait, err = time.ParseDuration(value); err != nil {
				err = refusal(Invalid, "write wait=2s or wait=100ms", "wait=%s is not a duration", value)
			}
		default:
			r.config.Params[name] = value
			if !slices.ContainsFunc(r.info.Options, func(o driver.Option) bool { return o.Name == name }) {
				err = refusal(Invalid, "valid are "+r.optionNames(), "unknown option %q", name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *request) optionNames() string {
	names := []string{"mode", "durability", "wait"}
	for _, o := range r.info.Options {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// resolve fills in what was not said, and refuses a mode that the engine does not honour.
func (r *request) resolve() error {
	caps := &r.info.Caps
	if r.config.Path == "" && caps.Persistent {
		return refusal(Invalid, "write "+r.info.Name+":PATH", "no path")
	}
	if r.config.Path != "" && !caps.Remote {
		// A program may change its folder while the store is open.
		path, err := filepath.Abs(r.config.Path)
		if err != nil {
			return err
		}
		r.config.Path = path
	}
	if r.config.Logger == nil {
		r.config.Logger = discard
	}
	if r.mode == nil {
		r.config.Mode = caps.Modes[0]
		return nil
	}
	if r.config.Mode = *r.mode; !caps.Supports(*r.mode) {
		return refusal(Unsupported, fmt.Sprintf("%s honours %v", r.info.Name, caps.Modes), "mode %v is not honoured",
			*r.mode)
	}
	return nil
}

// openWaiting opens, and tries again while another process holds the store. The limit of the wait
// is for locks, and does not cut a long recovery short.
func openWaiting(ctx context.Context, d driver.Driver, r *request) (driver.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var store driver.Store
	p, ok := d.(driver.Prompter)
	once := func() (err error) {
		if ok && p.Prompt(r.config) {
			store, err = d.Open(ctx, r.config)
			return err
		}
		store, err = bounded(ctx, func() (driver.Store, error) { return d.Open(ctx, r.config) }, closeLate)
		return err
	}
	return store, patience{limit: r.wait, what: "another process has it open", tracer: timerOf(r.tracer)}.again(ctx,
		once(), once)
}

// closeLate closes a store that nobody waits for any more; nobody is left to be told.
func closeLate(store driver.Store, err error) {
	if err == nil {
		_ = store.Close()
	}
}
