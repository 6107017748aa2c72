package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// DefaultWait is how long Open waits for another process's lock when nothing else was said.
const DefaultWait = 10 * time.Second

// discard is the logger of programs that want none.
var discard = slog.New(slog.DiscardHandler)

// Need is a requirement that Open checks or passes on. Needs override the URL's parameters.
type Need func(*request)

type request struct {
	info   driver.Info
	config driver.Config
	mode   *Mode
	wait   time.Duration
	checks []func(Caps) error
}

// In asks for a mode. Without it the engine's default holds, which is always safe: Exclusive where the engine locks
// the store for one process, Shared where several processes may work on it.
func In(m Mode) Need { return func(r *request) { r.mode = &m } }

// Weakest says which class is the weakest that the program will ask for; without it that is Synced. Engines that fix
// durability when they open (Badger) use it: opened with Weakest(Synced) they sync every commit, opened with
// Weakest(Flushed) they never do and refuse Synced. The URL parameter is durability=synced|flushed|buffered.
func Weakest(d Durability) Need { return func(r *request) { r.config.Weakest = d } }

// Delivers refuses a store that does not deliver d or more when asked for d.
func Delivers(d Durability) Need {
	return func(r *request) {
		r.checks = append(r.checks, func(c Caps) error {
			if c.Promise(d).Supported {
				return nil
			}
			return &Error{Kind: Unsupported, Err: fmt.Errorf("the store does not deliver %v", d)}
		})
	}
}

// Intact refuses a store that may be damaged by a power loss after commits of class d.
func Intact(d Durability) Need {
	return func(r *request) {
		r.checks = append(r.checks, func(c Caps) error {
			if p := c.Promise(d); p.Supported && p.Intact {
				return nil
			}
			return &Error{Kind: Unsupported, Err: fmt.Errorf("the store may be damaged by a power loss after %v commits", d)}
		})
	}
}

// Wait sets how long Open waits for another process's lock; the context may end it earlier. Zero tries once.
func Wait(d time.Duration) Need { return func(r *request) { r.wait = d } }

// Logger receives what the engine reports in the background. Without it such reports are dropped.
func Logger(l *slog.Logger) Need { return func(r *request) { r.config.Logger = l } }

// Open opens the store that rawURL names, creating it if it does not exist and is not opened read-only.
//
//	bbolt:/abs/p.db    bbolt:///abs/p.db    pebble:rel/dir?mode=exclusive    sqlite:f.db?journal_mode=DELETE&wait=2s
//
// The scheme is the engine, the rest the path. Parameters are the engine's own options by its own names, and
// mode=exclusive|shared|ro, durability=synced|flushed|buffered (see [Weakest]), wait=DURATION. An unknown engine or
// option is Invalid and the hint lists the valid ones; what the engine cannot honour is Unsupported.
//
// If another process holds the store, Open tries again until ctx ends or, by default, 10 seconds have passed, and then
// fails with Busy.
func Open(ctx context.Context, rawURL string, needs ...Need) (*DB, error) {
	d, r, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	for _, need := range needs {
		need(r)
	}
	name := r.info.Name
	fail := func(err error) (*DB, error) { return nil, wrapError("open", name, r.config.Path, err) }
	if err := r.resolve(); err != nil {
		return fail(err)
	}
	store, err := openWaiting(ctx, d, r)
	if err != nil {
		return fail(err)
	}
	for _, check := range r.checks {
		if err := check(store.Caps()); err != nil {
			return fail(errors.Join(err, store.Close()))
		}
	}
	return newDB(store, name, r.config), nil
}

// PathOf returns the file or folder that rawURL names, which may be none. What Open would refuse in rawURL before it
// opens anything, an unknown engine or option, is an error; options' values are not looked at.
func PathOf(rawURL string) (string, error) {
	_, r, err := parse(rawURL)
	if err != nil {
		return "", err
	}
	return r.config.Path, nil
}

// names lists the engines of this program.
func names() string {
	if all := driver.Names(); len(all) > 0 {
		return strings.Join(all, ", ")
	}
	return "none"
}

// parse finds the driver and reads path and parameters.
func parse(rawURL string) (driver.Driver, *request, error) {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	if !ok {
		return nil, nil, &Error{Op: "open", Kind: Invalid, Err: fmt.Errorf("%q is not an engine's URL", rawURL),
			Hint: "write ENGINE:PATH, for example bbolt:app.db"}
	}
	d, ok := driver.Lookup(scheme)
	if !ok {
		return nil, nil, &Error{Op: "open", Kind: Invalid, Err: fmt.Errorf("unknown engine %q; this program has %s", scheme, names()),
			Hint: "choose one of these, or import the package of another from github.com/assaydb/assay/engines"}
	}
	path, query, _ := strings.Cut(rest, "?")
	if strings.HasPrefix(path, "//") {
		if path = path[2:]; path != "" && path[0] != '/' {
			return nil, nil, &Error{Op: "open", Engine: scheme, Kind: Invalid, Err: fmt.Errorf("%q names a host", rawURL),
				Hint: fmt.Sprintf("write %s:%s for a relative path, %s:///%s for an absolute one", scheme, path, scheme, path)}
		}
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, nil, &Error{Op: "open", Engine: scheme, Kind: Invalid, Err: err, Hint: "write a literal % as %25"}
	}
	r := &request{info: d.Info(), wait: DefaultWait, config: driver.Config{Path: filepath.FromSlash(path)}}
	if query == "" { // the common case of programs that open and close all the time
		return d, r, nil
	}
	if err := r.parameters(query); err != nil {
		return nil, nil, wrapError("open", scheme, r.config.Path, err)
	}
	return d, r, nil
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
				err = &Error{Kind: Invalid, Err: fmt.Errorf("wait=%s is not a duration", value), Hint: "write wait=2s or wait=100ms"}
			}
		default:
			r.config.Params[name] = value
			if !slices.ContainsFunc(r.info.Options, func(o driver.Option) bool { return o.Name == name }) {
				err = &Error{Kind: Invalid, Err: fmt.Errorf("unknown option %q", name), Hint: "valid are " + r.optionNames()}
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
		return &Error{Kind: Invalid, Err: errors.New("no path"), Hint: "write " + r.info.Name + ":PATH"}
	}
	if r.config.Logger == nil {
		r.config.Logger = discard
	}
	if r.mode == nil {
		r.config.Mode = caps.Modes[0]
		return nil
	}
	if r.config.Mode = *r.mode; !caps.Supports(*r.mode) {
		return &Error{Kind: Unsupported, Err: fmt.Errorf("mode %v is not honoured", *r.mode),
			Hint: fmt.Sprintf("%s honours %v", r.info.Name, caps.Modes)}
	}
	return nil
}

// openWaiting opens, and tries again while another process holds the store. The driver gets ctx without the limit of
// the wait: that is for locks, and must not cut a long recovery short.
func openWaiting(ctx context.Context, d driver.Driver, r *request) (driver.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var deadline time.Time // counted from the first time that the store is busy
	var busy error
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		store, err := d.Open(ctx, r.config)
		switch {
		case err == nil:
			return store, nil
		case driver.KindOf(err) == Busy:
			busy = err
		case busy == nil || ctx.Err() == nil:
			return nil, err
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(r.wait)
		}
		left := time.Until(deadline)
		if left <= 0 || !sleep(ctx, min(left, pause/2+rand.N(pause))) {
			return nil, &Error{Kind: Busy, Err: fmt.Errorf("another process has it open (%w)", busy),
				Hint: "close the other program, or wait longer with ?wait=1m"}
		}
	}
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
