package buntkv

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv/driver"
)

// Compactions are ours: BuntDB's Shrink renames the new file over the old one before it is synced, so
// that a power loss may leave a store that opens and lacks what was synced.

const compacting = ".compacting"

// Compact writes all pairs to a new file beside the store's, PATH.compacting, syncs it, renames it
// over the old one and opens it. Nobody else is in meanwhile.
func (s *store) Compact(ctx context.Context) error {
	if err := s.gate.write(ctx, true); err != nil {
		return err
	}
	defer s.gate.endWrite()
	if err := s.failed.Err(); err != nil {
		return err
	}
	temporary := s.path + compacting
	p, err := s.rewrite(ctx, temporary)
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return s.replace(temporary, p)
}

// rewrite writes the new file and returns up to where it is whole.
func (s *store) rewrite(ctx context.Context, path string) (p point, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return p, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &rewriter{ctx: ctx, to: f, first: true}
	if err := errors.Join(f.Chmod(info.Mode().Perm()), s.gate.db.Save(w)); err != nil {
		return p, err
	}
	if s.frames != nil {
		g := newFrame(opened, w.size+frameSize, w.size, w.sum, 0)
		if _, err := f.Write(g.command()); err != nil {
			return p, err
		}
		p = point{end: g.end, framed: true, sum: g.sum, synced: g.end}
	}
	return p, f.Sync()
}

// rewriter passes on what BuntDB saves, up to the end of its context. The first pair may be the last
// frame, which says nothing in the new file.
type rewriter struct {
	ctx   context.Context
	to    io.Writer
	first bool
	size  int64
	sum   uint32
}

func (w *rewriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n := len(b)
	if w.first && int64(n) >= frameSize && string(b[:len(frameHead)]) == frameHead {
		b = b[frameSize:]
	}
	w.first = false
	w.size += int64(len(b))
	w.sum = crc32.Update(w.sum, castagnoli, b)
	if _, err := w.to.Write(b); err != nil {
		return 0, err
	}
	return n, nil
}

// replace puts the new file in the place of the old one, with both closed, for Windows. If that fails
// the old one is opened again; if nothing can be opened, the store is at its end.
func (s *store) replace(temporary string, p point) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.gate.db.Close(), s.file.Close())
	rerr := os.Rename(temporary, s.path)
	if rerr == nil {
		if rerr = driver.SyncDir(filepath.Dir(s.path)); rerr != nil {
			s.failed.Stop(rerr) // after a power loss the old file may be there, without what follows
		}
		if s.frames != nil {
			s.frames.moveTo(p)
		}
	} else {
		rerr = errors.Join(rerr, os.Remove(temporary))
	}
	lerr := s.open()
	if lerr == nil {
		s.file, lerr = os.OpenFile(s.path, os.O_RDWR, 0)
	}
	if lerr != nil {
		s.failed.Stop(lerr)
		s.gate.shut(lerr)
		return errors.Join(err, rerr, lerr)
	}
	return errors.Join(err, rerr)
}

// autoShrink compacts by BuntDB's rule: when the file is larger than AutoShrinkMinSize and has grown
// by AutoShrinkPercentage since it was compacted.
func (s *store) autoShrink(ctx context.Context) {
	info, err := os.Stat(s.path)
	if err != nil || info.Size() <= int64(s.options.AutoShrinkMinSize) || s.failed.Err() != nil {
		return
	}
	if s.base == 0 {
		s.base, err = s.liveSize(ctx)
	}
	if err != nil || info.Size() <= s.base+s.base*int64(s.options.AutoShrinkPercentage)/100 {
		return
	}
	s.base = 0
	if err := s.Compact(ctx); err != nil && ctx.Err() == nil && driver.KindOf(err) != driver.Busy {
		s.log.Error("bunt: compact", "path", s.path, "error", err)
	}
}

// liveSize returns the size that the file would have without what is out of date.
func (s *store) liveSize(ctx context.Context) (size int64, err error) {
	tx, err := s.gate.read(ctx)
	if err != nil {
		return 0, err
	}
	err = tx.Ascend("", func(key, value string) bool {
		size += setSize(key, value)
		return true
	})
	return size, errors.Join(err, s.gate.endRead())
}
