package buntkv

import (
	"context"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// Compactions of a store with frames are ours: BuntDB's Shrink renames the new file over the old
// one before it is synced, so that a power loss may leave a store that opens and lacks what was
// synced.

// compacting is what the name of the new file ends with.
const compacting = ".compacting"

// compact writes all pairs to a new file beside the store's, syncs it and renames it over the old
// one. Nobody else is in meanwhile.
func (s *store) compact(ctx context.Context) error {
	if err := s.failed.Err(); err != nil {
		return err
	}
	g, err := s.rewrite(ctx)
	if err != nil {
		return errors.Join(err, os.Remove(s.path+compacting))
	}
	return s.replace(g)
}

// shrink is the compaction of the plain form, with the new file as closed to others as the old one.
func (s *store) shrink() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	return errors.Join(s.gate.db.Shrink(), os.Chmod(s.path, info.Mode().Perm()))
}

// writer is a function that is written to.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// rewrite writes the new file and returns its frame. With the pairs BuntDB saves the last frame
// that it has read, which says nothing where it stands then.
func (s *store) rewrite(ctx context.Context) (g frame, err error) {
	info, err := s.log.file.Stat()
	if err != nil {
		return g, err
	}
	f, err := os.OpenFile(s.path+compacting, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var sum uint32
	err = s.gate.db.Save(writer(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		n, err := f.WriteAt(b, frameSize+g.size)
		g.size += int64(n)
		return n, err
	}))
	if err != nil {
		return g, err
	}
	b := make([]byte, frameSize)
	g = frame{kind: framed, size: g.size, synced: frameSize + g.size}.seal(b, 0, sum)
	_, err = f.WriteAt(b, 0)
	return g, errors.Join(err, f.Chmod(info.Mode().Perm()), s.onSync.Time(f.Sync))
}

// replace puts the new file in the place of the old one, with both closed, for Windows. If that
// fails the old one is opened again; if nothing can be opened, nothing is committed any more.
func (s *store) replace(g frame) error {
	l, size := s.log, frameSize+g.size
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.file.Close()
	if rerr := os.Rename(s.path+compacting, s.path); rerr != nil {
		err = errors.Join(err, rerr, os.Remove(s.path+compacting))
	} else {
		l.last, l.others, l.base = g, false, size
		l.size.Store(size)
		l.synced.Store(size)
		l.dirty.Store(false)
		// If this fails the old file may come back when the power does, without what follows.
		err = errors.Join(err, s.fail(s.onSync.Dir(filepath.Dir(s.path))))
	}
	file, oerr := os.OpenFile(s.path, os.O_RDWR, 0)
	if l.file = file; oerr != nil {
		s.failed.Stop(oerr)
	}
	return errors.Join(err, oerr)
}

// background syncs each second, if that is the policy, and compacts the file when it is time.
func (s *store) background(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.failed.Err() != nil {
			continue
		}
		var err error
		if s.options.SyncPolicy == buntdb.EverySecond {
			err = s.sync()
		}
		if err == nil && s.grown() {
			err = s.Compact(ctx)
		}
		if err != nil && ctx.Err() == nil && driver.KindOf(err) != driver.Busy {
			s.logger.Error("bunt: in the background", "path", s.path, "error", err)
		}
	}
}

// grown says by BuntDB's rule whether it is time: when the file is larger than AutoShrinkMinSize
// and has grown by AutoShrinkPercentage since it was compacted.
func (s *store) grown() bool {
	o, l := s.options, s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	size, grown := l.size.Load(), l.base*int64(o.AutoShrinkPercentage)/100
	return !o.AutoShrinkDisabled && size > int64(o.AutoShrinkMinSize) && size > l.base+grown
}
