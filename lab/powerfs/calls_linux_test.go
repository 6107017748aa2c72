package powerfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// calls are what a process does to file f, a durable page of o beside the durable folder d, through
// the kernel; what is then the least that must be left under either rule for entries; and what it
// leaves if everything survives.
var calls = []struct {
	name                   string
	do                     func(dir realDisk)
	ordered, strict, whole string
}{
	{"O_TRUNC", func(dir realDisk) {
		dir.with("f", os.O_WRONLY|os.O_TRUNC, nothing)
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f="},
	{"O_TRUNC and fsync", func(dir realDisk) {
		dir.with("f", os.O_WRONLY|os.O_TRUNC, (*os.File).Sync)
	}, "d/ f=", "d/ f=", "d/ f="},
	{"ftruncate", func(dir realDisk) {
		dir.with("f", os.O_WRONLY, func(f *os.File) error { return f.Truncate(10) })
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f=10×o"},
	{"ftruncate and fdatasync", func(dir realDisk) {
		dir.with("f", os.O_WRONLY, func(f *os.File) error {
			return errors.Join(f.Truncate(10),
				unix.Fdatasync(int(f.Fd())))
		})
	}, "d/ f=10×o", "d/ f=10×o", "d/ f=10×o"},
	{"fallocate", func(dir realDisk) {
		dir.allocate("f", 0, 5000)
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f=4096×o904×0"},
	{"fallocate and fsync", func(dir realDisk) {
		dir.allocate("f", 0, 5000)
		dir.sync("f")
	}, "d/ f=4096×o904×0", "d/ f=4096×o904×0", "d/ f=4096×o904×0"},
	{"punch hole", func(dir realDisk) {
		dir.punch("f", 0, 96)
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f=96×04000×o"},
	{"punch hole and fsync", func(dir realDisk) {
		dir.punch("f", 0, 96)
		dir.sync("f")
	}, "d/ f=96×04000×o", "d/ f=96×04000×o", "d/ f=96×04000×o"},
	{"zero range", func(dir realDisk) {
		dir.fallocate("f", unix.FALLOC_FL_ZERO_RANGE, 0, 96)
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f=96×04000×o"},
	{"zero range and fdatasync", func(dir realDisk) {
		dir.with("f", os.O_WRONLY, func(f *os.File) error {
			err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE, 4000, 200)
			return errors.Join(err, unix.Fdatasync(int(f.Fd())))
		})
	}, "d/ f=4000×o200×0", "d/ f=4000×o200×0", "d/ f=4000×o200×0"},
	{"collapse range, which is refused", func(dir realDisk) {
		dir.with("f", os.O_WRONLY, func(f *os.File) error {
			if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_COLLAPSE_RANGE, 0, pageSize); err != unix.EOPNOTSUPP {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ f=4096×o"},
	{"rename", func(dir realDisk) {
		dir.rename("f", "g")
	}, "d/ f=4096×o", "d/ f=4096×o", "d/ g=4096×o"},
	{"rename and fsync of the folder", func(dir realDisk) {
		dir.rename("f", "g")
		dir.sync("")
	}, "d/ g=4096×o", "d/ g=4096×o", "d/ g=4096×o"},
	{"a file just created is moved to another folder, which is synced", func(dir realDisk) {
		dir.create("new")
		dir.write("new", 0, "x")
		dir.sync("new")
		dir.rename("new", "d/new")
		dir.sync("d")
	}, "d/ d/new=x f=4096×o", "d/ d/new=x f=4096×o", "d/ d/new=x f=4096×o"},
	{"unlink", func(dir realDisk) {
		dir.unlink("f")
	}, "d/ f=4096×o", "d/ f=4096×o", "d/"},
	{"unlinked, still open, written and synced", func(dir realDisk) {
		dir.with("f", os.O_RDWR, func(f *os.File) error {
			dir.unlink("f")
			_, err := f.WriteAt(xs, 0)
			return errors.Join(err, f.Sync())
		})
	}, "d/", "d/ f=4096×x", "d/"},
	{"a hard link and fsync of its folder", func(dir realDisk) {
		dir.link("f", "d/two")
		dir.sync("d")
	}, "d/ d/two=4096×o f=4096×o", "d/ d/two=4096×o f=4096×o", "d/ d/two=4096×o f=4096×o"},
	{"folders in folders, the innermost synced", func(dir realDisk) {
		dir.mkdir("d/e")
		dir.create("d/e/g")
		dir.sync("d/e")
	}, "d/ d/e/ d/e/g= f=4096×o", "d/ f=4096×o", "d/ d/e/ d/e/g= f=4096×o"},
	{"a folder removed and its parent synced", func(dir realDisk) {
		dir.rmdir("d")
		dir.sync("")
	}, "f=4096×o", "f=4096×o", "f=4096×o"},
}

func nothing(*os.File) error { return nil }

// callsOn returns the calls of that name, as a process does them in the folder of a path.
func callsOn(name string) (do func(path string) error, ok bool) {
	for _, c := range calls {
		if c.name == name {
			return func(path string) error {
				dir := realDisk(filepath.Dir(path))
				dir.mkdir("d")
				if err := old(path, 1); err != nil {
					return err
				}
				c.do(dir)
				return nil
			}, true
		}
	}
	return nil, false
}

// TestCallsThroughTheKernel does them in a process, on a mount.
func TestCallsThroughTheKernel(t *testing.T) {
	for _, c := range calls {
		eachWay(t, c.name, func(t *testing.T, start starter) {
			d, m := mounted(t, Options{})
			_, lines := start(t, c.name, m)
			if !lines.Scan() {
				t.Fatal("the child did not do its work")
			}
			crash := d.Crash()
			for _, want := range []struct {
				Rule
				tree string
			}{
				{Rule{Ordered, Nothing}, c.ordered}, {Rule{Strict, Nothing}, c.strict},
				{Rule{Ordered, Everything}, c.whole}, {Rule{Strict, Everything}, c.whole},
			} {
				if got := tree(t, crash.Image(want.Rule, 1)); got != want.tree {
					t.Errorf("%v:\n got %s\nwant %s", want.Rule, got, want.tree)
				}
			}
		})
	}
}
