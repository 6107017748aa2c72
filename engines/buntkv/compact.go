package buntkv

import (
	"context"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// Compactions are ours: BuntDB's Shrink renames the new file over the old one before it is synced, so
// that a power loss may leave a store that opens and lacks what was synced.

// compacting is what the name of the new file ends with.
const compacting = ".compacting"

// Compact writes all pairs to a new file beside the store's, syncs it, renames it over the old one and
// opens it. Nobody else is in meanwhile.
func (s *store) Compact(ctx context.Context) error {
	if s.file == nil {
		return nil
	}
	if err := s.gate.write(ctx, true); err != nil {
		return err
	}
	var broken error
	err := s.failed.Err()
	if err == nil {
		var p point
		if p, err = s.rewrite(ctx); err != nil {
			err = errors.Join(err, os.Remove(s.path+compacting))
		} else {
			err, broken = s.replace(p)
		}
	}
	s.gate.endWrite(broken)
	return err
}

// writer is a function that is written to.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// rewrite writes the new file and returns up to where it is whole. With the pairs BuntDB saves the last
// frame, which says nothing where it stands then.
func (s *store) rewrite(ctx context.Context) (p point, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return p, err
	}
	f, err := os.OpenFile(s.path+compacting, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var size int64
	var sum uint32
	err = s.gate.db.Save(writer(func(b []byte) (int, error) {
		size += int64(len(b))
		sum = crc32.Update(sum, castagnoli, b)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Write(b)
	}))
	if s.frames != nil && err == nil {
		g := newFrame(opened, size+frameSize, size, sum, 0)
		p = point{end: g.end, framed: true, sum: g.sum, synced: g.end}
		_, err = f.Write(g.command())
	}
	if err != nil {
		return p, err
	}
	return p, errors.Join(f.Chmod(info.Mode().Perm()), f.Sync())
}

// replace puts the new file in the place of the old one, with both closed, for Windows. If that fails
// the old one is opened again; if nothing can be opened, the store is broken.
func (s *store) replace(p point) (err, broken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = errors.Join(s.gate.db.Close(), s.file.Close())
	if rerr := os.Rename(s.path+compacting, s.path); rerr != nil {
		err = errors.Join(err, rerr, os.Remove(s.path+compacting))
	} else {
		if s.frames != nil {
			s.frames.moveTo(p)
		}
		// If this fails the old file may come back when the power does, without what follows.
		err = errors.Join(err, s.fail(driver.SyncDir(filepath.Dir(s.path))))
	}
	if broken = s.load(); broken == nil {
		s.file, broken = os.OpenFile(s.path, os.O_RDWR, 0)
	}
	if broken != nil {
		s.failed.Stop(broken)
	}
	return errors.Join(err, broken), broken
}

// autoShrink compacts by BuntDB's rule: when the file is larger than AutoShrinkMinSize and has grown
// by AutoShrinkPercentage since it was compacted.
func (s *store) autoShrink(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil || info.Size() <= int64(s.options.AutoShrinkMinSize) {
		return err
	}
	if s.base == 0 { // the size without what is out of date
		tx, err := s.gate.read(ctx)
		if err != nil {
			return err
		}
		err = tx.Ascend("", func(key, value string) bool {
			s.base += setSize(key, value)
			return true
		})
		if err := errors.Join(err, s.gate.endRead()); err != nil {
			return err
		}
	}
	if info.Size() <= s.base+s.base*int64(s.options.AutoShrinkPercentage)/100 {
		return nil
	}
	s.base = 0
	return s.Compact(ctx)
}
