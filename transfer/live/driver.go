package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer/internal/place"
)

// Engine is the scheme of a switch's URL.
const Engine = "switch"

func init() { driver.Register(switchDriver{}) }

type switchDriver struct{}

var _ driver.Driver = switchDriver{}

// settings are the parameters of a URL.
type settings struct {
	old, new string
	phase    string // to move to, "" to stay
	compare  bool
}

var table = driver.Table[settings]{
	driver.Text("old", "URL",
		"the store that there is; without a path it lies in the switch's folder; needed the first time",
		func(s *settings) *string { return &s.old }).WithDefault("as the first time"),
	driver.Text("new", "URL", "the store to go to; it must be empty or absent the first time",
		func(s *settings) *string { return &s.new }).WithDefault("as the first time"),
	driver.OneWord("phase", "the phase to move to before the store is open",
		func(s *settings) *string { return &s.phase }, phaseNames...).WithDefault("as it is"),
	driver.Bool("compare", "compare what is read of both stores, where that keeps no writer waiting",
		func(s *settings) *bool { return &s.compare }),
}

// Info describes the switch before it is known which engines it is over; an open one tells more.
func (switchDriver) Info() driver.Info {
	return driver.Info{
		Name:    Engine,
		Summary: "two stores: one is the truth, the other follows, until they change places",
		Modules: []string{"github.com/gofrs/flock"},
		Options: table.Options(settings{compare: true}),
		Caps: driver.Caps{
			Persistent: true,
			Folder:     true,
			Modes:      []driver.Mode{driver.Exclusive, driver.ReadOnly},
			Promises: [3]driver.Promise{
				driver.Synced:   {Supported: true, Class: driver.Synced},
				driver.Flushed:  {Supported: true, Class: driver.Flushed},
				driver.Buffered: {Supported: true, Class: driver.Buffered},
			},
		},
	}
}

// Open opens the switch in the folder dir, over the stores at the URLs old and new. Both may be ""
// where the switch was made before. A URL without a path, "pebble:", is a store within dir.
//
// The first time, the old store is taken as it is, and created if there is none; the new one must
// be empty or absent, since a shadow is made equal to the truth. The program that calls Open
// imports the packages of both engines.
func Open(ctx context.Context, dir, old, new string, options ...kv.Option) (*kv.DB, error) {
	query := url.Values{}
	for name, value := range map[string]string{"old": old, "new": new} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return kv.Open(ctx, withPath(Engine+":?"+query.Encode(), dir), options...)
}

func (switchDriver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	set := settings{compare: true}
	if err := table.Read(c.Params, &set); err != nil {
		return nil, err
	}
	for _, spec := range []*string{&set.old, &set.new} {
		if *spec == "" {
			continue
		}
		var err error
		if *spec, err = keep(c.Path, *spec); err != nil {
			return nil, err
		}
	}
	lock, err := occupy(c)
	if err != nil {
		return nil, err
	}
	s, err := openLocked(ctx, c, set)
	if err != nil {
		return nil, errors.Join(err, abandon(c, lock))
	}
	s.lock = lock
	if set.phase != "" && set.phase != s.state.Phase.String() {
		var to Phase
		_ = to.UnmarshalText([]byte(set.phase)) // the table knows it
		if err := s.move(ctx, to); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// occupy makes the switch's folder this process's own.
func occupy(c driver.Config) (*flock.Flock, error) {
	flags := os.O_RDONLY
	if c.Mode != driver.ReadOnly {
		if err := driver.MakeDirs(c.Path); err != nil {
			return nil, err
		}
		flags |= os.O_CREATE
	}
	lock := flock.New(filepath.Join(c.Path, lockFile), flock.SetPermissions(0o600), flock.SetFlag(flags))
	taken, err := lock.TryLock()
	if err == nil && taken {
		taken, err = owned(lock)
	}
	if err == nil && !taken {
		err = &kv.Error{Kind: kv.Busy, Err: errors.New("another handle has the switch open")}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// owned reports whether the lock is that of the folder: who has made no switch there removes it.
func owned(lock *flock.Flock) (bool, error) {
	held, err := lock.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(lock.Path())
	return err == nil && os.SameFile(held, there), nil
}

// abandon gives a folder up in which no switch was opened. If there is none, nothing stays.
func abandon(c driver.Config, lock *flock.Flock) error {
	_, err := os.Lstat(filepath.Join(c.Path, stateFile))
	if errors.Is(err, fs.ErrNotExist) && c.Mode != driver.ReadOnly {
		_ = os.Remove(lock.Path())
		_ = os.Remove(c.Path) // unless something is in it
	}
	return lock.Close()
}

// openLocked opens the stores of a switch whose lock is held, and makes the switch if there is
// none.
func openLocked(ctx context.Context, c driver.Config, set settings) (*store, error) {
	st, err := readState(c.Path)
	first := errors.Is(err, fs.ErrNotExist)
	if first && c.Mode != driver.ReadOnly {
		st = state{Old: set.old, New: set.new}
		err = begin(ctx, c, &st)
	}
	if err != nil {
		return nil, err
	}
	for name, given := range map[string]string{"old": set.old, "new": set.new} {
		if given != "" && given != st.url(name) {
			return nil, refusal("leave it out, or make a new switch", "the switch was made with %s=%s, not %s", name,
				st.url(name), given)
		}
	}
	s := newStore(c, st, set.compare)
	err = s.openSides(ctx, first)
	if err != nil && first { // another URL may be right, and nothing was written yet
		err = errors.Join(err, os.Remove(filepath.Join(c.Path, stateFile)))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// begin makes the switch: from its file on it may change what is in the new store.
func begin(ctx context.Context, c driver.Config, st *state) error {
	entries, err := os.ReadDir(c.Path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !slices.Contains([]string{lockFile, freshFile, "old", "new"},
			name) { // of one that was refused
			return refusal("name a folder that does not exist", "the folder holds %s and is no switch", name)
		}
	}
	if st.Old == "" || st.New == "" {
		return refusal("write switch:DIR?old=bbolt:app.db&new=pebble:data", "a new switch needs the URLs of two stores")
	}
	if err := apart(c.Path, st); err != nil {
		return err
	}
	if err := empty(ctx, c.Path, st.New); err != nil {
		return err
	}
	return st.write(c.Path)
}

// apart refuses two stores that are the same, or of which one lies within the other, and a new
// store or a switch in the folder of a third one.
func apart(dir string, st *state) error {
	old, fresh := resolve(dir, "old", st.Old), resolve(dir, "new", st.New)
	err := place.Apart(old, fresh)
	if err == nil {
		err = place.Apart(fresh, old)
	}
	if err == nil {
		err = place.Outside(dir)
	}
	if path := pathOf(fresh); err == nil && path != "" && !place.Remote(fresh) {
		err = place.Outside(path)
	}
	return err
}

// empty refuses a store that holds anything.
func empty(ctx context.Context, dir, kept string) (err error) {
	rawURL := resolve(dir, "new", kept)
	d, path, err := find(rawURL)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !d.Info().Caps.Remote {
		return nil
	}
	db, err := kv.Open(ctx, rawURL, kv.WithWait(0))
	if err != nil {
		return fmt.Errorf("new: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(ctx, func(s *kv.Snapshot) error {
		for k := range s.Keys(kv.Range{}) {
			return refusal("name a store that does not exist: the switch fills it",
				"the new store holds keys already, %s the first of them, and would be made equal to the old one",
				strconv.Quote(string(k)))
		}
		return nil
	})
}

// find returns driver and path of a URL.
func find(rawURL string) (driver.Driver, string, error) {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return nil, "", err
	}
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, _ := driver.Lookup(scheme)
	return d, path, nil
}

// pathOf returns the path in a URL that kept has made.
func pathOf(kept string) string {
	path, _ := kv.PathOf(kept) // it was read before
	return path
}

// keep returns a URL as the switch in dir keeps it: with a path relative to dir, so that what is
// moved or restored together finds its own, or with none. The path of a store that is Remote is a
// name, which stays.
func keep(dir, rawURL string) (string, error) {
	if !strings.Contains(rawURL, ":") {
		rawURL += ":"
	}
	d, path, err := find(rawURL)
	if err != nil {
		return "", err
	}
	if d.Info().Name == Engine {
		return "", refusal("name the engine of the store itself", "a switch over a switch")
	}
	if path == "" || d.Info().Caps.Remote {
		return rawURL, nil
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if relative, err := filepath.Rel(dir, path); err == nil {
		path = relative
	}
	return withPath(rawURL, path), nil
}

// resolve returns the URL of the side called name of the switch in dir, which keeps it as keep has
// made it.
func resolve(dir, name, kept string) string {
	d, path, err := find(kept)
	switch {
	case err != nil: // opening it tells
		return kept
	case d.Info().Caps.Remote:
		return kept
	case path == "":
		path = name
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return withPath(kept, path)
}

// withPath returns rawURL with another path.
func withPath(rawURL, path string) string {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	u := scheme + ":" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	if _, query, ok := strings.Cut(rest, "?"); ok {
		u += "?" + query
	}
	return u
}

// refusal is an error of kind Invalid.
func refusal(hint, text string, values ...any) error {
	return &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf(text, values...), Hint: hint}
}
