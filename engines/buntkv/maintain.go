package buntkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// Compact rewrites the file with the pairs of now. BuntDB waits a quarter of a second before it begins, and then works
// beside readers and writers. ctx is consulted before.
func (s *store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.shrink()
}

// shrink has BuntDB write the new file to PATH.tmp and rename it. It makes that file in advance, so that it gets the
// mode of the old one, and syncs it afterwards, which BuntDB does not do.
func (s *store) shrink() (err error) {
	s.shrinking.Lock()
	defer s.shrinking.Unlock()
	defer recovered(&err)
	if err := s.failed.Err(); err != nil {
		return err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	temporary := s.path + ".tmp"
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	s.swapping.Store(true)
	defer s.swapping.Store(false)
	if err := s.db.Shrink(); err != nil {
		return errors.Join(classify(err), os.RemoveAll(temporary))
	}
	s.marking.Lock()
	defer s.marking.Unlock()
	if _, err := s.follow(); err != nil {
		return err
	}
	return errors.Join(s.file.Sync(), driver.SyncDir(filepath.Dir(s.path)))
}

// autoShrink shrinks by BuntDB's rule, until Close: when the file is larger than AutoShrinkMinSize and has grown by
// AutoShrinkPercentage since it was shrunk.
func (s *store) autoShrink() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shrunk := int64(-1) // the size when it was shrunk, or would be if it were at once; -1 is not known
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		info, err := os.Stat(s.path)
		if err != nil || info.Size() <= s.options.shrinkMinSize {
			continue
		}
		if shrunk < 0 {
			shrunk = s.shrunkSize()
		}
		if info.Size() <= shrunk+shrunk*s.options.shrinkPercentage/100 {
			continue
		}
		if err := s.shrink(); err != nil {
			if driver.KindOf(err) == driver.Closed {
				return
			}
			s.log.Error("bunt: shrink", "path", s.path, "error", err)
		}
		shrunk = -1
	}
}

// shrunkSize returns the size that the file would have without what is out of date.
func (s *store) shrunkSize() int64 {
	var n counter
	if err := s.db.Save(&n); err != nil {
		return 0
	}
	return int64(n)
}

// counter counts the bytes that are written to it.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// Check reads the file again, as opening it would, and compares the result with the store. It takes as much memory
// again as the store. A writer waits meanwhile.
func (s *store) Check(ctx context.Context) error {
	tx, err := s.db.Begin(readOnly)
	if err != nil {
		return classify(err)
	}
	again, err := s.replay(ctx)
	if err == nil {
		err = errors.Join(compare(ctx, tx, again), again.Close())
	}
	return errors.Join(err, classify(tx.Rollback()))
}

// replay loads the file into memory.
func (s *store) replay(ctx context.Context) (again *buntdb.DB, err error) {
	defer recovered(&err)
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if again, err = buntdb.Open(":memory:"); err != nil {
		return nil, classify(err)
	}
	if err := again.Load(cancellable{ctx, f}); err != nil {
		return nil, errors.Join(classifyLoad(err), again.Close())
	}
	return again, nil
}

// compare requires that both hold the same pairs.
func compare(ctx context.Context, tx *buntdb.Tx, again *buntdb.DB) error {
	return again.View(func(other *buntdb.Tx) error {
		var fault error
		n := 0
		err := tx.Ascend("", func(key, value string) bool {
			v, err := other.Get(key, true)
			switch {
			case err != nil || v != value:
				fault = corrupt(fmt.Sprintf("the file has not what was committed as %q", key))
			case n%1024 == 0:
				fault = ctx.Err()
			}
			n++
			return fault == nil
		})
		if err != nil || fault != nil {
			return errors.Join(classify(err), fault)
		}
		if m, err := other.Len(); err != nil || m != n {
			return errors.Join(classify(err), corrupt(fmt.Sprintf("the file has %d pairs, the store %d", m, n)))
		}
		return nil
	})
}

// Backup writes all pairs to path, in the form of the file. A writer waits meanwhile.
func (s *store) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(s.db.Save(cancellable{ctx, f}), f.Close())
}

// cancellable is a file that ends with its context.
type cancellable struct {
	ctx  context.Context
	file *os.File
}

var _ io.ReadWriter = cancellable{}

func (c cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Read(p)
}

func (c cancellable) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Write(p)
}
