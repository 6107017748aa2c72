package kv

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

// Size is the space that a store takes on disk.
type Size struct {
	Allocated int64 `json:"allocated"` // bytes in allocated blocks; what the store really takes
	Apparent  int64 `json:"apparent"`  // bytes by the lengths of the files; sparse files look larger than they are
	Files     int   `json:"files"`
}

// Compact gives space that is no longer needed back to the file system, as far as the engine can
// while open; where Caps.Compacts is false it does nothing. Writers wait meanwhile. When ctx ends
// first, the engine goes on in the background, and writers and Close wait until it is done.
func (db *DB) Compact(ctx context.Context) error {
	if err := db.enterAlone(ctx, "compact", db.caps.Cheapest(), alone); err != nil {
		return err
	}
	c, ok := db.store.(driver.Compacter)
	if !ok {
		db.writers.leaveAlone()
		return nil
	}
	return db.upkeep(ctx, "compact", db.writers.leaveAlone, c.Compact)
}

// Check examines the stored data: by the engine's own check if it has one, and otherwise by reading
// every pair. A fault is Corrupt. Where Caps say ChecksAlone writers wait meanwhile. When ctx ends
// first, the engine goes on in the background.
func (db *DB) Check(ctx context.Context) error {
	check := func(ctx context.Context) error {
		return driver.EachPair(ctx, db.store, func(_, _ []byte) error { return nil })
	}
	if c, ok := db.store.(driver.Checker); ok && db.caps.Checks {
		check = c.Check
	}
	if db.caps.ChecksAlone && db.config.Mode != ReadOnly {
		if err := db.writers.enterAlone(ctx, alone); err != nil {
			return db.wrap("check", waitedForItself(err))
		}
		if err := db.mayRun(ctx, "check"); err != nil {
			db.writers.leaveAlone()
			return err
		}
		return db.upkeep(ctx, "check", db.writers.leaveAlone, check)
	}
	if err := db.enter(ctx, "check"); err != nil {
		return err
	}
	return db.upkeep(ctx, "check", db.leave, check)
}

// upkeep runs a call that may be long, and calls leave when it has returned.
func (db *DB) upkeep(ctx context.Context, op string, leave func(), call func(context.Context) error) error {
	_, err := bounded(ctx, func() (struct{}, error) {
		defer leave()
		return struct{}{}, traced(ctx, db.tracer, Event{Op: op}, func(ctx context.Context) error {
			once := func() error { return call(ctx) }
			return db.limit.again(ctx, once(), once)
		})
	}, func(struct{}, error) {})
	return db.wrap(op, err)
}

// Settings tells the settings in force, read back from the engine where it lets one; none after
// Close.
func (db *DB) Settings() []Setting {
	if db.enter(context.Background(), "settings") != nil {
		return nil
	}
	defer db.leave()
	if c, ok := db.store.(driver.Configured); ok {
		return c.Settings()
	}
	var list []Setting
	for _, name := range slices.Sorted(maps.Keys(db.config.Params)) {
		list = append(list, Setting{Name: name, Value: db.config.Params[name]})
	}
	return list
}

// Size returns the space that the store takes on disk now, companion files included; nothing if it
// is Remote.
func (db *DB) Size() (Size, error) {
	if err := db.enter(context.Background(), "size"); err != nil {
		return Size{}, err
	}
	defer db.leave()
	if !db.caps.Persistent || db.caps.Remote {
		return Size{}, nil
	}
	path := db.config.Path
	if file, err := filepath.EvalSymlinks(path); err == nil { // companions lie beside the file, not beside a link to it
		path = file
	}
	paths := []string{path}
	for _, ending := range db.driver.Info().Companions {
		paths = append(paths, path+ending)
	}
	size, err := SizeOf(paths...)
	return size, db.wrap("size", err)
}

// SizeOf returns the space that files, and folders with all that is in them, take on disk. What
// does not exist takes none.
func SizeOf(paths ...string) (size Size, err error) {
	for _, path := range paths {
		err = errors.Join(err, size.add(path))
	}
	return size, err
}

// add walks path. Files that vanish meanwhile (an engine's compaction) are passed over.
func (s *Size) add(path string) error {
	return filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				s.Allocated += allocated(info)
				s.Apparent += info.Size()
				s.Files++
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// Backup writes a consistent copy of the last committed state to path, which must not exist. The
// copy is written beside its place, synced and renamed, so that path is the whole copy or nothing.
// It opens with the same engine. When ctx ends first, the engine goes on in the background until it
// can stop, and removes what it wrote. A store that is Remote has none.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.enter(ctx, "backup"); err != nil {
		return err
	}
	return db.upkeep(ctx, "backup", db.leave, func(ctx context.Context) error { return db.backup(ctx, path) })
}

func (db *DB) backup(ctx context.Context, path string) (err error) {
	if !db.caps.Persistent || db.caps.Remote {
		return refusal(Unsupported, "copy its pairs into a store of another engine", "it has no files of its own")
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = refusal(Invalid, "name a file that does not exist", "%s exists", path)
		}
		return err
	}
	// Within a folder of its own, so that nothing else can have the temporary name.
	temporary, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	partial := filepath.Join(temporary, filepath.Base(path))
	write := db.copyTo
	if b, ok := db.store.(driver.Backuper); ok {
		write = b.Backup
	}
	if err := write(ctx, partial); err != nil {
		return err
	}
	if err := driver.SyncTree(partial); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(path))
}

// copyBytes is how much a transaction of copyTo holds.
const copyBytes = 1 << 20

// copyTo copies the pairs of a snapshot into a new store of the same engine and options.
func (db *DB) copyTo(ctx context.Context, path string) (err error) {
	c := db.config
	c.Path, c.Mode, c.Weakest = path, db.caps.Modes[0], Synced
	to, err := OpenDriver(context.WithoutCancel(ctx), db.driver, c) // its files are removed when ctx ends
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var b Batch
	flush := func() error { defer b.Reset(); return to.Write(ctx, to.caps.Strongest(), &b) }
	err = driver.EachPair(ctx, db.store, func(k, v []byte) error {
		b.Put(k, v)
		if b.Size() < copyBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
