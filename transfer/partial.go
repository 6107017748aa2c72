package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer/internal/place"
)

// partial is a destination that has not got its name yet: a store within a folder beside its place,
// so that whatever the engine puts beside its file is in there, too. One process at a time works on
// it.
type partial struct {
	to   string   // the path of the destination
	url  string   // of the store in the folder, as it is filled
	sort string   // of the destination: its URL without the path, hashed
	dir  string   // the folder
	made []string // folders that were made for it, the inner ones first
	lock *flock.Flock
	keep bool // what is in the folder, for the copy that goes on

	looked bool // that the place is in no other store's folder
}

// What is in the folder. The store's own name is not there, which may be one of these.
const (
	storeName  = "store"
	lockName   = "lock"
	sortName   = "sort"   // of which sort the store is
	trialName  = "trial"  // a store to ask for what it can hold
	recordName = "record" // before it has its place
)

// newPartial returns that of the destination to, which must not exist.
func newPartial(to string) (*partial, error) {
	p, err := placeOf(to)
	if err != nil {
		return nil, err
	}
	for _, suffix := range append([]string{""}, companions...) {
		if _, err := os.Lstat(p.to + suffix); !errors.Is(err, fs.ErrNotExist) {
			exists := refuse(err == nil, "name a path that does not exist, or move it away first", "%s exists",
				p.to+suffix)
			return nil, errors.Join(err, exists, p.sweep())
		}
	}
	return p, nil
}

// placeOf returns the partial store of the destination to, whether that exists or not.
func placeOf(to string) (*partial, error) {
	path, err := kv.PathOf(to)
	if err != nil {
		return nil, err
	}
	d, err := lookup(to)
	if err != nil || path == "" || !d.Info().Caps.Persistent || d.Info().Caps.Remote {
		return nil, errors.Join(err, refuse(err == nil, "name a path and an engine that keeps data on this machine",
			"%s is not a place on disk", to))
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	dir := beside(path, ".transfer")
	filled := to
	if !strings.Contains(to, "NumLevelZeroTables=") { // which the other one must be above
		filled = inBulk(to, ascending[d.Info().Name])
	}
	filled = inBulk(filled, d.Info().Bulk)
	sort := sha256.Sum256([]byte(WithPath(to, "")))
	return &partial{to: path, dir: dir, url: WithPath(filled, filepath.Join(dir, storeName)),
		sort: hex.EncodeToString(sort[:])}, nil
}

// ascending is what a long copy, whose keys ascend, needs beside the engine's Bulk.
//
// Badger: of four tables of level 0 and more that are ten seconds old it makes a single one, in
// memory, where a gigabyte took a gigabyte; commits that wait for fewer tables never leave it four.
//
// bbolt: a page is split in halves, of which the first one gets no more of such keys. With 0.9, as
// bbolt's own command compact has it, a file is half as large, and takes as much less to write.
var ascending = map[string]map[string]string{
	"badger": {"NumLevelZeroTables": "2", "NumLevelZeroTablesStall": "3"},
	"bbolt":  {"FillPercent": "0.9"},
}

// inBulk returns rawURL with the options of an engine's Bulk that it does not name.
func inBulk(rawURL string, bulk map[string]string) string {
	_, query, _ := strings.Cut(rawURL, "?")
	named, err := url.ParseQuery(query)
	if err != nil || len(bulk) == 0 {
		return rawURL // kv says what is wrong
	}
	for name, value := range bulk {
		if !named.Has(name) {
			named.Set(name, value)
		}
	}
	head, _, _ := strings.Cut(rawURL, "?")
	return head + "?" + named.Encode()
}

// beside returns the hidden name next to path that ends with suffix.
func beside(path, suffix string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+suffix)
}

// sweep removes the folder of a copy that was killed when it had given the store its name.
func (p *partial) sweep() error {
	if _, err := os.Lstat(p.dir); err != nil || p.begun() {
		return nil
	}
	if err := p.enter(false); err != nil {
		return nil // another process is at it
	}
	p.keep = false
	return p.leave()
}

// companions are what engines put beside a file, and would take for a part of another file of that
// name.
var companions = []string{"-wal", "-shm", "-journal", ".wal"}

// lookup returns the driver of a URL.
func lookup(rawURL string) (driver.Driver, error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := driver.Lookup(scheme)
	if !ok {
		return nil, refuse(true, "", "unknown engine %q", scheme)
	}
	return d, nil
}

// WithPath returns rawURL, which may be a scheme and a colon alone, with another path.
func WithPath(rawURL, path string) string {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	u := scheme + ":" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	if _, query, ok := strings.Cut(rest, "?"); ok {
		u += "?" + query
	}
	return u
}

// path returns where the store lies as long as it has not got its name.
func (p *partial) path() string { return filepath.Join(p.dir, storeName) }

// enter makes the folder this process's own. With anew it is emptied.
func (p *partial) enter(anew bool) error {
	if !p.looked && !exists(p.to) {
		if err := place.Outside(p.to); err != nil {
			return err
		}
		p.looked = true
	}
	p.made = nil
	for dir := filepath.Dir(p.dir); !exists(dir); dir = filepath.Dir(dir) {
		p.made = append(p.made, dir)
	}
	if err := driver.MakeDirs(p.dir); err != nil {
		return err
	}
	p.lock = flock.New(filepath.Join(p.dir, lockName), flock.SetPermissions(0o600))
	switch taken, err := p.lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist):
		return p.justEnded()
	case err != nil:
		return err
	case !taken:
		return &kv.Error{Kind: kv.Busy, Path: p.to, Err: errors.New("another process copies to it"),
			Hint: "wait for it, or end it"}
	}
	if same, err := p.owned(); err != nil || !same {
		return errors.Join(err, p.lock.Unlock(), p.justEnded())
	}
	p.keep = true
	if anew {
		if err := p.clear(); err != nil {
			return errors.Join(err, p.leave())
		}
	}
	return nil
}

// justEnded is the error where another process has removed the folder between two steps of this
// one.
func (p *partial) justEnded() error {
	return &kv.Error{Kind: kv.Busy, Path: p.to, Err: errors.New("another process has just ended a copy to it"),
		Hint: "try again"}
}

// owned reports whether the lock is still that of the folder: one that has ended removes both.
func (p *partial) owned() (bool, error) {
	held, err := p.lock.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(p.lock.Path())
	return err == nil && os.SameFile(held, there), nil
}

// clear removes all but the lock.
func (p *partial) clear() error {
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.dir, e.Name())))
		}
	}
	return err
}

// leave gives the folder up, and removes it unless what is in it is for the copy that goes on. The
// lock goes last, and once: as soon as it is gone another process may make one of its own there,
// and then the folder is that one's.
func (p *partial) leave() error {
	var err error
	if !p.keep || !p.begun() {
		err = errors.Join(p.clear(), os.Remove(p.lock.Path()))
		for _, dir := range append([]string{p.dir}, p.made...) {
			_ = os.Remove(dir) // unless something is in it
		}
	}
	return errors.Join(err, p.lock.Unlock())
}

// begun reports whether there is something that a copy can go on with.
func (p *partial) begun() bool {
	_, err := os.Lstat(p.path())
	return err == nil
}

// open opens the store, for a copy that goes on or begins. One that a power loss has damaged, or
// that is of another sort, is removed first.
func (p *partial) open(ctx context.Context) (*kv.DB, error) {
	if err := p.sorted(); err != nil {
		return nil, err
	}
	db, err := p.openAgain(ctx)
	if errors.Is(err, kv.Corrupt) {
		if err = errors.Join(p.clear(), p.sorted()); err == nil {
			db, err = p.openAgain(ctx)
		}
	}
	return db, err
}

// sorted sees to it that what is in the folder is of the destination's sort: an engine may open
// what another one, or other options, made, and leave in it what is not the copy's.
func (p *partial) sorted() error {
	name := filepath.Join(p.dir, sortName)
	text, err := os.ReadFile(name)
	switch {
	case err == nil && string(text) == p.sort:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	begun := p.begun()
	if err = p.clear(); begun { // it must not come back, after a power loss, beside the new file
		err = errors.Join(err, driver.SyncDir(p.dir))
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(p.sort), 0o600)
}

// trial makes an empty store of the destination's sort, and leaves what an earlier copy left as it
// is.
func (p *partial) trial(ctx context.Context) (*kv.DB, error) {
	if err := p.endTrial(); err != nil {
		return nil, err
	}
	return p.openAt(ctx, trialName)
}

// endTrial removes it.
func (p *partial) endTrial() error {
	err := os.RemoveAll(filepath.Join(p.dir, trialName))
	for _, suffix := range companions {
		err = errors.Join(err, os.RemoveAll(filepath.Join(p.dir, trialName+suffix)))
	}
	return err
}

// openAgain opens the store, not read-only: a reader may leave files that only a writer removes.
func (p *partial) openAgain(ctx context.Context) (*kv.DB, error) { return p.openAt(ctx, storeName) }

func (p *partial) openAt(ctx context.Context, name string) (*kv.DB, error) {
	d, err := lookup(p.url)
	if err != nil {
		return nil, err
	}
	return kv.Open(ctx, WithPath(p.url, filepath.Join(p.dir, name)), kv.WithWeakest(d.Info().Caps.Cheapest()))
}

// sync makes what was written durable, whatever class it was committed with. The store is closed.
func (p *partial) sync() error { return driver.SyncTree(p.dir) }

// syncOpen has the disk write what sync will find, while the store is open: files may go meanwhile,
// which ends it. It says what sync would not find out: a write that failed.
func (p *partial) syncOpen() error {
	err := p.sync()
	if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Op != "sync" {
		return nil
	}
	return err
}

// publish gives the store its name.
func (p *partial) publish() error {
	for _, suffix := range companions {
		if info, err := os.Lstat(p.path() + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s was left beside the store when it was closed, and would have to move with it",
				info.Name())
		}
	}
	if _, err := os.Lstat(p.to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, refuse(err == nil, "move it away and run the copy again", "%s was created meanwhile",
			p.to))
	}
	if err := os.Rename(p.path(), p.to); err != nil {
		return err
	}
	p.keep = false
	return driver.SyncDir(filepath.Dir(p.to))
}
