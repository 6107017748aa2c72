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

// dataSyncs are what an fdatasync does to the rename of another file, and what must be left.
var dataSyncs = []struct {
	name string
	do   func(b dataDoer)
	left string
}{
	{"of an overwrite commits nothing else", func(b dataDoer) {
		b.rename("d", "e")
		b.write("old", 0, "BEF")
		b.syncData("old")
	}, "d/ old=BEFore"},
	{"of a file that has grown commits all", func(b dataDoer) {
		b.rename("d", "e")
		b.write("old", 6, "!")
		b.syncData("old")
	}, "e/ old=before!"},
	{"of a file that was cut commits all", func(b dataDoer) {
		b.rename("d", "e")
		b.truncate("old", 2)
		b.syncData("old")
	}, "e/ old=be"},
	{"of a hole that was filled commits all", func(b dataDoer) {
		b.truncate("old", 2*pageSize)
		b.sync("old")
		b.rename("d", "e")
		b.write("old", pageSize, "x")
		b.syncData("old")
	}, "e/ old=before4090×0x4095×0"},
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
				if fs.rule != Ordered {
					continue
				}
				t.Run(fs.name, func(t *testing.T) {
					if got := tree(t, fs.crash(t, fmt.Sprint("data ", i))); got != c.left {
						t.Errorf("a real one:\n got %s\nwant %s", got, c.left)
					}
				})
			}
		})
	}
}
