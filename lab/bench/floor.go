package bench

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// floor measures what the disk itself can do, with plain system calls in the folder where the
// engines work. It is measured again before every operation, so that it sees the same disk as they
// do.
type floor struct {
	dir                             string
	appendSync, overwrite, openings []float64
}

const (
	floorTries    = 12
	appendSize    = 128
	overwriteSize = 4096
)

// measure adds samples of each figure.
func (f *floor) measure() error {
	if err := f.appends(); err != nil {
		return err
	}
	path := filepath.Join(f.dir, "floor")
	defer os.Remove(path)
	return errors.Join(f.overwrites(path), f.opens(path))
}

// appends times one small append and a sync of the data.
func (f *floor) appends() error {
	path := filepath.Join(f.dir, "floor-append")
	defer os.Remove(path)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return timed(&f.appendSync, floorTries, func() error {
		if _, err := file.Write(make([]byte, appendSize)); err != nil {
			return err
		}
		return syncData(file)
	})
}

// overwrites times one overwrite of a page in place and a sync of the data. It leaves the file for
// opens.
func (f *floor) overwrites(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	page := make([]byte, overwriteSize)
	if _, err := file.Write(page); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return timed(&f.overwrite, floorTries, func() error {
		page[0]++ // a file system may skip a write that changes nothing
		if _, err := file.WriteAt(page, 0); err != nil {
			return err
		}
		return syncData(file)
	})
}

// opens times open, lock, read of a page, unlock and close.
func (f *floor) opens(path string) error {
	page := make([]byte, overwriteSize)
	return timed(&f.openings, floorTries, func() error {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := lockFile(file); err != nil {
			return errors.Join(err, file.Close())
		}
		_, err = file.ReadAt(page, 0)
		return errors.Join(err, unlockFile(file), file.Close())
	})
}

// timed appends to samples how long fn took, n times, after one time that does not count.
func timed(samples *[]float64, n int, fn func() error) error {
	for i := range n + 1 {
		start := clock()
		if err := fn(); err != nil {
			return err
		}
		if i > 0 {
			*samples = append(*samples, float64(clock()-start))
		}
	}
	return nil
}

func (f *floor) result() result.Floor {
	interval := func(samples []float64) *result.Interval {
		if len(samples) == 0 {
			return nil
		}
		i, _ := stats.Median(samples)
		return &i
	}
	return result.Floor{
		AppendSync: interval(f.appendSync), OverwriteSync: interval(f.overwrite), OpenClose: interval(f.openings),
	}
}
