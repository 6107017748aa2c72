package powerfs

import "testing"

// What the sync of a file carries where each file has a log of its own, and what it does not.
func TestASyncCarriesItsOwnNames(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(b doer)
		want string // of which nothing unsynced is left
	}{
		{"a new file's name, and not another's", func(b doer) {
			b.create("f")
			b.create("g")
			b.write("f", 0, "x")
			b.sync("f")
		}, "d/ f=x old=before"},
		{"not the rename of another file", func(b doer) {
			b.rename("old", "new")
			b.create("f")
			b.sync("f")
		}, "d/ f= old=before"},
		{"its own rename, of which the old name is gone", func(b doer) {
			b.rename("old", "d/new")
			b.write("d/new", 0, "B")
			b.sync("d/new")
		}, "d/ d/new=Before"},
		{"the new folders above it", func(b doer) {
			b.mkdir("e")
			b.mkdir("e/s")
			b.create("e/s/f")
			b.sync("e/s/f")
		}, "d/ e/ e/s/ e/s/f= old=before"},
		{"not the rename of an old folder above it", func(b doer) {
			b.rename("d", "e")
			b.create("e/f")
			b.sync("e/f")
		}, "d/ d/f= old=before"},
		{"not another's truncation, nor its removal", func(b doer) {
			b.create("g")
			b.sync("g")
			b.truncate("old", 2)
			b.unlink("g")
			b.create("f")
			b.sync("f")
		}, "d/ f= g= old=before"},
		{"all of its names", func(b doer) {
			b.link("old", "d/two")
			b.link("old", "three")
			b.unlink("three")
			b.sync("old")
		}, "d/ d/two=before old=before"},
		{"what its name replaces", func(b doer) {
			b.create("new")
			b.write("new", 0, "after")
			b.rename("new", "old")
			b.sync("old")
		}, "d/ old=after"},
		{"of a folder, what is in it", func(b doer) {
			b.create("d/f")
			b.create("g")
			b.sync("d")
		}, "d/ d/f= old=before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{From: startingImage(t)})
			c.do(b)
			img := b.d.Crash().Image(Rule{PerFile, Nothing}, 0)
			if got := tree(t, img); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			h := newChronicle()
			c.do(h)
			if why := h.forbids(Rule{PerFile, Nothing}, img); why != "" {
				t.Error(why)
			}
		})
	}
}
