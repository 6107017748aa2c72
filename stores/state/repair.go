package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// lockName is the file in the folder whose lock a process holds while it creates, migrates or sets
// aside a file. It is never removed: that would let two processes in.
const lockName = ".lock"

// freshPrefix is how the name of a file begins while it is built; the kind follows.
const freshPrefix = ".new-"

// lock takes the lock of the folder, which it makes if it is missing.
func (s *Store) lock(ctx context.Context) (unlock func() error, err error) {
	dir := filepath.Dir(s.files[State].path)
	if err := driver.MakeDirs(dir); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	switch err := take(ctx, l, false, s.options.MigrationWait); {
	case err == nil:
		return l.Unlock, nil
	case ctx.Err() != nil:
		return nil, &kv.Error{Op: "open", Path: l.Path(), Kind: kv.Canceled, Err: ctx.Err()}
	case kv.KindOf(err) != kv.Busy:
		return nil, err
	}
	return nil, &kv.Error{Op: "open", Path: l.Path(), Kind: kv.Busy,
		Err:  fmt.Errorf("another process has been creating or migrating for %v", s.options.MigrationWait),
		Hint: "wait for it, or end it: what it has not finished is begun again"}
}

// repair runs once again, alone in the folder: another process may have repaired the file since. If
// it is no better it creates the file, migrates an older one or sets a damaged cache aside, and
// runs once a last time.
func (f *file) repair(ctx context.Context, once func(attempt) error) error {
	err := f.repairAlone(ctx, once)
	if err == errRepaired {
		err = once(last)
	}
	if t, ok := err.(trouble); ok {
		return t.error
	}
	return err
}

// errRepaired says that a call is to be tried a last time.
var errRepaired = errors.New("the file was repaired")

func (f *file) repairAlone(ctx context.Context, once func(attempt) error) (err error) {
	unlock, err := f.store.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = released(err, unlock()) }()
	if f.interrupted() {
		if err := os.Rename(f.keptPath(), f.path); err != nil {
			return err
		}
	}
	err = once(alone)
	t, ok := err.(trouble)
	if !ok {
		return err
	}
	if err := f.mend(ctx, t.error); err != nil {
		return err
	}
	return errRepaired
}

// released returns err, or that of giving a lock back.
func released(err, unlock error) error {
	if unlock != nil && (err == nil || err == errRepaired) {
		return unlock
	}
	return err
}

// mend makes the file usable, which is not because of cause. If it cannot, it says why.
func (f *file) mend(ctx context.Context, cause error) error {
	_, err := os.Stat(f.path)
	missing := errors.Is(err, fs.ErrNotExist)
	older := f.unmoved(missing)
	switch {
	case older != "":
		return f.migrate(ctx, older)
	case missing:
		return f.build(ctx, nil)
	case err != nil:
		return err
	case f.isOlder(cause):
		return f.migrate(ctx, f.path)
	case errors.Is(cause, kv.Corrupt):
		return f.replace(ctx, cause)
	}
	return cause
}

// replace sets a damaged cache aside and begins an empty one. Other files are not given up.
func (f *file) replace(ctx context.Context, cause error) error {
	if f.kind != Cache {
		return f.damaged(cause)
	}
	kept := f.path + ".damaged-" + f.now().UTC().Format(stamp)
	err := f.build(ctx, func() error {
		// Companions go first: as long as the file itself is there, others find it damaged and wait
		// for the lock.
		for _, companion := range f.companions() {
			if err := os.Rename(f.path+companion, kept+companion); err != nil {
				return err
			}
		}
		return f.giveName(kept)
	})
	if err != nil {
		return err
	}
	f.store.report(Incident{What: "set aside", Path: f.path, Kept: kept, Err: cause})
	return nil
}

// giveName gives the file a second name. It has both until a new file takes the first, so that
// nobody finds none there and makes one; only a folder, or a file in whose place a folder comes,
// must go first.
func (f *file) giveName(second string) error {
	if f.engine.Caps.Folder {
		return os.Rename(f.path, second)
	}
	if os.Link(f.path, second) == nil {
		return nil
	}
	return copyFile(second, f.path) // a file system without links
}

// stamp is how the time is written in names of files.
const stamp = "20060102T150405.000000000Z"

// companions returns how the names of the files end that SQLite keeps beside the file.
func (f *file) companions() (endings []string) {
	for _, ending := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(f.path + ending); err == nil {
			endings = append(endings, ending)
		}
	}
	return endings
}

// removeAll removes everything whose name begins with path, which is the fresh one of a file.
func removeAll(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// syncTree makes every file and folder at and below path durable, and the top one its owner's
// alone.
func syncTree(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = os.Chmod(path, ownerOnly(info))
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return driver.SyncDir(path)
		}
		return syncFile(path)
	})
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// check reads everything in the file, if there is one.
func (f *file) check(ctx context.Context) error {
	there, err := f.look()
	if t, ok := err.(trouble); ok {
		err = t.error
	}
	if err == nil && there {
		err = f.inspect(ctx)
	}
	if errors.Is(err, kv.Corrupt) {
		return f.damaged(err)
	}
	return err
}

func (f *file) inspect(ctx context.Context) (err error) {
	db, p, err := f.open(ctx, first, f.writing)
	if err != nil {
		return err
	}
	defer func() { err = released(err, p.leave()) }()
	return closing(db, func() error {
		if err := db.Check(ctx); err != nil {
			return err
		}
		return db.View(ctx, func(s *kv.Snapshot) error {
			for key, stored := range s.Scan(kv.Range{}) {
				if _, _, err := parseEntry(key, stored); err != nil {
					return err
				}
			}
			return s.Err()
		})
	})
}
