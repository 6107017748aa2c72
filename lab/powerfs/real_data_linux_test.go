package powerfs

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// dataDoer also does an fdatasync.
type dataDoer interface {
	doer
	syncData(path string)
}

func (b bench) syncData(path string) { b.t.Helper(); b.must(b.d.SyncData(b.id(path))) }

func (r realDisk) syncData(path string) {
	r.with(path, os.O_WRONLY, func(f *os.File) error { return unix.Fdatasync(int(f.Fd())) })
}

// dataSyncs are what an fdatasync, or the sync of something that has no metadata to commit, does to
// the rename of another file, and what must be left.
var dataSyncs = []struct {
	name string
	do   func(b dataDoer)
	left string
	// more, if set, is what a real one may leave as well: ext4 commits for a folder that was not
	// changed, and both do for a file whose time of change was written, which it is once in a few
	// milliseconds.
	more string
}{
	{"of an overwrite commits nothing else", func(b dataDoer) {
		b.rename("d", "e")
		b.write("old", 0, "BEF")
		b.syncData("old")
	}, "d/ old=BEFore", ""},
	{"of a file that has grown commits all", func(b dataDoer) {
		b.rename("d", "e")
		b.write("old", 6, "!")
		b.syncData("old")
	}, "e/ old=before!", ""},
	{"of a file that was cut commits all", func(b dataDoer) {
		b.rename("d", "e")
		b.truncate("old", 2)
		b.syncData("old")
	}, "e/ old=be", ""},
	{"of a hole that was filled commits all", func(b dataDoer) {
		b.truncate("old", 2*pageSize)
		b.sync("old")
		b.rename("d", "e")
		b.write("old", pageSize, "x")
		b.syncData("old")
	}, "e/ old=before4090×0x4095×0", ""},
	{"fsync of a folder in which nothing was changed commits nothing else", func(b dataDoer) {
		b.rename("old", "new")
		b.sync("d")
	}, "d/ old=before", "d/ new=before"},
	{"fsync of a file that was not changed commits nothing else", func(b dataDoer) {
		b.rename("d", "e")
		b.sync("old")
	}, "d/ old=before", ""},
	{"fsync of a file that was overwritten may commit nothing else", func(b dataDoer) {
		b.rename("d", "e")
		b.write("old", 0, "BEF")
		b.sync("old")
	}, "d/ old=BEFore", "e/ old=BEFore"},
	{"fsync of a folder in which something was changed before the last commit commits nothing else", func(b dataDoer) {
		b.create("d/x")
		b.create("f")
		b.sync("f")
		b.rename("old", "new")
		b.sync("d")
	}, "d/ d/x= f= old=before", "d/ d/x= f= new=before"},
}

func TestSyncOfDataAlone(t *testing.T) {
	for i, c := range dataSyncs {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{From: startingImage(t), Record: true})
			c.do(b)
			if got := tree(t, b.d.Crash().Image(Rule{Ordered, Nothing}, 0)); got != c.left {
				t.Errorf("disk:\n got %s\nwant %s", got, c.left)
			}
			for _, fs := range realFSs {
				if fs.rule != Ordered || testing.Short() && fs.name != realFSs[i%2].name { // ext4 and xfs in turn
					continue
				}
				t.Run(fs.name, func(t *testing.T) {
					if got := tree(t, fs.crash(t, fmt.Sprint("data ", i))); got != c.left && got != c.more {
						t.Errorf("a real one:\n got %s\nwant %s", got, c.left)
					}
				})
			}
		})
	}
}
