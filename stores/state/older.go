package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// unmoved returns the older file that may hold entries of f and was not migrated yet, "" if there
// is none. missing tells that f does not exist. What is in f's own place is known by opening it.
func (f *file) unmoved(missing bool) string {
	s := f.store
	if s.older != "" && isOlderFile(s.older) {
		return s.older
	}
	if !missing || s.options.Legacy == nil && f.kind != Secret {
		return ""
	}
	for i := range s.files {
		if other := s.files[i].path; other != f.path && isOlderFile(other) {
			return other // a secret of it would seem to be none
		}
	}
	return ""
}

// nothing runs fn on a bucket without entries, because there is no file.
func (f *file) nothing(b *bucket, fn func(*View) error) error {
	if older := f.unmoved(true); older != "" {
		return trouble{errUnmoved}
	}
	a := access{}
	defer a.end()
	return fn(&View{access: &a, b: b})
}

var errUnmoved = &kv.Error{Op: "open", Kind: kv.Invalid, Err: errors.New("entries of an older program were not migrated yet")}

// originKey is an entry outside of all buckets: the name of the older file that a migration made
// the file from.
var originKey = []byte{'o'}

// migration moves what is in an older file into files of the kinds that it has entries of. It is
// done under the folder's lock. Until all new files are whole nothing happens to the older one. The
// new files get their names first, then the older one loses its own: a process that is killed in
// between leaves what the next goes on with, which passes over the kinds that have their file from
// this source.
type migration struct {
	store  *Store
	source string
	files  [len(kindNames)]*fresh // those to be placed
	moved  [len(kindNames)]bool   // those that need none
	ready  bool
}

// Import takes the entries of an older file: see [Options.Legacy].
type Import struct {
	ctx context.Context
	m   *migration
}

// Put puts an entry into a bucket, of whichever kind. It keeps nothing of what it is given.
func (i *Import) Put(bucket string, key, value []byte) error {
	b, err := i.m.store.bucket("migrate", bucket)
	if err != nil {
		return err
	}
	if len(key) == 0 || i.m.ready {
		return &kv.Error{Op: "migrate", Path: i.m.source, Kind: kv.Invalid,
			Err:  fmt.Errorf("bucket %s, key %q, ready %t", bucket, key, i.m.ready),
			Hint: "put only keys that are not empty, and before Ready"}
	}
	n, err := i.m.target(i.ctx, b.file)
	if err != nil || n == nil {
		return err
	}
	return n.put(i.ctx, b, key, value)
}

// Ready makes what was put durable. A Legacy that can keep other programs from writing to the older
// file calls it before they may write again, and refuses what they write afterwards: it would be
// lost. It is called once.
func (i *Import) Ready() error { return i.m.finish(i.ctx) }

// Wait returns how long Legacy waits for the locks of a program that has the older file open:
// Options.MigrationWait.
func (i *Import) Wait() time.Duration { return i.m.store.options.MigrationWait }

// target returns the new file of f, nil if its entries are moved already.
func (m *migration) target(ctx context.Context, f *file) (n *fresh, err error) {
	if m.files[f.kind] != nil || m.moved[f.kind] {
		return m.files[f.kind], nil
	}
	if _, err := os.Lstat(f.path); err == nil && f.path != m.source {
		from, err := f.origin(ctx)
		if err != nil {
			return nil, err
		}
		if from != filepath.Base(m.source) && f.kind != Cache {
			return nil, &kv.Error{Op: "migrate", Path: m.source, Kind: kv.Invalid,
				Err:  fmt.Errorf("it has entries for %s, which is there already", f.path),
				Hint: "merge the two by hand, or leave the table out of Options.Legacy"}
		}
		m.moved[f.kind] = true
		return nil, nil
	}
	if n, err = f.begin(ctx); err != nil {
		return nil, err
	}
	m.files[f.kind] = n
	n.add(originKey, []byte(filepath.Base(m.source)))
	return n, nil
}

// origin returns the name of the older file that f was made from, "" if there is none.
func (f *file) origin(ctx context.Context) (name string, err error) {
	db, err := openWhole(ctx, f.url, f.writing.patient)
	if err != nil {
		return "", err
	}
	err = closing(db, func() error {
		stored, err := db.Get(ctx, originKey)
		if errors.Is(err, kv.NotFound) {
			return nil
		}
		if err == nil {
			stored, _, err = parseEntry(originKey, stored)
			name = string(stored)
		}
		return err
	})
	return name, err
}

// finish makes all new files whole.
func (m *migration) finish(ctx context.Context) error {
	if m.ready {
		return nil
	}
	m.ready = true
	for _, n := range m.files {
		if n != nil {
			if err := n.finish(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// migrate moves the entries of the older file source.
func (f *file) migrate(ctx context.Context, source string) error {
	legacy := f.store.options.Legacy
	own := source == f.path
	if legacy == nil {
		err := &kv.Error{Op: "open", Engine: f.engine.Name, Path: source, Kind: kv.Invalid,
			Err:  errors.New("it is an SQLite file of an older program"),
			Hint: "set Options.Legacy to what reads it, for example sqlitelegacy.Tables"}
		if f.kind == Cache {
			return f.replace(ctx, err)
		}
		return err
	}
	m := migration{store: f.store, source: source}
	err := m.run(ctx, legacy)
	for _, n := range m.files {
		if n != nil {
			err = errors.Join(err, n.drop())
		}
	}
	switch {
	case err == nil:
		return nil
	case f.kind == Cache && hopeless(err) && own:
		return f.replace(ctx, err)
	case f.kind == Cache && hopeless(err): // it can be made again
		f.store.report(Incident{What: "not migrated", Path: source, Err: err})
		return f.build(ctx, nil)
	}
	return &kv.Error{Op: "migrate", Engine: f.engine.Name, Path: source, Kind: kv.KindOf(err), Err: err,
		Hint: kv.HintOf(err)}
}

func (m *migration) run(ctx context.Context, legacy func(context.Context, string, *Import) error) error {
	var own *file
	for i := range m.store.files {
		if f := &m.store.files[i]; f.path == m.source {
			own = f
			if _, err := m.target(ctx, f); err != nil { // whether it has entries or not
				return err
			}
		}
	}
	if err := legacy(ctx, m.source, &Import{ctx, m}); err != nil {
		return err
	}
	if err := m.finish(ctx); err != nil {
		return err
	}
	if info, err := os.Stat(m.source + "-wal"); err == nil && info.Size() > 0 {
		return &kv.Error{Op: "migrate", Path: m.source, Kind: kv.Invalid,
			Err:  errors.New("its write-ahead log is not empty"),
			Hint: "Options.Legacy must checkpoint the file, and no older program may have it open"}
	}
	for _, n := range m.files {
		if n != nil && n.f != own {
			if err := n.place(); err != nil {
				return err
			}
		}
	}
	return m.retire(own)
}

// retire takes the name from the older file. That of own, if it is one of ours, is the new file's.
func (m *migration) retire(own *file) error {
	if err := os.Chmod(m.source, 0o600); err != nil { // there may be secrets in it
		return err
	}
	// They are empty, and go first: as soon as an SQLite file is in the place of the older one they
	// are that one's.
	for _, ending := range []string{"-wal", "-shm"} {
		if err := removed(m.source + ending); err != nil {
			return err
		}
	}
	kept := ""
	if !m.store.options.RemoveOlder {
		kept = keptPath(m.source)
	}
	if err := m.rename(own, kept); err != nil {
		return err
	}
	m.store.report(Incident{What: "migrated", Path: m.source, Kept: kept})
	return nil
}

// rename lets the older file have the name kept, if that is not empty, and no other.
func (m *migration) rename(own *file, kept string) (err error) {
	switch {
	case own == nil && kept == "":
		err = os.Remove(m.source)
	case own == nil:
		if err = makeRoom(kept, m.store.options.Now()); err == nil {
			err = os.Rename(m.source, kept)
		}
	default:
		if kept != "" || own.engine.Caps.Folder { // in a folder's way
			err = own.keep()
		}
		if err == nil {
			err = m.files[own.kind].place()
		}
		if err == nil && kept == "" {
			err = removed(own.keptPath())
		}
		return err
	}
	if err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(m.source))
}
